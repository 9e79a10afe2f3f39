"""Operators that are another operator in disguise."""

from __future__ import annotations

import numpy as np

from ge_core.ir.builder import Builder
from ge_core.ir.constant import Constant
from ge_core.ir.graph import Value
from ge_core.ir.types import TensorType
from ge_core.passes.matching import Any_, Match, Node, NoMatch, attribute, same_shape
from ge_core.passes.reshaping import expand, is_written_out, may_be_empty, reshape
from ge_core.passes.rewrite import rule

X = Any_("x")


@rule(Node("Identity", X))
def identity(m: Match, b: Builder) -> Value:
    return m["x"]


@rule(Node("Flatten|Squeeze|Unsqueeze|Reshape", X, rest=True))
def one_reshape(m: Match, b: Builder) -> Value:
    """Reshape with the whole shape written out; none where nothing changes."""
    node, x = m.root, m["x"]
    out = node.output
    if same_shape(x, out):
        return x
    shape = m.shape(out)
    if node.op == "Reshape" and is_written_out(node, 1, shape):
        m.require(bool(attribute(node, "allowzero")) != may_be_empty(shape), "it has this form")
    return reshape(b, x, shape)


@rule(Node("Expand", X, Any_()))
def whole_expand(m: Match, b: Builder) -> Value:
    """Expand to the whole result shape, written out."""
    node = m.root
    shape = m.shape(node.output)
    m.require(not is_written_out(node, 1, shape), "it has this form")
    return expand(b, m["x"], shape)


@rule(Node("ConstantOfShape", Any_()))
def filled(m: Match, b: Builder) -> Value:
    """An expanded scalar."""
    out = m.root.output
    shape = m.shape(out)
    value = m.root.attrs.get("value")
    scalar = value.array().reshape(-1)[0] if isinstance(value, Constant) else out.dtype.numpy.type(0)
    return expand(b, b.constant(np.asarray(scalar, out.dtype.numpy)), shape)


@rule(Node("Sum|Max|Min|Mean", X))
def only_operand(m: Match, b: Builder) -> Value:
    return m["x"]


@rule(Node("Sum", X, Any_("y")))
def sum_of_two(m: Match, b: Builder) -> Value:
    result: Value = b.Add(m["x"], m["y"])
    return result


@rule(Node("Greater", X, Any_("y")))
def greater(m: Match, b: Builder) -> Value:
    result: Value = b.Less(m["y"], m["x"])
    return result


@rule(Node("GreaterOrEqual", X, Any_("y")))
def greater_or_equal(m: Match, b: Builder) -> Value:
    result: Value = b.LessOrEqual(m["y"], m["x"])
    return result


@rule(Node("CastLike", X, Any_("like")))
def cast_like(m: Match, b: Builder) -> Value:
    m.require(isinstance(m["like"].type, TensorType), "the type to cast to is unknown")
    options = {k: v for k, v in m.root.attrs.items() if k in ("saturate", "round_mode")}
    result: Value = b.Cast(m["x"], to=m["like"].dtype, **options)
    return result


@rule(Node("Gemm", Any_("a"), Any_("b"), rest=True))
def gemm(m: Match, b: Builder) -> Value:
    """MatMul and Add, where that rounds as Gemm does: 16-bit floats would be rounded twice."""
    node = m.root
    dtype = node.output.dtype
    c = node.input(2)
    alpha, beta = attribute(node, "alpha"), attribute(node, "beta")
    added = c is not None and beta != 0
    m.require(dtype.bits >= 32 or not (added or alpha != 1), f"{dtype} would be rounded twice")
    m.require(dtype.is_float or (alpha == 1 and beta in (0, 1)), "integers are scaled with rounding")
    left = b.Transpose(m["a"], perm=[1, 0]) if attribute(node, "transA") else m["a"]
    right = b.Transpose(m["b"], perm=[1, 0]) if attribute(node, "transB") else m["b"]
    y: Value = b.MatMul(left, right)
    if alpha != 1:
        y = b.Mul(y, alpha)
    if added:
        y = b.Add(y, c if beta == 1 else b.Mul(c, beta))
    return y


@rule(Node("Tile", X, Any_("repeats")))
def tile(m: Match, b: Builder) -> Value:
    """Expand, where only axes of size 1 are repeated."""
    repeats = m["repeats"].content
    m.require(repeats is not None, "the repeats are unknown")
    assert repeats is not None
    before = m.shape(m["x"])
    if any(size != 1 and r != 1 for size, r in zip(before, repeats, strict=True)):
        raise NoMatch("an axis over 1 is repeated", m.root)
    return expand(b, m["x"], m.shape(m.root.output))


FORM_RULES = (
    identity, one_reshape, whole_expand, filled, only_operand, sum_of_two, greater, greater_or_equal, cast_like,
    gemm, tile,
)  # fmt: skip
