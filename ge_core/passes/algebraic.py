"""Arithmetic that can be left out or written with fewer operations, with exactly the same values.

Floats: x + 0.0 is not x where x is -0.0, x * 0.0 is not 0.0 where x is NaN or infinite, x - x is not 0.0 where x
is infinite; such rules apply to integers, or where the sign of zero is known. Integers wrap. Pow(x, 2) as x * x is
the one rule that may differ in the last place, where it is the better rounded of the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ge_core.ir.builder import Builder
from ge_core.ir.graph import Value, constant_of, source_of
from ge_core.passes.matching import Any_, Constant, Match, Node, NoMatch, Scalar, ints_of, is_all, same_shape
from ge_core.passes.reshaping import expand, reshape
from ge_core.passes.rewrite import RewritePass, Rule, rule
from ge_core.passes.signs import never_negative, never_negative_zero

X, Y, C = Any_("x"), Any_("y"), Constant("c")


def _same(m: Match, value: Value) -> Value:
    """`value` as the result, when it has the result's shape."""
    m.require(same_shape(value, m.root.output), f"the shape of %{value.name} is broadcast")
    return value


@rule(Node("Add", X, C))
def add_zero(m: Match, b: Builder) -> Value:
    x, c = m["x"], m["c"]
    m.require(is_all(c, 0), "the constant is not 0")
    if c.dtype.is_float and not never_negative_zero(x):
        constant = constant_of(c)
        assert constant is not None
        array = constant.array()  # `is_all` has read it
        m.require(bool(np.all(np.signbit(array.astype(np.float64)))), "x may be -0.0 and -0.0 + 0.0 is 0.0")
    return _same(m, x)


@rule(Node("Mul|Div", X, C))
def times_one(m: Match, b: Builder) -> Value:
    m.require(is_all(m["c"], 1), "the constant is not 1")
    return _same(m, m["x"])


@rule(Node("Mul", X, Scalar("c", -1.0, rel=0)))
def times_minus_one(m: Match, b: Builder) -> Value:
    m.require(m["c"].dtype.kind in ("float", "int"), "unsigned")
    result: Value = b.Neg(_same(m, m["x"]))
    return result


@rule(Node("Div", Scalar("one", 1.0, rel=0), X))
def one_over(m: Match, b: Builder) -> Value:
    m.require(m["x"].dtype.is_float, "an integer division by zero must stay an error")
    result: Value = b.Reciprocal(_same(m, m["x"]))
    return result


@rule(Node("Reciprocal", Node("Sqrt", X)), single_use=True)
def reciprocal_root(m: Match, b: Builder) -> Value:
    m.require(m["x"].dtype.bits >= 32, "the root would be rounded one time less")
    result: Value = b.ge.Rsqrt(m["x"])
    return result


@rule(Node("Add", X, Node("Neg", Y)))
def add_negated(m: Match, b: Builder) -> Value:
    result: Value = b.Sub(m["x"], m["y"])
    return result


@rule(Node("Sub", X, Node("Neg", Y)))
def subtract_negated(m: Match, b: Builder) -> Value:
    result: Value = b.Add(m["x"], m["y"])
    return result


@rule(Node("Neg", Node("Neg", X)), name="double-neg")
def double_neg(m: Match, b: Builder) -> Value:
    return m["x"]


@rule(Node("Not", Node("Not", X)), name="double-not")
def double_not(m: Match, b: Builder) -> Value:
    return m["x"]


@rule(Node("Abs|Relu|Floor|Ceil|Round|Sign|ge.Trunc", Node("Abs|Relu|Floor|Ceil|Round|Sign|ge.Trunc", X, name="inner")))
def idempotent(m: Match, b: Builder) -> Value:
    inner = m.node("inner")
    m.require(inner.op == m.root.op, "two different operators")
    return inner.output


@rule(Node("Abs|Relu", X))
def nothing_negative(m: Match, b: Builder) -> Value:
    m.require(m["x"].dtype.is_float and never_negative(m["x"]), "x may be negative or -0.0")
    return m["x"]


@rule(Node("Floor|Ceil|Round|ge.Trunc", X))
def round_integer(m: Match, b: Builder) -> Value:
    m.require(m["x"].dtype.is_integer, "x is no integer")
    return m["x"]


@rule(Node("Pow", X, Scalar("n")))
def small_power(m: Match, b: Builder) -> Value:
    """x^1, x^2, x^-1, and x^0.5 and x^-0.5 where x is never negative (they differ at -0.0 and -inf)."""
    x, n, is_float = m["x"], m.scalar("n"), m["x"].dtype.is_float
    m.require(same_shape(x, m.root.output), "x is broadcast")
    if n == 1:
        return x
    built: Value | None = None
    if n == 2:
        built = b.Mul(x, x)
    elif n == -1 and is_float:
        built = b.Reciprocal(x)
    elif n == 0.5 and is_float and never_negative(x):
        built = b.Sqrt(x)
    elif n == -0.5 and is_float and x.dtype.bits >= 32 and never_negative(x):
        built = b.ge.Rsqrt(x)
    if built is None:
        raise NoMatch(f"no exact form for the exponent {n}", m.root)
    return built


