"""Algebra: every rule with the values at which a careless one would be wrong."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ge_core.ir import Builder, Value, symbol
from ge_core.passes.algebraic import Algebraic
from ge_core.passes.canonicalise import Canonicalise
from ge_core.passes.signs import never_negative, never_negative_zero, surely_finite
from tests.core.passes.rewriting import check, normal

N = symbol("n", 1, 8)
EDGES = np.array([0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, 1e-42], np.float32)
INTS = np.array([0, 1, -1, 7, np.iinfo(np.int32).min, np.iinfo(np.int32).max], np.int32)
Form = Callable[[Builder, Value], Value]

FLOAT_RULES: list[tuple[str, Form, list[str]]] = [
    ("x + -0.0", lambda b, x: b.Add(x, -0.0), []),
    ("x + 0.0 keeps -0.0 apart", lambda b, x: b.Add(x, 0.0), ["Add"]),
    ("|x| + 0.0", lambda b, x: b.Add(b.Abs(x), 0.0), ["Abs"]),
    ("x - 0.0", lambda b, x: b.Sub(x, 0.0), []),
    ("x - -0.0", lambda b, x: b.Sub(x, -0.0), ["Add"]),
    ("0.0 - x is no negation", lambda b, x: b.Sub(b.constant(np.float32(0)), x), ["Sub"]),
    ("x * 1", lambda b, x: b.Mul(x, 1.0), []),
    ("1 * x", lambda b, x: b.Mul(b.constant(np.float32(1)), x), []),
    ("x / 1", lambda b, x: b.Div(x, 1.0), []),
    ("x * 0 is not 0", lambda b, x: b.Mul(x, 0.0), ["Mul"]),
    ("x - x is not 0", lambda b, x: b.Sub(x, x), ["Sub"]),
    ("x / x is not 1", lambda b, x: b.Div(x, x), ["Div"]),
    ("x * -1", lambda b, x: b.Mul(x, -1.0), ["Neg"]),
    ("1 / x", lambda b, x: b.Div(b.constant(np.float32(1)), x), ["Reciprocal"]),
    ("1 / sqrt(x)", lambda b, x: b.Reciprocal(b.Sqrt(x)), ["ge.Rsqrt"]),
    ("x / 4", lambda b, x: b.Div(x, 4.0), ["Mul"]),
    ("x / 3 stays", lambda b, x: b.Div(x, 3.0), ["Div"]),
    ("x / 2^127 stays: the inverse is subnormal", lambda b, x: b.Div(x, 2.0**127), ["Div"]),
    ("x + -y", lambda b, x: b.Add(b.Exp(x), b.Neg(x)), ["Exp", "Sub"]),
    ("x - -y", lambda b, x: b.Sub(b.Exp(x), b.Neg(x)), ["Exp", "Add"]),
    ("--x", lambda b, x: b.Neg(b.Neg(x)), []),
    ("||x||", lambda b, x: b.Abs(b.Abs(x)), ["Abs"]),
    ("relu(relu(x))", lambda b, x: b.Relu(b.Relu(x)), ["Relu"]),
    ("relu(exp(x))", lambda b, x: b.Relu(b.Exp(x)), ["Exp"]),
    ("x^1", lambda b, x: b.Pow(x, 1.0), []),
    ("x^2", lambda b, x: b.Pow(x, 2.0), ["Mul"]),
    ("x^-1", lambda b, x: b.Pow(x, -1.0), ["Reciprocal"]),
    ("x^0.5 is no root at -0.0 and -inf", lambda b, x: b.Pow(x, 0.5), ["Pow"]),
    ("exp(x)^0.5", lambda b, x: b.Pow(b.Exp(x), 0.5), ["Exp", "Sqrt"]),
    ("x^0.3 stays", lambda b, x: b.Pow(x, 0.3), ["Pow"]),
    ("max(x, x)", lambda b, x: b.Max(x, x), []),
    ("not (x < y) is not y <= x for NaN", lambda b, x: b.Not(b.Less(x, b.Neg(x))), ["Neg", "Less", "Not"]),
    ("x > y", lambda b, x: b.Greater(x, b.Exp(x)), ["Exp", "Less"]),
    ("where(true, x, y)", lambda b, x: b.Where(np.array(True), x, b.Exp(x)), []),
    ("where([0, 0], x, y)", lambda b, x: b.Where(np.zeros(8, np.bool_), x, b.Exp(x)), ["Exp"]),
    ("where(c, x, x)", lambda b, x: b.Where(b.Less(x, 0.0), x, x), []),
    ("where(not c, x, y)", lambda b, x: b.Where(b.Not(b.Less(x, 0.0)), x, b.Exp(x)), ["Exp", "Less", "Where"]),
    ("(x * 2) * 3 rounds twice", lambda b, x: b.Mul(b.Mul(x, 1.1), 1.3), ["Mul", "Mul"]),
    ("a zero of higher rank shapes the result", lambda b, x: b.Add(x, np.full((1, 1), -0.0, np.float32)), ["Add"]),
]  # fmt: skip


@pytest.mark.parametrize("form, gives", [(f, g) for _, f, g in FLOAT_RULES], ids=[name for name, _, _ in FLOAT_RULES])
def test_floats(form: Form, gives: list[str]) -> None:
    def build(b: Builder) -> None:
        b.outputs(form(b, b.input("x", "float32", (8,))))

    graph, _ = check(build, [EDGES], Canonicalise(), Algebraic())
    assert sorted(n.op for n in graph.nodes) == sorted(gives)


INT_RULES: list[tuple[str, Form, list[str]]] = [
    ("x + 0", lambda b, x: b.Add(x, 0), []),
    ("x - 0", lambda b, x: b.Sub(x, 0), []),
    ("x - MIN wraps", lambda b, x: b.Sub(x, int(INTS.min())), ["Add"]),
    ("x * 1", lambda b, x: b.Mul(x, 1), []),
    ("x * -1 wraps", lambda b, x: b.Mul(x, -1), ["Neg"]),
    ("1 / x stays an error at 0", lambda b, x: b.Div(b.constant(np.int32(1)), b.BitwiseOr(x, 1)), ["BitwiseOr", "Div"]),
    ("(x + a) + b wraps", lambda b, x: b.Add(b.Add(x, 2**31 - 1), 5), ["Add"]),
    ("(x * a) * b wraps", lambda b, x: b.Mul(b.Mul(x, 65536), 65536), ["Mul"]),
    ("(x + a) * b stays", lambda b, x: b.Mul(b.Add(x, 3), 5), ["Add", "Mul"]),
    ("x & -1", lambda b, x: b.BitwiseAnd(x, -1), []),
    ("x | 0", lambda b, x: b.BitwiseOr(x, 0), []),
    ("x ^ 0", lambda b, x: b.BitwiseXor(x, 0), []),
    ("x & x", lambda b, x: b.BitwiseAnd(x, x), []),
    ("not (x < 3)", lambda b, x: b.Not(b.Less(x, 3)), ["LessOrEqual"]),
    ("x^2 wraps", lambda b, x: b.Pow(x, 2), ["Mul"]),
    ("|x| may be negative", lambda b, x: b.Abs(x), ["Abs"]),
    ("floor division by a power of two stays", lambda b, x: b.Div(x, 4), ["Div"]),
]  # fmt: skip


@pytest.mark.parametrize("form, gives", [(f, g) for _, f, g in INT_RULES], ids=[name for name, _, _ in INT_RULES])
def test_integers(form: Form, gives: list[str]) -> None:
    def build(b: Builder) -> None:
        b.outputs(form(b, b.input("x", "int32", (6,))))

    check(build, [INTS], Canonicalise(), Algebraic(), gives=gives)


def test_bools() -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "bool", (N,))
        t, f = np.array(True), np.array(False)
        b.outputs(
            b.And(x, t), b.Or(x, f), b.Xor(x, f), b.Not(b.Not(x)), b.And(x, x), b.Equal(x, t),
            b.And(x, f), b.Or(x, t), b.Equal(x, f),
        )  # fmt: skip

    check(build, [np.array([True, False, True])], Algebraic(), gives=["Expand", "Expand", "Not"])


def test_unsigned_minus_wraps() -> None:
    def build(b: Builder) -> None:
        b.outputs(b.Sub(b.input("x", "uint8", (3,)), np.uint8(3)))

    check(build, [np.array([0, 3, 255], np.uint8)], Canonicalise(), Algebraic(), gives=["Add"])


def test_half_roots_keep_their_second_rounding() -> None:
    def build(b: Builder) -> None:
        b.outputs(b.Reciprocal(b.Sqrt(b.input("x", "float16", (N,)))))

    check(build, [np.array([0.1, 3, 7], np.float16)], Algebraic(), gives=["Reciprocal", "Sqrt"][::-1])


def test_a_reduction_over_single_elements_is_a_reshape() -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N, 1, 4))
        along = np.array([1])
        b.outputs(*(b.op(op, x, along, keepdims=0) for op in ("ReduceMax", "ReduceMean", "ReduceSum", "ReduceProd")))
        b.outputs(*b.block.outputs, b.ReduceSum(b.Abs(x), along, keepdims=0))

    x = np.array([0.0, -0.0, np.nan, np.inf], np.float32).reshape(1, 1, 4)
    gives = ["Reshape", "ReduceMean", "ReduceSum", "Reshape", "Abs", "Reshape"]  # the sum of -0.0 is 0.0
    check(build, [x], Algebraic(), gives=gives)


def test_broadcast_operands_are_not_dropped() -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (4,))
        b.outputs(b.Mul(x, np.ones((3, 4), np.float32)), b.Where(np.ones((3, 1), np.bool_), x, 0.0))

    check(build, [normal(4)], Algebraic(), gives=["Mul", "Expand"])


def test_what_is_known_of_signs() -> None:
    from ge_core.ir import Graph

    b = Builder(Graph("g"))
    x, i = b.input("x", "float32", (N,)), b.input("i", "int32", (N,))
    assert never_negative(b.Mul(x, x)) and never_negative(b.ReduceMean(b.Mul(x, x))) and never_negative(b.Exp(x))
    assert not never_negative(b.Mul(x, b.Neg(x))) and not never_negative(x) and not never_negative(b.Abs(i))
    assert not never_negative(b.ReduceMax(b.Exp(x))), "over nothing it is -inf"
    assert not never_negative(b.Relu(x)), "relu(-0.0) may be -0.0"
    assert never_negative_zero(b.Add(x, 1.0)) and never_negative_zero(b.Cast(i, to="float32"))
    assert not never_negative_zero(b.Neg(b.Exp(x)))
    assert surely_finite(b.Mul(b.Cast(i, to="float32"), -10000.0)) and not surely_finite(b.Exp(b.Cast(i, to="float32")))
