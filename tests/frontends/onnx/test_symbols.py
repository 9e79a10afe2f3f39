"""Dimensions: names are symbols, unnamed ones are sizes of their own, and callers may rename or fix them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from onnx import ModelProto, TensorProto, helper

from ge_core import InputSpec
from ge_core.errors import InputError
from ge_core.ir import dims
from ge_core.ir.graph import Graph
from ge_core.reference.interpret import interpret
from ge_frontend_onnx.importer import import_model


def _model(op: str, *shapes: Any, attrs: dict[str, Any] | None = None) -> ModelProto:
    names = [f"x{i}" for i in range(len(shapes))]
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in zip(names, shapes, strict=True)]
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([helper.make_node(op, names, ["y"], **(attrs or {}))], "g", infos, [out])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def _shapes(graph: Graph) -> list[str]:
    return [str(list(map(str, v.shape))) for v in (*graph.inputs, *graph.outputs)]


def test_one_name_is_one_size() -> None:
    graph = import_model(_model("Add", ["batch", 3], ["batch", 3])).graph
    assert _shapes(graph) == ["['batch', '3']"] * 3
    with pytest.raises(Exception, match="batch"):
        interpret(graph, [np.zeros((2, 3), np.float32), np.zeros((4, 3), np.float32)])


def test_unnamed_and_nameless_sizes_are_their_own() -> None:
    graph = import_model(_model("Identity", [None, "?", "?", -1, ""])).graph
    sizes = graph.inputs[0].shape
    assert len(set(map(str, sizes))) == 5 and all(isinstance(s, dims.Dim) for s in sizes)


def test_names_that_are_no_words_become_some() -> None:
    graph = import_model(_model("Identity", ["batch size", "0/seq", "min", "unk__7"])).graph
    assert list(map(str, graph.inputs[0].shape)) == ["batch_size", "d_0_seq", "d_min", "unk_7"]


def test_an_expression_over_names_is_computed() -> None:
    graph = import_model(_model("Concat", ["n", "past"], ["n", 1], ["n", "past + 1"], attrs={"axis": 1})).graph
    assert _shapes(graph)[-1] == "['n', '2*past+2']"
    with pytest.raises(Exception, match=r"past\+1"):
        interpret(graph, [np.zeros(s, np.float32) for s in ((2, 3), (2, 1), (2, 5))])
    # over names that no input has alone it is a name like any other
    graph = import_model(_model("Identity", ["n + m"])).graph
    assert _shapes(graph)[0] == "['n_m']"


def test_callers_name_and_fix_sizes() -> None:
    model = _model("Add", ["n", 3], ["n", 3])
    assert _shapes(import_model(model, dynamic_shapes={"x0": {0: 8}}).graph) == ["['8', '3']"] * 3
    assert _shapes(import_model(model, dynamic_shapes=[{0: "rows"}]).graph) == ["['rows', '3']"] * 3
    assert _shapes(import_model(model, dynamic_shapes={"x1": (None, None)}).graph) == ["['n', '3']"] * 3
    named = import_model(model, [InputSpec(("rows", 3)), InputSpec((None, 3))]).graph
    assert _shapes(named) == ["['rows', '3']"] * 3
    static = _model("Relu", [4, 3])
    graph = import_model(static, dynamic_shapes={"x0": (torch.export.Dim("rows", min=2, max=9), None)}).graph
    assert _shapes(graph) == ["['rows', '3']"] * 2
    assert dims.bounds(graph.inputs[0].shape[0]) == (2, 9)
    assert dims.bounds(import_model(static, dynamic_shapes=({0: torch.export.Dim.AUTO},)).graph.inputs[0].shape[0]) == (
        0,
        None,
    )


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"z": {0: 1}}, "names 'z'"),
        ({"x0": {5: 1}}, "axis 5"),
        ({"x0": {0: -3}}, "is asked to be -3"),
        ({"x0": {0: 4}, "x1": {0: 5}}, "already 4"),
        ({"x0": 3}, "dynamic_shapes of 'x0' is 3"),
        (3, "dynamic_shapes is 3"),
        ([None, None, None], "3 entries"),
        ({"x0": {0: 1.5}}, "1.5"),
    ],
)
def test_what_cannot_be_asked(asked: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        import_model(_model("Add", ["n", 3], ["n", 3]), dynamic_shapes=asked)


def test_examples_give_ranks_and_are_checked_but_fix_nothing() -> None:
    model = _model("Relu", None)
    assert import_model(model).graph.inputs[0].tensor.shape is None
    x = np.zeros((2, 3), np.float32)
    assert _shapes(import_model(model, [x]).graph) == ["['x0_0', 'x0_1']"] * 2
    assert _shapes(import_model(_model("Relu", ["n", 3]), [x]).graph) == ["['n', '3']"] * 2
    graph = import_model(model, kwargs={"x0": x}, dynamic_shapes={"x0": {1: 3}}).graph
    assert _shapes(graph) == ["['x0_0', '3']"] * 2
    for example in (np.zeros((2, 4), np.float32), np.zeros((2, 3), np.float64), np.zeros(2, np.float32)):
        with pytest.raises(InputError, match="the example of 'x0'"):
            import_model(_model("Relu", ["n", 3]), [example])
    with pytest.raises(InputError, match="2 examples"):
        import_model(model, [x, x])
    with pytest.raises(InputError, match="'x0' twice"):
        import_model(model, [x], {"x0": x})


def test_types_of_inner_values_are_inferred_not_believed() -> None:
    model = _model("Relu", [2, 3])
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.INT64, [7]))
    model.graph.value_info.append(helper.make_tensor_value_info("y", TensorProto.DOUBLE, [1, 1, 1]))
    graph = import_model(model).graph
    assert str(graph.outputs[0].type) == "float32[2, 3]"
