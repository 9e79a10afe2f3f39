"""Matrix products and linear algebra: ONNX's cases, integer arithmetic, equations that are wrong, symbolic sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ge_core.errors import ExecutionError, TypeRuleError
from ge_core.ops.einsum import parse_equation
from tests.core.ops.onnx_cases import Case, cases, check_case
from tests.core.ops.single_node import Rule, check_rule, run_node

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("case", cases("MatMul", "Gemm", "Einsum", "MatMulInteger", "QLinearMatMul", "Det"))
def test_onnx(case: Case) -> None:
    check_case(case)


RULES = [
    Rule("MatMul", [("a", 2, "b"), ("b", 3)]),
    Rule("MatMul", [("b",), ("a", "b", 3)]),
    Rule("MatMul", [("a", 1, 3, "b"), (4, "b", 2)]),
    Rule("MatMul", [("b",), ("b",)]),
    Rule("Gemm", [("b", "a"), (3, "b"), (3,)], {"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0}),
    Rule("Einsum", [("a", "b", 4), ("b", 4, 5)], {"equation": "bij, ijk -> kb"}),
    Rule("Einsum", [("a", 3, "b"), ("b", 2)], {"equation": "...i,ij"}),
    Rule("MatMulInteger", [("a", "b"), ("b", 4), ("a",)], dtypes={0: "uint8", 1: "int8", 2: "uint8"}),
    Rule(
        "QLinearMatMul",
        [("a", "b"), np.float32(0.5), np.uint8(3), ("b", 2), np.float32(0.25), np.uint8(1), np.float32(1), np.uint8(9)],
        dtypes={0: "uint8", 3: "uint8"},
    ),
    Rule("Det", [("a", 1, 1)]),
]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_sizes(rule: Rule) -> None:
    check_rule(rule)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
def test_integer_products_wrap(dtype: str) -> None:
    info = np.iinfo(dtype)
    a = RNG.integers(info.min, info.max, (5, 40), dtype, endpoint=True)
    b = RNG.integers(info.min, info.max, (40, 6), dtype, endpoint=True)
    wide = a.astype(object) @ b.astype(object)
    low = -(1 << (info.bits - 1)) if info.min else 0
    expected = np.vectorize(lambda v: (v - low) % (1 << info.bits) + low, otypes=[object])(wide).astype(dtype)
    np.testing.assert_array_equal(run_node("MatMul", a, b), expected)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_small_floats_are_rounded_once(dtype: str) -> None:
    a, b = (RNG.standard_normal(s).astype(dtype) for s in ((4, 300), (300, 4)))
    expected = (a.astype(np.float32) @ b.astype(np.float32)).astype(dtype)
    np.testing.assert_array_equal(run_node("MatMul", a, b), expected)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(3, 4), (4, 5)]),
        ("bhqd,bhkd->bhqk", [(2, 3, 4, 5), (2, 3, 6, 5)]),
        ("...ij,...jk", [(2, 1, 3, 4), (5, 4, 6)]),
        ("ii->i", [(4, 4)]),
        ("iij,j->", [(3, 3, 2), (2,)]),
        ("i,j,k->kji", [(2,), (3,), (4,)]),
        ("abc,cd,de,b->ae", [(2, 3, 4), (4, 5), (5, 6), (3,)]),
        ("a...b->b...a", [(2, 3, 4, 5)]),
        ("ij,ij->j", [(1, 4), (3, 4)]),
        ("bi,bj->b", [(0, 3), (0, 4)]),
        ("zA,Ab", [(2, 3), (3, 4)]),
    ],
)
def test_einsum_against_numpy(equation: str, shapes: list[tuple[int, ...]]) -> None:
    arrays = [RNG.standard_normal(s) for s in shapes]
    expected = np.einsum(equation, *arrays)
    np.testing.assert_allclose(run_node("Einsum", *arrays, equation=equation), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("equation", "ranks", "why"),
    [
        ("ij,jk->ik", [2], "2 terms for 1 operands"),
        ("ij->k", [2], "which no operand has"),
        ("ij->ii", [2], "twice"),
        ("ijk->i", [2], "3 letters for an operand of rank 2"),
        ("ij->i", [3], "2 letters for an operand of rank 3"),
        ("i1->i", [2], "is no letter"),
        ("...i...->i", [3], "is no letter"),
    ],
)
def test_wrong_equations(equation: str, ranks: list[int], why: str) -> None:
    with pytest.raises(TypeRuleError, match=why):
        parse_equation(equation, ranks)


def test_sizes_of_a_letter_must_agree() -> None:
    with pytest.raises(TypeRuleError, match="do not broadcast"):
        run_node("Einsum", np.ones((2, 3)), np.ones((4, 5)), equation="ij,jk->ik")


@pytest.mark.parametrize(
    ("op", "shapes", "attrs", "why"),
    [
        ("MatMul", [(2, 3), (4, 5)], {}, "contracted sizes differ: 3 and 4"),
        ("MatMul", [(), (4,)], {}, "rank 1 or more"),
        ("Gemm", [(2, 3), (3, 4), (5, 4)], {}, "do not broadcast"),
        ("Gemm", [(2, 3, 1), (3, 4)], {}, "rank 3, expected 2"),
        ("Det", [(2, 3)], {}, "square matrix differ"),
    ],
)
def test_refused_shapes(op: str, shapes: list[tuple[int, ...]], attrs: dict[str, Any], why: str) -> None:
    with pytest.raises(TypeRuleError, match=why):
        run_node(op, *(np.ones(s, np.float32) for s in shapes), **attrs)


def test_linear_algebra() -> None:
    a = RNG.standard_normal((3, 4, 4))
    spd = a @ a.swapaxes(1, 2) + np.eye(4)
    b = RNG.standard_normal((4, 2))
    np.testing.assert_allclose(run_node("ge.Inverse", a) @ a, np.broadcast_to(np.eye(4), a.shape), atol=1e-9)
    np.testing.assert_allclose(a @ run_node("ge.Solve", a, b), np.broadcast_to(b, (3, 4, 2)), atol=1e-9)
    lower, upper = run_node("ge.Cholesky", spd), run_node("ge.Cholesky", spd, upper=1)
    np.testing.assert_allclose(lower @ lower.swapaxes(1, 2), spd, rtol=1e-9)
    np.testing.assert_allclose(upper, lower.swapaxes(1, 2), rtol=1e-9)
    assert (np.triu(lower, 1) == 0).all()


def test_singular_matrices_are_errors() -> None:
    with pytest.raises(ExecutionError, match="Singular"):
        run_node("ge.Inverse", np.zeros((2, 2)))
    with pytest.raises(ExecutionError, match="positive definite"):
        run_node("ge.Cholesky", -np.eye(2))


@pytest.mark.parametrize("op", ["ge.Inverse", "ge.Cholesky"])
def test_sizes_of_linear_algebra(op: str) -> None:
    check_rule(Rule(op, [("a", "b", "b")]), bindings=[])  # the values that it draws may be singular
    check_rule(Rule(op, [np.tile(np.eye(2, dtype=np.float32), (3, 1, 1))]))


def test_sizes_of_solve() -> None:
    check_rule(Rule("ge.Solve", [np.eye(3, dtype=np.float32), ("a", 3, "b")]))
    check_rule(Rule("ge.Solve", [("a", 1, "b", "b"), (4, "b", 2)]), bindings=[])
