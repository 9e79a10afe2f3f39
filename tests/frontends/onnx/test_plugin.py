"""The entry module: thin, recognised, and its smaller hooks."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from ge_core.errors import InputError
from ge_core.plugins import host


@pytest.fixture
def model() -> onnx.ModelProto:
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "abc"]
    graph = helper.make_graph([helper.make_node("Sub", ["a", "b"], ["c"])], "g", values[:2], values[2:])
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])


def test_knowing_of_the_frontend_does_not_import_onnx():
    code = (
        "import sys; from ge_core.plugins import host; plugin = host().frontend('onnx');"
        "print(plugin.tensor_to_numpy(3), 'onnx' in sys.modules, plugin.cost.milliseconds < 50)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "None False True\n"


def test_models_and_files_are_recognised(model, tmp_path):
    assert host().recognise(model).name == "onnx"
    for name in ("net.onnx", "without_suffix"):
        onnx.save(model, tmp_path / name)
    assert host().recognise(tmp_path / "net.onnx").name == "onnx"
    model.producer_name = "pytorch"
    onnx.save(model, tmp_path / "without_suffix")
    assert host().recognise(tmp_path / "without_suffix").name == "onnx"


def test_the_original_takes_inputs_by_place_and_name(model):
    a, b = np.float32([5, 7]), np.float32([1, 2])
    plugin = host().frontend("onnx")
    for args, kwargs in (([a, b], {}), ([a], {"b": b}), ([], {"b": b, "a": numpy_helper.from_array(a)})):
        np.testing.assert_array_equal(plugin.run_original(model, args, kwargs), [4, 5])
    with pytest.raises(InputError, match="3 positional inputs"):
        plugin.run_original(model, [a, b, a], {})


def test_tensor_protos_cross():
    proto = numpy_helper.from_array(np.float32([1, 2]), "x")
    owner = host().tensor_owner(proto)
    assert owner is not None and owner.name == "onnx"
    back = owner.tensor_from_numpy(owner.tensor_to_numpy(proto), proto)
    assert back == proto
