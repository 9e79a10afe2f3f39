"""Nodes out of order are sorted; circles, names made twice and names made nowhere are errors that name the nodes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, ValueInfoProto, helper

from ge_core.errors import ModelImportError
from ge_frontend_onnx.importer import import_model
from tests.frontends.onnx.agreement import run


def _model(*nodes: Any, inputs: tuple[str, ...] = ("x",), outputs: tuple[str, ...] = ("y",)) -> ModelProto:
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in inputs]
    graph = helper.make_graph(list(nodes), "g", infos, [ValueInfoProto(name=name) for name in outputs])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def _node(op: str, inputs: str, outputs: str, name: str = "", **attrs: Any) -> Any:
    return helper.make_node(op, inputs.split(), outputs.split(), name=name, **attrs)


_X = np.float32([1, -2])


def test_nodes_are_sorted() -> None:
    model = _model(_node("Relu", "b", "y"), _node("Neg", "a", "b"), _node("Abs", "x", "a"))
    np.testing.assert_array_equal(run(model, {"x": _X})[0], [0, 0])
    branch = helper.make_graph([_node("Identity", "late", "r")], "b", [], [ValueInfoProto(name="r")])
    cond = helper.make_node("Constant", [], ["c"], value=helper.make_tensor("c", TensorProto.BOOL, [], [True]))
    model = _model(_node("If", "c", "y", then_branch=branch, else_branch=branch), cond, _node("Neg", "x", "late"))
    np.testing.assert_array_equal(run(model, {"x": _X})[0], -_X)


def test_a_hundred_thousand_nodes_backwards() -> None:
    """Sorting is linear; a chain of this length would exhaust any recursion."""
    from ge_frontend_onnx.order import ordered

    nodes = [_node("Relu", f"v{i}", f"v{i + 1}") for i in range(100_000)]
    assert ordered(nodes[::-1])[0].input[0] == "v0"


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (_model(_node("Add", "x b", "a", "first"), _node("Relu", "a", "b", "second"), _node("Neg", "x", "y")),
         "2 nodes wait for each other in a circle\n  - Add 'first'\n  - Relu 'second'"),
        (_model(_node("Add", "x y", "y", "self")), "1 nodes wait"),
        (_model(_node("Relu", "x", "y", "one"), _node("Neg", "x", "y", "two")),
         "'y' is made by Neg 'two' and by Relu 'one'"),
        (_model(_node("Relu", "x", "x", "one"), outputs=("x",)), "'x' is made by Relu 'one' and as an input"),
        (_model(_node("Relu", "gone", "y", "one")), "Relu reads 'gone', which nothing defines\n  at: Relu in one"),
        (_model(_node("Relu", "x", "z")), "the output 'y' is made by no node"),
        (_model(_node("Relu", "x", "y"), inputs=("x", "x")), "two inputs are named 'x'"),
    ],
)  # fmt: skip
def test_broken_graphs(model: ModelProto, message: str) -> None:
    with pytest.raises(ModelImportError) as error:
        import_model(model)
    assert message in str(error.value)


def test_outputs_may_be_inputs_initializers_or_twice_the_same() -> None:
    model = _model(_node("Neg", "x", "y"), outputs=("y", "x", "y", "w"))
    model.graph.initializer.append(helper.make_tensor("w", TensorProto.FLOAT, [1], [7]))
    got = run(model, {"x": _X})
    assert [g.tolist() for g in got] == [[-1, 2], [1, -2], [-1, 2], [7]]


def test_an_initializer_that_is_an_input_is_a_constant() -> None:
    model = _model(_node("Add", "x w", "y"), inputs=("x", "w"))
    model.graph.initializer.append(helper.make_tensor("w", TensorProto.FLOAT, [2], [10, 20]))
    imported = import_model(model)
    assert imported.signature.input_names == ("x",)
    assert run(model, {"x": _X})[0].tolist() == [11, 18]


def test_unused_initializers_stay_outside() -> None:
    model = _model(_node("Neg", "x", "y"))
    model.graph.initializer.append(helper.make_tensor("w", TensorProto.FLOAT, [2], [10, 20]))
    assert not import_model(model).graph.constants
