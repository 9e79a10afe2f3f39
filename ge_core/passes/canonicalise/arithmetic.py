"""Arithmetic with constants in one form."""

from __future__ import annotations

import math

import numpy as np

from ge_core.ir.builder import Builder
from ge_core.ir.graph import Value, constant_of
from ge_core.ir.types import TensorType
from ge_core.passes.matching import Any_, Constant, Match, Node, NoMatch, Scalar, scalar_of
from ge_core.passes.rewrite import rebuilt, rule

X = Any_("x")
_SMALL = 64
_BROADCASTING = (
    "Add|Sub|Mul|Div|Pow|Mod|Max|Min|Equal|Less|LessOrEqual|And|Or|Xor|BitwiseAnd|BitwiseOr|BitwiseXor|BitShift|"
    "Where|PRelu|ge.FloorDiv|ge.FloorMod|ge.TruncDiv|ge.FMax|ge.FMin"
)


@rule(Node("Sub", X, Constant("c")))
def subtract_constant(m: Match, b: Builder) -> Value:
    """x - c = x + (-c), exactly: negation is exact, and integers wrap."""
    constant = constant_of(m["c"])
    assert constant is not None
    m.require(isinstance(n := constant.type.elements, int) and n <= _SMALL, "the constant is large")
    array = constant.known()
    m.require(array is not None, "its elements are absent")
    assert array is not None
    with np.errstate(all="ignore"):
        negated = np.negative(array).astype(constant.type.dtype.numpy)
    result: Value = b.Add(m["x"], b.constant(negated))
    return result


@rule(Node("Div", X, Scalar("c")))
def divide_by_power_of_two(m: Match, b: Builder) -> Value:
    """x / c = x * (1 / c) exactly when 1 / c is exact and normal."""
    dtype = m["c"].dtype
    m.require(dtype.is_float and dtype.bits >= 16, "integer or narrow division")
    c = m.scalar("c")
    m.require(math.isfinite(c) and c != 0 and abs(math.frexp(c)[0]) == 0.5, "no power of two")
    inverse = np.asarray(1.0 / c).astype(dtype.numpy)
    m.require(abs(float(inverse)) == abs(1.0 / c) and abs(1.0 / c) >= _least_normal(m["c"]), "1/c is not exact")
    result: Value = b.Mul(m["x"], b.constant(inverse.reshape(())))
    return result


def _least_normal(value: Value) -> float:
    import ml_dtypes

    return float(ml_dtypes.finfo(value.dtype.numpy).smallest_normal)


@rule(Node(_BROADCASTING, rest=True))
def scalar_rank(m: Match, b: Builder) -> Value:
    """A constant of one element gets rank 0 where the result's shape does not come from it."""
    node = m.root
    out = node.output.type
    operands = list(node.inputs)
    changed = False
    for i, v in enumerate(operands):
        constant = constant_of(v)
        if constant is None or not constant.type.shape or constant.type.elements != 1:
            continue
        others = [o.type for j, o in enumerate(operands) if o is not None and j != i]
        ranks = [t.rank for t in others if isinstance(t, TensorType)]
        if isinstance(out, TensorType) and out.rank is not None and any(r == out.rank for r in ranks):
            operands[i] = b.constant(np.asarray(scalar_of(v), constant.type.dtype.numpy))
            changed = True
    if not changed:
        raise NoMatch("no operand is a one-element constant of rank over 0", node)
    result: Value = rebuilt(b, node, operands)
    return result


ARITHMETIC_RULES = (subtract_constant, divide_by_power_of_two, scalar_rank)
