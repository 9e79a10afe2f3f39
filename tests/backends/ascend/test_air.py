"""AIR files: weights beside them, states, names, dynamic sizes, what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ge_ascend.air import import_air, parse_air, read_air, write_air
from ge_ascend.air.model import AirModel
from ge_ascend.check import check_file

from ge_core.errors import ModelImportError, UnsupportedError
from ge_core.ir import Builder, Graph, dims, symbol
from ge_core.om.messages import message_class
from ge_core.reference.interpret import interpret
from tests.backends.ascend.roundtrip import back, graph_of, lowered


def parsed(data: bytes) -> AirModel:
    return parse_air(data)


def test_large_weights_stand_beside_the_file(tmp_path: Path) -> None:
    w = np.random.default_rng(0).standard_normal((64, 32)).astype(np.float32)
    graph = graph_of(lambda b, x: b.Add(b.MatMul(x, b.constant(w)), 1.0), ("float32", (2, 64)))
    file = write_air(lowered(graph).program, most_inside=4096, folder="weight/main")
    (name,) = file.weights
    path = tmp_path / "net.air"
    path.write_bytes(file.data)
    (tmp_path / name).parent.mkdir(parents=True)
    (tmp_path / name).write_bytes(file.weights[name].array().tobytes())
    assert [str(f) for f in check_file(path) if f.severity == "error"] == []
    x = np.ones((2, 64), np.float32)
    (got,) = interpret(import_air(read_air(path)).graph, [x])[0]
    np.testing.assert_allclose(got, x @ w + 1, rtol=1e-5)
    (tmp_path / name).write_bytes(b"short")
    with pytest.raises(ModelImportError, match="has 5 bytes"):
        import_air(read_air(path))


def test_states_are_written_and_read() -> None:
    graph = Graph("counter")
    b = Builder(graph)
    x = b.input("x", "float32", (3,))
    state = b.state("total", np.float32([1, 2, 3]))
    total = b.Add(state.read, x)
    graph.set_state_write(state, total)
    b.outputs(b.Mul(total, 2.0))
    found = lowered(graph)
    assert [op.type for op in found.program.ops()].count("RefData") == 1
    again = back(found)
    values = {"total": np.float32([1, 2, 3])}
    outputs, after = interpret(again, [np.ones(3, np.float32)], dict(values))
    np.testing.assert_array_equal(outputs[0], [4, 6, 8])
    np.testing.assert_array_equal(after["total"], [2, 3, 4])
    np.testing.assert_array_equal(again.states[0].initial.array(), [1, 2, 3])


def test_named_sizes_come_back_with_their_bounds() -> None:
    graph = Graph("net")
    b = Builder(graph)
    n = symbol("batch", 1, 16)
    b.outputs(b.Concat([b.input("x", "float32", (n, 3)), b.input("y", "float32", (n * 2 + 1, 3))], axis=0))
    again = back(lowered(graph))
    assert [v.name for v in again.inputs] == ["x", "y"]
    (found,) = dims.symbols(again.inputs[0].shape[0])
    assert (found.name, found.lo, found.hi) == ("batch", 1, 16)
    assert again.inputs[1].shape[0] == n * 2 + 1


def test_sizes_without_names_are_symbols_of_their_own() -> None:
    graph = graph_of(lambda b, x: b.Relu(x), ("float32", ("n", 3)))
    model = message_class("ModelDef")()
    model.ParseFromString(write_air(lowered(graph).program).data)
    for op in model.graph[0].op:
        for desc in (*op.input_desc, *op.output_desc):
            for key in ("_ge_sizes", "shape_range"):
                if key in desc.attr:
                    del desc.attr[key]
    again = import_air(parsed(model.SerializeToString())).graph
    assert str(again.inputs[0].shape[0]) == "x0_0"
    np.testing.assert_array_equal(interpret(again, [np.float32([[-1, 0, 2]])])[0][0], [[0, 0, 2]])


def test_the_message_holds_what_the_loader_needs() -> None:
    graph = graph_of(lambda b, x, w: b.Relu(b.Conv(x, w)), ("float32", ("n", 3, 8, 8)), ("float32", (4, 3, 3, 3)))
    model = message_class("ModelDef")()
    model.ParseFromString(write_air(lowered(graph).program).data)
    ops = {op.type: op for op in model.graph[0].op}
    conv = ops["Conv2D"]
    assert list(model.graph[0].input) == ["x0:0", "x1:0"]
    assert conv.input_desc[0].layout == "NCHW" and list(conv.input_desc[0].shape.dim) == [-1, 3, 8, 8]
    attrs = conv.input_desc[0].attr
    assert attrs["origin_shape_initialized"].b and list(attrs["origin_shape"].list.i) == [-1, 3, 8, 8]
    assert attrs["format_for_int"].i == attrs["origin_format_for_int"].i == 0
    assert conv.attr["strides"].list.val_type == 2 and list(conv.attr["pads"].list.i) == [0, 0, 0, 0]
    assert not any(key.startswith("_ir_") for op in model.graph[0].op for key in op.attr)
    assert ops["Relu"].input_desc[0].dtype == conv.output_desc[0].dtype == 1
    assert [op.id for op in model.graph[0].op] == list(range(len(model.graph[0].op)))


def test_cast_and_shape_use_the_numbers_in_memory() -> None:
    graph = graph_of(lambda b, x: b.Cast(b.Add(x, 1), to="bfloat16"), ("int32", (3,)))
    model = message_class("ModelDef")()
    model.ParseFromString(write_air(lowered(graph).program).data)
    cast = next(op for op in model.graph[0].op if op.type == "Cast")
    assert (cast.attr["dst_type"].i, cast.output_desc[0].dtype) == (27, 27)
    assert (
        cast.input_desc[0].dtype,
        next(op for op in model.graph[0].op if op.type == "Add").output_desc[0].dtype,
    ) == (7, 7)


def test_unsupported_operators_are_listed_at_once() -> None:
    graph = graph_of(lambda b, x: b.Sigmoid(b.Relu(x)), ("float32", (3,)))
    model = message_class("ModelDef")()
    model.ParseFromString(write_air(lowered(graph).program).data)
    for op in model.graph[0].op:
        op.type = {"Relu": "FastGelu", "Sigmoid": "Dilation2D"}.get(op.type, op.type)
    with pytest.raises(UnsupportedError) as caught:
        import_air(parsed(model.SerializeToString()))
    assert {line.split()[0] for line in caught.value.details} == {"FastGelu", "Dilation2D"}


def test_an_unknown_rank_is_refused() -> None:
    graph = graph_of(lambda b, x: b.Relu(x), ("float32", (3,)))
    model = message_class("ModelDef")()
    model.ParseFromString(write_air(lowered(graph).program).data)
    data = next(op for op in model.graph[0].op if op.type == "Data")
    for desc in (*data.input_desc, *data.output_desc):
        desc.shape.dim[:] = [-2]
    with pytest.raises(ModelImportError, match="unknown rank"):
        import_air(parsed(model.SerializeToString()))


def test_channels_last_files_of_others_are_understood() -> None:
    """A Conv2D in NHWC with a filter in HWCN, as TensorFlow's parser writes it."""
    graph = graph_of(lambda b, x, w: b.Conv(x, w), ("float32", (1, 3, 5, 5)), ("float32", (4, 3, 3, 3)))
    model = message_class("ModelDef")()
    model.ParseFromString(write_air(lowered(graph).program).data)
    layouts = {"x": ("NHWC", (0, 2, 3, 1)), "filter": ("HWCN", (2, 3, 1, 0)), "y": ("NHWC", (0, 2, 3, 1))}
    ops = {op.type: op for op in model.graph[0].op}
    conv = ops["Conv2D"]
    for op in model.graph[0].op:
        for desc in (*op.input_desc, *op.output_desc):
            port = {"x0": "x", "x1": "filter"}.get(op.name, desc.name if op is conv else "y")
            if op.type == "NetOutput":
                port = "y"
            layout, order = layouts[port]
            shape = list(desc.shape.dim)
            desc.layout = layout
            desc.shape.dim[:] = [shape[i] for i in order]
            desc.attr.clear()
    conv.attr["data_format"].s = b"NHWC"
    again = import_air(parsed(model.SerializeToString())).graph
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(shape).astype(np.float32) for shape in ((1, 3, 5, 5), (4, 3, 3, 3)))
    (want,) = interpret(graph, [x, w])[0]
    (got,) = interpret(again, [x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0)])[0]
    np.testing.assert_allclose(got, want.transpose(0, 2, 3, 1), rtol=1e-4, atol=1e-5)