@rule(Node("Add|Mul", Node("Add|Mul", X, Constant("a"), name="inner"), Constant("b")))
def integer_chain(m: Match, b: Builder) -> Value:
    """(x + a) + b = x + (a + b) and the same for products: exact for integers, which wrap."""
    inner = m.node("inner")
    m.require(inner.op == m.root.op, "two different operators")
    m.require(m["x"].dtype.is_integer, "floats round at each step")
    first, second = constant_of(m["a"]), constant_of(m["b"])
    assert first is not None and second is not None
    m.require(first.type.elements == 1 and second.type.elements == 1, "the constants are tensors")
    left, right = first.known(), second.known()
    m.require(left is not None and right is not None, "the elements are absent")
    assert left is not None and right is not None
    ufunc = np.add if m.root.op == "Add" else np.multiply
    with np.errstate(all="ignore"):
        merged = np.asarray(ufunc(left.reshape(()), right.reshape(())))
    built: Value = b.op(m.root.op, m["x"], b.constant(merged.astype(m["x"].dtype.numpy)))
    m.require(built.tensor.shape == m.root.output.tensor.shape, "a constant of higher rank shapes the result")
    return built


@rule(Node("And|Or|Xor|BitwiseOr|BitwiseXor|BitwiseAnd|BitShift", X, C))
def neutral_bits(m: Match, b: Builder) -> Value:
    """x and true, x or false, x xor 0, x & ~0, x << 0; and true/false where the constant alone decides."""
    op, c, node = m.root.op, m["c"], m.root
    if op in ("And", "Or") and is_all(c, 0 if op == "And" else 1):
        return expand(b, b.constant(np.asarray(op == "Or")), m.shape(node.output))
    neutral: float = 0
    if op == "And":
        neutral = 1
    elif op == "BitwiseAnd":
        neutral = -1 if c.dtype.kind == "int" else c.dtype.max
    m.require(is_all(c, neutral), "the constant changes x")
    return _same(m, m["x"])


@rule(Node("And|Or|Max|Min|BitwiseAnd|BitwiseOr", X, X))
def same_operands(m: Match, b: Builder) -> Value:
    return m["x"]


@rule(Node("Not", Node("Less|LessOrEqual", X, Y, name="inner")), single_use=True)
def not_less(m: Match, b: Builder) -> Value:
    """not (x < y) = y <= x for integers; NaN makes both false."""
    m.require(m["x"].dtype.is_integer, "NaN would compare differently")
    op = "LessOrEqual" if m.node("inner").op == "Less" else "Less"
    result: Value = b.op(op, m["y"], m["x"])
    return result


@rule(Node("Where", Any_("cond"), X, Y))
def where(m: Match, b: Builder) -> Value:
    """One branch where the condition is constant, or both branches are one value."""
    node, condition = m.root, m["cond"]
    if source_of(m["x"]) is source_of(m["y"]):
        return expand(b, m["x"], m.shape(node.output))
    if is_all(condition, 1):
        return expand(b, m["x"], m.shape(node.output))
    m.require(is_all(condition, 0), "the condition varies")
    return expand(b, m["y"], m.shape(node.output))


@rule(Node("Where", Node("Not", Any_("cond")), X, Y))
def where_not(m: Match, b: Builder) -> Value:
    result: Value = b.Where(m["cond"], m["y"], m["x"])
    return result


@rule(Node("Equal", X, Scalar("c")))
def equal_to_bool(m: Match, b: Builder) -> Value:
    m.require(m["x"].dtype.kind == "bool", "x is no bool")
    x = _same(m, m["x"])
    result: Value = x if m.scalar("c") else b.Not(x)
    return result


@rule(Node("ReduceMax|ReduceMin|ReduceMean|ReduceSum|ReduceProd", X, Constant("axes")))
def reduce_one(m: Match, b: Builder) -> Value:
    """A reduction over axes of size 1 is a Reshape."""
    axes, x = ints_of(m["axes"]), m["x"]
    shape = m.shape(x)
    m.require(axes and all(shape[a] == 1 for a in axes), "an axis is longer than 1")
    if m.root.op in ("ReduceSum", "ReduceMean"):
        m.require(never_negative_zero(x), "x may be -0.0, and the sum of -0.0 alone is 0.0")
    return reshape(b, x, m.shape(m.root.output))


@dataclass(frozen=True)
class Algebraic(RewritePass):
    """Enters regions."""

    @property
    def rules(self) -> Sequence[Rule]:
        return (
            add_zero, times_one, times_minus_one, one_over, reciprocal_root, add_negated, subtract_negated,
            double_neg, double_not, idempotent, nothing_negative, round_integer, small_power, integer_chain,
            neutral_bits, same_operands, not_less, where, where_not, equal_to_bool, reduce_one,
        )  # fmt: skip
