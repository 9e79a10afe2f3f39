"""Functions of the model: inlined, with their attributes and versions, and never without an end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from onnx import FunctionProto, ModelProto, TensorProto, helper

from ge_core.errors import ModelImportError
from ge_core.ir.traverse import walk
from ge_frontend_onnx.importer import import_model
from tests.frontends.onnx.agreement import run

_X = np.float32([[1, -2, 3]])


def _model(nodes: Sequence[Any], functions: Sequence[FunctionProto], opset: int = 21) -> ModelProto:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "g", [x], [y])
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, functions=functions, opset_imports=imports, ir_version=10)


def _function(
    name: str, inputs: list[str], outputs: list[str], nodes: list[Any], opset: int = 21, **more: Any
) -> FunctionProto:
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
    return helper.make_function("own", name, inputs, outputs, nodes, imports, **more)


def _call(name: str, inputs: list[str], outputs: list[str], **attrs: Any) -> Any:
    return helper.make_node(name, inputs, outputs, domain="own", name=f"call_{outputs[0]}", **attrs)


def _referring(op: str, inputs: list[str], outputs: list[str], **refs: str) -> Any:
    node = helper.make_node(op, inputs, outputs)
    for name, referred in refs.items():
        node.attribute.add(name=name, ref_attr_name=referred, type=1)
    return node


def test_attributes_defaults_and_nesting() -> None:
    leaky = _function(
        "Leaky", ["a"], ["r"], [_referring("LeakyRelu", ["a"], ["r"], alpha="slope")], attributes=["slope"]
    )
    half = _function("Half", ["a"], ["r"], [_call("Leaky", ["a"], ["r"], slope=0.5)], attribute_protos=[])
    default = _function(
        "Default", ["a"], ["r"], [_referring("LeakyRelu", ["a"], ["r"], alpha="slope")],
        attribute_protos=[helper.make_attribute("slope", 0.25)],
    )  # fmt: skip
    functions = [leaky, half, default]
    for node, slope in (
        (_call("Leaky", ["x"], ["y"], slope=0.125), 0.125),
        (_call("Half", ["x"], ["y"]), 0.5),
        (_call("Default", ["x"], ["y"]), 0.25),
        (_call("Default", ["x"], ["y"], slope=0.75), 0.75),
        (_call("Leaky", ["x"], ["y"]), 0.01),  # left out: the operator's own default
    ):
        np.testing.assert_allclose(run(_model([node], functions), {"x": _X})[0], np.where(_X < 0, _X * slope, _X))


def test_optional_inputs_and_outputs() -> None:
    nodes = [helper.make_node("Clip", ["a", "low", "high"], ["r"]), helper.make_node("Neg", ["a"], ["s"])]
    clip = _function("Limit", ["a", "low", "high"], ["r", "s"], nodes)
    zero = helper.make_node("Constant", [], ["zero"], value_float=0.0)
    model = _model([zero, _call("Limit", ["x", "", "zero"], ["y"])], [clip])
    np.testing.assert_array_equal(run(model, {"x": _X})[0], np.minimum(_X, 0))
    model = _model([zero, _call("Limit", ["x"], ["", "y"])], [clip])
    np.testing.assert_array_equal(run(model, {"x": _X})[0], -_X)
    with pytest.raises(ModelImportError, match="called with 4 inputs"):
        import_model(_model([_call("Limit", ["x"] * 4, ["y"])], [clip]))


def test_versions_of_their_own() -> None:
    """The function squeezes as opset 11 did, the model is of opset 21."""
    old = _function("Old", ["a"], ["r"], [helper.make_node("Unsqueeze", ["a"], ["r"], axes=[0])], opset=11)
    assert run(_model([_call("Old", ["x"], ["y"])], [old]), {"x": _X})[0].shape == (1, 1, 3)


def test_overloads_and_operators_of_the_same_name() -> None:
    """A function of the model stands in for an operator of its name."""
    relu = helper.make_function("", "Relu", ["a"], ["r"], [helper.make_node("Neg", ["a"], ["r"])],
                                [helper.make_opsetid("", 21)])  # fmt: skip
    model = _model([helper.make_node("Relu", ["x"], ["y"])], [relu])
    np.testing.assert_array_equal(run(model, {"x": _X})[0], -_X)
    twice = [_function("F", ["a"], ["r"], [helper.make_node(op, ["a"], ["r"])]) for op in ("Abs", "Neg")]
    twice[1].overload = "negative"
    node = _call("F", ["x"], ["y"])
    node.overload = "negative"
    np.testing.assert_array_equal(run(_model([node], twice), {"x": _X})[0], -_X)


def test_places_name_the_call() -> None:
    inner = _function("Inner", ["a"], ["r"], [helper.make_node("Relu", ["a"], ["r"], name="act")])
    outer = _function("Outer", ["a"], ["r"], [_call("Inner", ["a"], ["r"])])
    graph = import_model(_model([_call("Outer", ["x"], ["y"])], [inner, outer])).graph
    (node,) = walk(graph)
    assert node.loc.module == "call_y/call_r/act" and node.loc.op == "Relu"


def test_a_function_that_calls_itself() -> None:
    loops = [_function(a, ["a"], ["r"], [_call(b, ["a"], ["r"])]) for a, b in (("A", "B"), ("B", "C"), ("C", "A"))]
    with pytest.raises(ModelImportError, match="calls itself: own::A > own::B > own::C > own::A"):
        import_model(_model([_call("A", ["x"], ["y"])], loops))


def test_functions_that_stand_for_too_many_nodes() -> None:
    functions = [_function("F0", ["a"], ["r"], [helper.make_node("Relu", ["a"], ["r"])])]
    for i in range(1, 40):
        nodes = [_call(f"F{i - 1}", ["a"], ["b"]), _call(f"F{i - 1}", ["b"], ["r"])]
        functions.append(_function(f"F{i}", ["a"], ["r"], nodes))
    with pytest.raises(ModelImportError, match="more than 1000000 nodes"):
        import_model(_model([_call("F39", ["x"], ["y"])], functions))
    chain = [_function("G0", ["a"], ["r"], [helper.make_node("Relu", ["a"], ["r"])])]
    chain += [_function(f"G{i}", ["a"], ["r"], [_call(f"G{i - 1}", ["a"], ["r"])]) for i in range(1, 5000)]
    with pytest.raises(ModelImportError, match="over 100 levels"):
        import_model(_model([_call("G4999", ["x"], ["y"])], chain))


def test_a_function_that_is_defined_twice() -> None:
    one = _function("F", ["a"], ["r"], [helper.make_node("Relu", ["a"], ["r"])])
    with pytest.raises(ModelImportError, match="own::F is defined twice"):
        import_model(_model([_call("F", ["x"], ["y"])], [one, one]))
