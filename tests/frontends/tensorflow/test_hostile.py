"""Damaged and hostile files end in a GeError, soon and in little memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ge_core.errors import GeError, ModelImportError, UnsupportedError
from ge_frontend_tensorflow.importer import import_model
from ge_frontend_tensorflow.messages import message_class

from .test_files import files, model  # noqa: F401  (fixtures)

# A part of the mutations; GE_HOSTILE=6000 runs the whole campaign.
MUTATIONS = int(os.environ.get("GE_HOSTILE", "240"))


def test_mutated_files(files):  # noqa: F811
    command = [sys.executable, str(Path(__file__).with_name("hostile.py")), str(files), "0", str(MUTATIONS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == ""


def graph():
    return message_class("GraphDef")()


def add(proto, name, op, *inputs, **attrs):
    node = proto.node.add(name=name, op=op, input=inputs)
    for key, value in attrs.items():
        if isinstance(value, str):
            node.attr[key].func.name = value
        else:
            node.attr[key].type = value
    return node


def saved(tmp_path, proto):
    path = tmp_path / "graph.pb"
    path.write_bytes(proto.SerializeToString())
    return path


def placeholder(proto, name="x"):
    node = add(proto, name, "Placeholder", dtype=1)
    node.attr["shape"].shape.dim.add(size=2)


def test_nodes_in_a_circle(tmp_path):
    proto = graph()
    placeholder(proto)
    add(proto, "a", "AddV2", "x", "b", T=1)
    add(proto, "b", "AddV2", "a", "x", T=1)
    add(proto, "c", "Relu", "b", T=1)
    with pytest.raises(ModelImportError, match="need each other"):
        import_model(saved(tmp_path, proto))


def test_references_to_what_is_not_there(tmp_path):
    proto = graph()
    placeholder(proto)
    add(proto, "a", "Relu", "nothing", T=1)
    with pytest.raises(ModelImportError, match="reads 'nothing'"):
        import_model(saved(tmp_path, proto))
    proto = graph()
    placeholder(proto)
    add(proto, "a", "Relu", "x:7", T=1)
    with pytest.raises(ModelImportError, match="result 7"):
        import_model(saved(tmp_path, proto))
    proto = graph()
    placeholder(proto)
    add(proto, "a", "PartitionedCall", "x", f="nothing").attr["Tin"].list.type.append(1)
    with pytest.raises(ModelImportError, match="calls the function 'nothing'"):
        import_model(saved(tmp_path, proto))


def function(proto, name, *calls):
    """A function of one tensor that calls others one after another."""
    made = proto.library.function.add()
    made.signature.name = name
    made.signature.input_arg.add(name="x", type=1)
    made.signature.output_arg.add(name="y", type=1)
    last = "x"
    for number, other in enumerate(calls):
        node = made.node_def.add(name=f"n{number}", op="PartitionedCall", input=[last])
        node.attr["f"].func.name = other
        node.attr["Tin"].list.type.append(1)
        node.attr["Tout"].list.type.append(1)
        last = f"n{number}:output:0"
    if not calls:
        node = made.node_def.add(name="n", op="Relu", input=["x"])
        node.attr["T"].type = 1
        last = "n:activations:0"
    made.ret["y"] = last


def call(proto, name):
    placeholder(proto)
    node = add(proto, "call", "PartitionedCall", "x", f=name)
    node.attr["Tin"].list.type.append(1)
    node.attr["Tout"].list.type.append(1)


def test_functions_that_call_themselves(tmp_path):
    proto = graph()
    function(proto, "f", "g")
    function(proto, "g", "f")
    call(proto, "f")
    with pytest.raises(UnsupportedError, match="calls itself"):
        import_model(saved(tmp_path, proto))


def test_functions_that_double_forty_times(tmp_path):
    proto = graph()
    function(proto, "f0")
    for n in range(40):
        function(proto, f"f{n + 1}", f"f{n}", f"f{n}")
    call(proto, "f40")
    with pytest.raises(UnsupportedError, match="nodes when its functions are put in place"):
        import_model(saved(tmp_path, proto))


def test_functions_nested_beyond_measure(tmp_path):
    proto = graph()
    function(proto, "f0")
    for n in range(5000):
        function(proto, f"f{n + 1}", f"f{n}")
    call(proto, "f5000")
    with pytest.raises(UnsupportedError, match="nested deeper"):
        import_model(saved(tmp_path, proto))


@pytest.mark.parametrize("sizes", [[1 << 40], [-5], [1 << 20, 1 << 20], [1] * 100])
def test_constants_of_impossible_sizes(tmp_path, sizes):
    proto = graph()
    placeholder(proto)
    node = add(proto, "c", "Const", dtype=1)
    node.attr["value"].tensor.dtype = 1
    for size in sizes:
        node.attr["value"].tensor.tensor_shape.dim.add(size=size)
    node.attr["value"].tensor.float_val.append(1.0)
    add(proto, "y", "AddV2", "x", "c", T=1)
    with pytest.raises(GeError):
        import_model(saved(tmp_path, proto))


def test_a_large_constant_of_one_value_takes_no_memory(tmp_path):
    proto = graph()
    placeholder(proto)
    node = add(proto, "c", "Const", dtype=1)
    node.attr["value"].tensor.dtype = 1
    node.attr["value"].tensor.tensor_shape.dim.add(size=1 << 30)
    node.attr["value"].tensor.tensor_shape.dim.add(size=2)
    node.attr["value"].tensor.float_val.append(1.0)
    add(proto, "y", "AddV2", "x", "c", T=1)
    imported = import_model(saved(tmp_path, proto))
    (constant,) = [c for c in imported.graph.constants if c.constant.type.rank == 2]
    assert constant.constant.array().strides == (0, 0)


def test_data_that_do_not_fit_their_shape(tmp_path):
    proto = graph()
    placeholder(proto)
    node = add(proto, "c", "Const", dtype=1)
    node.attr["value"].tensor.dtype = 1
    node.attr["value"].tensor.tensor_shape.dim.add(size=3)
    node.attr["value"].tensor.tensor_content = np.zeros(2, np.float32).tobytes()
    add(proto, "y", "AddV2", "x", "c", T=1)
    with pytest.raises(ModelImportError, match="has 8 bytes"):
        import_model(saved(tmp_path, proto))


def test_a_message_that_would_grow_too_much(tmp_path):
    path = tmp_path / "bomb.pb"
    path.write_bytes(b"\x0a\x00" * 8_000_000)
    with pytest.raises(ModelImportError, match="too many messages"):
        import_model(path)
