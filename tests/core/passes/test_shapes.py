"""Less moving of data: what is left out, and what only looks like it could be."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ge_core.ir import Builder, Value, symbol
from ge_core.passes.canonicalise import Canonicalise, ShapeArithmetic
from ge_core.passes.dce import DeadCode
from ge_core.passes.shapes import Shapes
from tests.core.passes.rewriting import check, normal, ops

N = symbol("n", 1, 8)
END, END32 = 2**63 - 1, 2**31 - 1
Form = Callable[[Builder, Value], Value]


def cut(b: Builder, x: Value, start: int, end: int, axis: int, step: int = 1) -> Value:
    return b.Slice(x, np.array([start]), np.array([end]), np.array([axis]), np.array([step]))


def halves(b: Builder, x: Value, at: int = 2, axis: int = 1) -> list[Value]:
    return [cut(b, x, 0, at, axis), cut(b, x, at, END, axis)]


RULES: list[tuple[str, Form, list[str]]] = [
    ("slice of everything", lambda b, x: cut(b, x, 0, END, 0), []),
    ("slice to the 32-bit end", lambda b, x: cut(b, x, 0, END32, -1), []),
    ("slice from the start counted backwards", lambda b, x: cut(b, x, -4, 9, 1), []),
    ("slice to the size of the axis", lambda b, x: b.Slice(x, np.array([0]), b.Shape(x, end=1), np.array([0])), []),
    ("slice backwards", lambda b, x: cut(b, x, -1, -END, 1, -1), ["Slice"]),
    ("slice in steps", lambda b, x: cut(b, x, 0, END, 1, 2), ["Slice"]),
    ("slice that cuts", lambda b, x: cut(b, x, 0, 3, 1), ["Slice"]),
    ("pad by nothing", lambda b, x: b.Pad(x, np.zeros(6, np.int64)), []),
    ("pad by something", lambda b, x: b.Pad(x, np.array([0, 0, 0, 0, 0, 1])), ["Pad"]),
    ("concat of one", lambda b, x: b.Concat([x], axis=0), []),
    ("concat with an empty part", lambda b, x: b.Concat([cut(b, x, 0, 0, 1), x], axis=1), []),
    ("concat of a concat", lambda b, x: b.Concat([b.Concat([x, x], axis=1), x], axis=-2), ["Concat"]),
    ("concat of a concat on another axis", lambda b, x: b.Concat([b.Concat([x, x], axis=1)] * 2, axis=2),
     ["Concat"] * 2),
    ("concat of the halves", lambda b, x: b.Concat(halves(b, x), axis=1), []),
    ("concat of the halves of a named axis", lambda b, x: b.Concat(halves(b, x, 1, 0), axis=0), []),
    ("concat of halves cut from behind", lambda b, x: b.Concat(halves(b, x, -1, 0), axis=0), []),
    ("concat of swapped halves", lambda b, x: b.Concat(halves(b, x)[::-1], axis=1), ["Slice", "Slice", "Concat"]),
    ("concat of halves on another axis", lambda b, x: b.Concat(halves(b, x), axis=2), ["Slice", "Slice", "Concat"]),
    ("concat of parts with a gap", lambda b, x: b.Concat([cut(b, x, 0, 1, 1), cut(b, x, 2, END, 1)], axis=1),
     ["Slice", "Slice", "Concat"]),
    ("concat of halves of two values", lambda b, x: b.Concat([halves(b, x)[0], halves(b, b.Neg(x))[1]], axis=1),
     ["Slice", "Neg", "Slice", "Concat"]),
    ("concat of a split", lambda b, x: b.Concat(list(b.Split(x, axis=1, num_outputs=2)), axis=-2), []),
    ("concat of a split swapped", lambda b, x: b.Concat(list(b.Split(x, axis=1, num_outputs=2))[::-1], axis=1),
     ["Split", "Concat"]),
    ("split into one", lambda b, x: b.Split(x, axis=1, num_outputs=1), []),
    ("gather of everything", lambda b, x: b.Gather(x, np.arange(4), axis=1), []),
    ("gather in another order", lambda b, x: b.Gather(x, np.array([0, 2, 1, 3]), axis=1), ["Gather"]),
    ("gather of as many", lambda b, x: b.Gather(x, np.arange(4) % 2, axis=1), ["Gather"]),
    ("expand to the same", lambda b, x: b.Expand(x, np.array([1, 1, 5])), []),
    ("expand twice", lambda b, x: b.Expand(b.Expand(b.Unsqueeze(x, np.array([0])), np.array([2, 1, 1, 1])),
                                           np.array([2, 1, 4, 5])), ["Reshape", "Expand"]),
    ("broadcast that the other operand does",
     lambda b, x: b.Add(x, b.Expand(b.ReduceMax(x, np.array([1])), b.Shape(x))), ["ReduceMax", "Add"]),
    ("broadcast that no other operand does", lambda b, x: b.Add(b.Expand(x, np.array([2, 1, 1, 1])), 1.0),
     ["Expand", "Add"]),
    ("two broadcasts", lambda b, x: b.Add(b.Expand(b.Unsqueeze(x, np.array([0])), np.array([3, 1, 1, 1])),
                                          b.Expand(x, np.array([3, 1, 1, 1]))), ["Reshape", "Expand", "Add"]),
    ("reshape there and back", lambda b, x: b.Reshape(b.Reshape(x, b.ints(N, 20)), b.ints(N, 4, 5)), []),
    ("reduction whose axis comes back",
     lambda b, x: b.Unsqueeze(b.ReduceMean(x, np.array([1]), keepdims=0), np.array([1])), ["ReduceMean"]),
    ("reduction whose axis comes back elsewhere",
     lambda b, x: b.Unsqueeze(b.ReduceMean(x, np.array([1]), keepdims=0), np.array([2])), ["ReduceMean", "Reshape"]),
]  # fmt: skip


@pytest.mark.parametrize("form, gives", [(f, g) for _, f, g in RULES], ids=[name for name, _, _ in RULES])
@pytest.mark.parametrize("n", [1, 3])
def test_rules(form: Form, gives: list[str], n: int) -> None:
    def build(b: Builder) -> None:
        b.outputs(form(b, b.input("x", "float32", (N, 4, 5))))

    check(build, [normal(n, 4, 5)], ShapeArithmetic(), Canonicalise(), Shapes(), Shapes(), DeadCode(), gives=gives)


def test_packed_queries_keys_and_values_are_slices() -> None:
    """nn.MultiheadAttention: unflatten, move the new axis to the front, take its three positions."""

    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N, 4, 12))
        packed = b.Transpose(b.Reshape(x, b.ints(N, 4, 3, 4)), perm=[2, 1, 0, 3])
        b.outputs(*(b.Gather(packed, np.int64(i), axis=0) for i in (0, 1, -1)))

    graph, _ = check(build, [normal(2, 4, 12)], Shapes(), DeadCode())
    assert ops(graph) == ["Slice", "Transpose"] * 3


@pytest.mark.parametrize("case", ["vector", "other axis", "named size"])
def test_positions_that_are_no_slices(case: str) -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N, 4, 12))
        cut = b.Reshape(x, b.ints(4, N, 3, 4) if case == "other axis" else b.ints(N, 4, 3, 4))
        index = np.array([1]) if case == "vector" else np.int64(0)
        b.outputs(b.Gather(cut, index, axis=0 if case == "named size" else 2))

    check(build, [normal(2, 4, 12)], Shapes(), gives=["Reshape", "Gather"])


def test_products_of_flattened_rows_need_no_flattening() -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N, 4, 5))
        rows = b.Reshape(x, b.ints(4 * N, 5))
        y = b.Add(b.MatMul(rows, normal(5, 3)), normal(3, seed=1))
        z = b.MatMul(rows, normal(5, 6))
        b.outputs(b.Reshape(y, b.ints(N, 4, 3)), b.Reshape(z, b.ints(4, N, 6)))

    graph, _ = check(build, [normal(2, 4, 5)], Shapes(), DeadCode(), tolerance=1e-6)
    assert sorted(ops(graph)) == ["Add", "MatMul", "MatMul", "Reshape", "Reshape"]
    assert [n.inputs[0].name for n in graph.nodes if n.op == "MatMul"].count("x") == 1  # type: ignore[union-attr]


def test_rules_enter_regions() -> None:
    def build(b: Builder) -> None:
        x, c = b.input("x", "float32", (N, 4)), b.input("c", "bool", ())
        b.outputs(
            b.If(
                c,
                then_branch=lambda r: [r.Neg(r.Concat(halves(r, x), axis=1))],
                else_branch=lambda r: [r.Pad(x, np.zeros(4, np.int64))],
            )
        )

    graph, _ = check(build, [normal(2, 4), np.array(True)], Canonicalise(), Shapes(), DeadCode())
    regions = graph.nodes.last.regions  # type: ignore[union-attr]
    assert [n.op for n in regions["then_branch"].nodes] == ["Neg"] and not list(regions["else_branch"].nodes)
