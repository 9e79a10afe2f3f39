"""Sequences and optionals: ONNX's cases, positions, what is known about elements, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ge_core.errors import ExecutionError, IndexRangeError, TypeRuleError
from ge_core.ir import Builder, Graph, OptionalType, SequenceType, TensorType, Value, symbol
from ge_core.ir.dtype import float32
from ge_core.ops.infer import infer_types
from ge_core.reference.interpret import interpret
from tests.core.ops.onnx_cases import Case, cases, check_case

OPS = ("SequenceInsert", "SequenceMap", "SplitToSequence", "OptionalHasElement", "OptionalGetElement", "If")


@pytest.mark.parametrize("case", [p for p in cases(*OPS) if "if_opt" not in p.id])
def test_onnx(case: Case) -> None:
    check_case(case, data_dependent=True)


N = symbol("n", 1)


def make() -> tuple[Builder, Value, Value, Value]:
    """Three tensors [n, 2], [3, 2] and [n, 2]."""
    b = Builder(Graph())
    return b, b.input("x", "float32", (N, 2)), b.input("y", "float32", (3, 2)), b.input("z", "float32", (N, 2))


def run(b: Builder, *outputs: Value) -> list[Any]:
    b.outputs(*outputs)
    x = np.arange(4, dtype=np.float32).reshape(2, 2)
    y = np.arange(6, dtype=np.float32).reshape(3, 2) + 10
    arrays = {"x": x, "y": y, "z": x + 20}
    return interpret(b.graph, [arrays[v.name] for v in b.graph.inputs if v.name in arrays])[0]


def test_elements_of_a_visible_sequence_have_their_own_types() -> None:
    b, x, y, z = make()
    s = b.SequenceConstruct([x, y])
    assert s.type == SequenceType(TensorType(float32, None))
    assert b.SequenceAt(s, np.int64(1)).type == y.type
    longer = b.SequenceInsert(s, z, np.int64(-1))
    assert [b.SequenceAt(longer, np.int64(i)).shape[0] for i in range(3)] == [N, N, 3]
    shorter = b.SequenceErase(longer, np.int64(0))
    assert b.SequenceLength(shorter).content == (2,)
    joined = b.ConcatFromSequence(shorter, axis=0)
    assert joined.shape == (N + 3, 2)
    got = run(b, joined, b.SequenceLength(longer))
    assert got[0].shape == (5, 2) and got[0][0, 0] == 20 and got[0][2, 0] == 10 and got[1] == 3


def test_elements_of_equal_type_share_it() -> None:
    b, x, _, z = make()
    s = b.SequenceConstruct([x, z])
    assert s.type == SequenceType(x.tensor)
    stacked = b.ConcatFromSequence(s, axis=1, new_axis=1)
    assert stacked.shape == (N, 2, 2)
    assert run(b, stacked)[0][:, 1].tolist() == [[20, 21], [22, 23]]


def test_a_position_from_the_data() -> None:
    b, x, y, _ = make()
    at = b.input("at", "int64", ())
    element = b.SequenceAt(b.SequenceConstruct([x, y]), at)
    assert element.shape[1] == 2
    b.outputs(element)
    arrays = [np.zeros((2, 2), np.float32), np.ones((3, 2), np.float32), np.zeros((2, 2), np.float32)]
    assert interpret(b.graph, [*arrays, np.int64(-1)])[0][0].shape == (3, 2)
    with pytest.raises(IndexRangeError, match="position 2, expected -2 to 1"):
        interpret(b.graph, [*arrays, np.int64(2)])


@pytest.mark.parametrize(
    ("split", "keep", "shapes"),
    [
        (None, 1, [(1, 2)] * 3),
        (None, 0, [(2,)] * 3),
        (np.int64(2), 1, [(2, 2), (1, 2)]),
        (np.array([1, 0, 2]), 1, [(1, 2), (0, 2), (2, 2)]),
    ],
)
def test_split(split: Any, keep: int, shapes: list[tuple[int, ...]]) -> None:
    b, _, y, _ = make()
    s = b.SplitToSequence(y, split, axis=0, keepdims=keep)
    parts = [b.SequenceAt(s, np.int64(i)) for i in range(len(shapes))]
    assert [p.shape for p in parts] == shapes
    assert b.SequenceLength(s).content == (len(shapes),)
    got = run(b, *parts)
    np.testing.assert_array_equal(np.concatenate([g.reshape(-1, 2) for g in got]), np.arange(6).reshape(3, 2) + 10)


def test_split_of_an_unknown_number() -> None:
    b, x, _, _ = make()
    s = b.SplitToSequence(x, axis=0)
    assert s.type == SequenceType(TensorType(float32, (1, 2)))
    whole = b.ConcatFromSequence(s, axis=0)
    assert whole.shape[1] == 2
    np.testing.assert_array_equal(run(b, whole)[0], np.arange(4).reshape(2, 2))


def test_map_over_a_sequence() -> None:
    b, x, y, z = make()
    s = b.SequenceMap(b.SequenceConstruct([x, y]), [z], body=lambda r, item, other: [r.ReduceSum(item, keepdims=0)])
    total = b.ConcatFromSequence(s, axis=0, new_axis=1)
    assert run(b, total)[0].tolist() == [6, 75]


def test_optionals() -> None:
    b, x, _, _ = make()
    o = b.Optional(x)
    assert o.type == OptionalType(x.tensor)
    assert b.OptionalGetElement(o).type == x.type
    got = run(b, b.OptionalHasElement(o), b.OptionalGetElement(o), b.OptionalHasElement(None))
    assert got[0] and got[1].shape == (2, 2) and not got[2]


def test_an_empty_optional_says_its_type() -> None:
    b, _, _, _ = make()
    element = SequenceType(TensorType(float32, (2, 3)))
    o = b.Optional(type=element)
    assert o.type == OptionalType(element)
    assert not run(b, b.OptionalHasElement(o))[0]
    assert infer_types(o.producer)[0] == [o.type]
    with pytest.raises(TypeRuleError, match="type"):
        b.Optional()


def test_a_missing_value_is_no_element() -> None:
    graph = Graph()
    b = Builder(graph)
    o = graph.add_param("o", OptionalType(TensorType(float32, (2,))))
    b.outputs(b.OptionalHasElement(o))
    assert not interpret(graph, [None])[0][0]
    b.outputs(b.OptionalGetElement(o))
    with pytest.raises(ExecutionError, match="holds nothing"):
        interpret(graph, [None])


def test_empty_sequences() -> None:
    b = Builder(Graph())
    s = b.SequenceEmpty(dtype="float32")
    b.outputs(b.SequenceLength(s))
    assert interpret(b.graph, [])[0][0] == 0
    b.outputs(b.ConcatFromSequence(s, axis=0))
    with pytest.raises(ExecutionError, match="empty"):
        interpret(b.graph, [])
    b = Builder(Graph())
    b.outputs(b.SequenceErase(b.SequenceEmpty(dtype="float32")))
    with pytest.raises(IndexRangeError):
        interpret(b.graph, [])


def test_refused() -> None:
    b, x, y, _ = make()
    ints = b.Cast(y, to="int64")
    with pytest.raises(TypeRuleError, match="float32"):
        b.SequenceConstruct([x, ints])
    with pytest.raises(TypeRuleError, match="position 5 in a sequence of 1"):
        b.SequenceAt(b.SequenceConstruct([x]), np.int64(5))
    with pytest.raises(TypeRuleError, match="input_sequence is float32"):
        b.SequenceLength(x)
    with pytest.raises(TypeRuleError, match="sum of the parts"):
        b.SplitToSequence(y, np.array([1, 1]), axis=0)
