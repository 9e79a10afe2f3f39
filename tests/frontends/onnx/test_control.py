"""Subgraphs: captures of outer values, branches that are known, loops whose values change their shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import GraphProto, ModelProto, TensorProto, ValueInfoProto, helper, numpy_helper

from ge_core.errors import GeError, ModelImportError, UnsupportedError
from ge_core.ir.traverse import walk
from ge_core.ir.types import TensorType
from ge_frontend_onnx.importer import import_model
from tests.frontends.onnx.agreement import run, run_ort

_FLOAT, _BOOL, _INT = TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64


def _info(name: str, kind: int = _FLOAT, shape: Sequence[Any] | None = ()) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def _named(*names: str) -> list[ValueInfoProto]:
    return [ValueInfoProto(name=name) for name in names]


def _graph(nodes: Sequence[Any], inputs: Sequence[ValueInfoProto], *outputs: str, tensors: Any = ()) -> GraphProto:
    return helper.make_graph(nodes, "g", inputs, _named(*outputs), tensors)


def _model(graph: GraphProto, opset: int = 21) -> ModelProto:
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def _node(op: str, inputs: str, outputs: str, **attrs: Any) -> Any:
    return helper.make_node(op, inputs.split(), outputs.split(), **attrs)


def _const(name: str, value: Any, dtype: type = np.int64) -> Any:
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.array(value, dtype), name))


def _agrees(model: ModelProto, *feeds: dict[str, np.ndarray]) -> None:
    for feed in feeds:
        for got, want in zip(run(model, feed), run_ort(model, feed), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-6)


_x = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_branches_capture_through_several_levels() -> None:
    inner = [_graph([_node("Add", "deep x", "r1")], [], "r1"), _graph([_node("Mul", "deep w", "r2")], [], "r2")]
    then = _graph(
        [_node("Neg", "x", "deep"), _node("If", "c2", "t", then_branch=inner[0], else_branch=inner[1])], [], "t"
    )
    other = _graph([_node("Identity", "x", "e")], [], "e")
    graph = _graph(
        [_node("If", "c1", "y", then_branch=then, else_branch=other)],
        [_info("c1", _BOOL), _info("c2", _BOOL), _info("x", shape=["n", 3])], "y",
        tensors=[numpy_helper.from_array(np.float32([1, 2, 3]), "w")],
    )  # fmt: skip
    bools = [np.array(b) for b in (True, False)]
    _agrees(_model(graph), *({"c1": a, "c2": b, "x": _x} for a in bools for b in bools))


@pytest.mark.parametrize(("op", "sizes", "taken"), [("Equal", 3, "Neg"), ("Equal", 2, "Abs"), ("Less", 5, "Neg")])
def test_a_branch_that_sizes_decide_stands_in_line(op: str, sizes: int, taken: str) -> None:
    """As in exported squeezes: the branch depends on a size that is known."""
    nodes = [
        _node("Shape", "x", "s"), _const("one", 1), _node("Gather", "s one", "d"), _const("k", sizes),
        _node(op, "d k", "c0"), _node("Not", "c0", "c1"), _node("Not", "c1", "c2"),
        _node("If", "c2", "y", then_branch=_graph([_node("Neg", "x", "t")], [], "t"),
              else_branch=_graph([_node("Abs", "x", "e")], [], "e")),
    ]  # fmt: skip
    graph = import_model(_model(_graph(nodes, [_info("x", shape=["n", 3])], "y"))).graph
    ops = [node.op for node in walk(graph)]
    assert taken in ops and "If" not in ops


def test_a_branch_that_an_unknown_size_decides_stays() -> None:
    nodes = [
        _node("Shape", "x", "s"), _const("zero", 0), _node("Gather", "s zero", "d"), _const("k", 3),
        _node("Equal", "d k", "c"),
        _node("If", "c", "y", then_branch=_graph([_node("Neg", "x", "t")], [], "t"),
              else_branch=_graph([_node("Abs", "x", "e")], [], "e")),
    ]  # fmt: skip
    model = _model(_graph(nodes, [_info("x", shape=["n", 3])], "y"))
    assert "If" in [node.op for node in walk(import_model(model).graph)]
    _agrees(model, {"x": _x}, {"x": np.ones((3, 3), np.float32)})


def _loop(
    nodes: Sequence[Any], outputs: str, *, trips: Any = 3, shape: Any = (2,), also: Sequence[Any] = ()
) -> ModelProto:
    """A loop over `s`, which begins as the input x; `also` holds nodes before it."""
    body = _graph(nodes, [_info("i", _INT), _info("go", _BOOL), _info("s", shape=None)], *outputs.split())
    before = [_const("m", trips), _const("true", True, np.bool_), *also]
    made = " ".join(["last", *(f"scan{k}" for k in range(len(outputs.split()) - 2))])
    loop = _node("Loop", "m true x", made, body=body)
    return _model(_graph([*before, loop], [_info("x", shape=shape)], *made.split()))


def test_loops_collect_and_stop() -> None:
    nodes = [_node("Add", "s s", "r"), _node("ReduceSum", "r", "total", keepdims=0), _const("limit", 50, np.float32),
             _node("Less", "total limit", "again")]  # fmt: skip
    _agrees(_loop(nodes, "again r r", trips=10), {"x": np.float32([1, 2])}, {"x": np.float32([100, 2])})


def test_a_carried_value_that_grows() -> None:
    model = _loop([_node("Concat", "s x", "r", axis=0), _node("Identity", "go", "again")], "again r", shape=["n"])
    graph = import_model(model).graph
    (loop,) = (node for node in graph.nodes if node.op == "Loop")
    assert isinstance(loop.outputs[0].type, TensorType) and loop.outputs[0].rank == 1
    _agrees(model, {"x": np.float32([1, 2])}, {"x": np.float32([1, 2, 3])})


def test_a_carried_value_whose_rank_grows() -> None:
    nodes = [_const("zero", [0]), _node("Unsqueeze", "s zero", "r"), _node("Identity", "go", "again")]
    model = _loop(nodes, "again r")
    (got,) = run(model, {"x": np.float32([1, 2])})
    assert got.shape == (1, 1, 1, 2)


def test_a_loop_in_a_loop() -> None:
    inner_nodes = [_node("Concat", "u x", "v", axis=0), _node("Identity", "go2", "again2")]
    inner = _graph(inner_nodes, [_info("j", _INT), _info("go2", _BOOL), _info("u", shape=None)], "again2", "v")
    nodes = [_node("Loop", "m true s", "r", body=inner), _node("Identity", "go", "again")]
    model = _loop(nodes, "again r", trips=2)
    (got,) = run(model, {"x": np.float32([1, 2])})
    assert got.shape == (10,)


def test_nested_loops_are_converted_a_bounded_number_of_times() -> None:
    nodes: list[Any] = [_node("Concat", "s x", "r", axis=0), _node("Identity", "go", "again")]
    for _ in range(12):
        body = _graph(nodes, [_info("i", _INT), _info("go", _BOOL), _info("s", shape=None)], "again", "r")
        nodes = [_node("Loop", "one true s", "r", body=body), _node("Identity", "go", "again")]
    model = _loop(nodes, "again r", trips=1, also=[_const("one", 1)])
    (got,) = run(model, {"x": np.float32([1, 2])})
    assert got.tolist() == [1, 2, 1, 2]


@pytest.mark.parametrize("trips", [None, 9223372036854775807])
def test_a_loop_that_never_ends_is_refused(trips: int | None) -> None:
    body = _graph([_node("Identity", "go", "again"), _node("Identity", "s", "r")],
                  [_info("i", _INT), _info("go", _BOOL), _info("s", shape=None)], "again", "r")  # fmt: skip
    before = [_const("true", True, np.bool_), *([_const("m", trips)] if trips else [])]
    loop = helper.make_node("Loop", ["m" if trips else "", "true", "x"], ["y"], name="spin", body=body)
    with pytest.raises(ModelImportError, match="the loop never ends") as error:
        import_model(_model(_graph([*before, loop], [_info("x", shape=[2])], "y")))
    assert "spin" in str(error.value)


def test_scans_with_axes_and_directions() -> None:
    nodes = [_node("Add", "h e", "h2"), _node("Mul", "h2 h2", "out")]
    body = _graph(nodes, [_info("h", shape=[2]), _info("e", shape=[2])], "h2", "out")
    scan = _node("Scan", "h0 x", "last all", body=body, num_scan_inputs=1, scan_input_axes=[1],
                 scan_input_directions=[1], scan_output_axes=[-1], scan_output_directions=[1])  # fmt: skip
    graph = _graph([scan], [_info("h0", shape=[2]), _info("x", shape=[2, "t"])], "last", "all")
    _agrees(_model(graph), {"h0": np.zeros(2, np.float32), "x": _x})


def test_a_sequence_map() -> None:
    body = _graph([_node("Add", "e x", "r")], [_info("e", shape=None)], "r")
    nodes = [_node("SequenceConstruct", "x x", "q"), _node("SequenceMap", "q", "p", body=body),
             _node("ConcatFromSequence", "p", "y", axis=0)]  # fmt: skip
    model = _model(_graph(nodes, [_info("x", shape=[2, 3])], "y"))
    np.testing.assert_array_equal(run(model, {"x": _x})[0], np.concatenate([_x + _x] * 2))


def test_a_branch_with_an_unsupported_operator_is_one_finding() -> None:
    then = _graph([_node("StringNormalizer", "x", "t")], [], "t")
    other = _graph([_node("Identity", "x", "e")], [], "e")
    nodes = [_node("If", "c", "y", then_branch=then, else_branch=other), _node("Relu", "y", "z")]
    with pytest.raises(UnsupportedError, match="uses 1 operator") as error:
        import_model(_model(_graph(nodes, [_info("c", _BOOL), _info("x", shape=[2])], "z")))
    assert "StringNormalizer" in str(error.value)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([_node("If", "c", "y")], "attribute then_branch is missing"),
        ([_node("Loop", "m c x", "y", body=_graph([], [_info("i", _INT)], "i"))], "the body takes 1 values"),
        ([_node("Scan", "x", "y", num_scan_inputs=3, body=_graph([], [_info("e")], "e"))], "of which 3 are scanned"),
        ([_node("If", "c", "y", then_branch=_graph([], [], "gone"), else_branch=_graph([], [], "x"))],
         "'gone' is made by no node"),
    ],
)  # fmt: skip
def test_broken_subgraphs(nodes: list[Any], message: str) -> None:
    inputs = [_info("c", _BOOL), _info("m", _INT), _info("x", shape=[2])]
    with pytest.raises(GeError, match=message):
        import_model(_model(_graph(nodes, inputs, "y")))
