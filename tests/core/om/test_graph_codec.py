from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ge_core.errors import OfflineModelError
from ge_core.ir import (
    DTYPES,
    Builder,
    Constant,
    DType,
    Graph,
    Layout,
    Location,
    OptionalType,
    SequenceType,
    TensorType,
    symbol,
)
from ge_core.ir.printer import print_graph
from ge_core.om import (
    InOutInfo,
    PartitionType,
    TensorInfo,
    message_class,
    parse,
    read_container,
    write_container,
)
from ge_core.om.attributes import decode_map
from ge_core.om.graph_codec import (
    DecodedModel,
    decode_entries,
    describe_inout,
    encode_entries,
    open_model,
    write_model,
)


def text(graph: Graph) -> str:
    return print_graph(graph, locations=True)


def through(*graphs: Graph, metadata: dict[str, Any] | None = None) -> DecodedModel:
    model_def, weights = encode_entries({graph.name: graph for graph in graphs}, metadata or {})
    return decode_entries(model_def, b"".join(weights.chunks))


def rich_graph(name: str = "main") -> Graph:
    """Symbolic sizes, contents, regions in regions, captures, a state, an omitted input, a location."""
    graph = Graph(name)
    b = Builder(graph)
    n = symbol("batch", 1, 32)
    x = b.input("x", "float32", (n, 4))
    times = b.input("times", "int64", ())
    weight = b.constant(np.arange(24, dtype=np.float32).reshape(4, 6), name="weight")
    state = b.state("cache", np.ones((1, 6), np.float32))
    with b.at(Location("torch", "layers.0", "model.py", 12, "aten.linear")):
        y = b.Add(b.MatMul(x, weight), state.read, num_outputs=1, names=["layer/0:y"])
    y = b.LeakyRelu(y, alpha=0.1)
    shaped = b.Reshape(y, b.ints(n * 2, 3))
    flag = b.Greater(times, 0)

    def nested(b: Builder) -> Any:
        return b.If(
            flag,
            then_branch=lambda b: [b.Mul(shaped, shaped)],
            else_branch=lambda b: [b.Sub(shaped, b.constant(np.float32(2)))],
        )

    chosen = b.If(flag, then_branch=nested, else_branch=lambda b: [b.Neg(shaped)])
    looped = b.Loop(times, None, shaped, body=lambda b, i, condition, carried: [condition, b.Add(carried, shaped)])
    clipped = b.Clip(looped, None, b.constant(np.float32(6)))
    graph.set_state_write(state, b.Add(state.read, state.read))
    b.outputs(chosen, clipped, b.Shape(y))
    return graph


def test_a_graph_comes_back_with_everything() -> None:
    graph = rich_graph()
    found = through(graph, metadata={"outputs": ["a", {"b": 1.5}], "nothing": None})
    assert list(found.entries) == ["main"]
    assert text(found.entries["main"]) == text(graph)
    assert found.metadata == {"outputs": ["a", {"b": 1.5}], "nothing": None}
    assert found.attributes["soc_version"] == "ge-cpu"


def test_the_form_is_what_other_readers_expect() -> None:
    graph = rich_graph()
    model = parse("ModelDef", encode_entries({"main": graph}, {})[0])
    names = [g.name for g in model.graph]
    assert names[0] == "main" and len(names) == len(set(names)) == 6
    for g in model.graph:
        outputs = {f"{op.name}:{i}": desc for op in g.op for i, desc in enumerate(op.output_desc)}
        assert len({op.name for op in g.op}) == len(g.op)
        assert [op.id for op in g.op] == list(range(len(g.op)))
        assert [op.type for op in g.op].count("NetOutput") == 1 and g.op[-1].type == "NetOutput"
        for op in g.op:
            for edge, desc in zip(op.input, op.input_desc, strict=op.type != "Data"):
                if edge:
                    assert (desc.dtype, desc.shape) == (outputs[edge].dtype, outputs[edge].shape)
            assert all(name in names for name in op.subgraph_name)
    leaky = next(op for op in model.graph[0].op if op.type == "LeakyRelu")
    attrs = decode_map(leaky.attr)
    assert attrs["ge.domain"] == "ai.onnx"
    assert attrs["alpha"] == pytest.approx(0.1)
    dims = next(op for op in model.graph[0].op if op.type == "Dims")
    assert decode_map(dims.attr)["ge.domain"] == "ge"


def test_constants_are_views_of_the_mapped_file(tmp_path: Path) -> None:
    graph = Graph("main")
    b = Builder(graph)
    for dtype in DTYPES:
        if dtype.kind != "string":
            raw = np.random.default_rng(0).integers(0, 2, (5, 100)).astype(np.uint8)
            graph.add_constant(Constant.of(raw.astype(dtype.numpy), dtype), dtype.name)
    b.outputs(b.input("x", "float32", ()))
    write_model(tmp_path / "model.om", {"main": graph}, {})

    stored = open_model(tmp_path / "model.om")

    found, data = stored.entries["main"], stored.container.data
    mapped = np.frombuffer(data, np.uint8).ctypes.data
    for before, after in zip(graph.constants, found.constants, strict=True):
        assert before.constant is not None and after.constant is not None
        array = after.constant.array()
        assert array.dtype == before.constant.array().dtype
        assert after.constant.digest() == before.constant.digest()
        if after.dtype.bits >= 8:
            place = array.ctypes.data - mapped
            assert 0 < place < len(data)
            assert place % 64 == 0
            assert not array.flags.writeable


def test_strings_and_empty_and_scalar_constants_come_back() -> None:
    graph = Graph("main")
    b = Builder(graph)
    arrays = [
        np.array(["a", "größe", ""], dtype=object),
        np.zeros((0, 3), np.float32),
        np.float64(0.1),
        np.array(7, np.int64),
        np.zeros((2, 0), np.int64),
        np.array([True, False]),
        np.arange(12, dtype=np.float32).reshape(3, 4).T,
    ]
    for array in arrays:
        graph.add_constant(Constant.of(array))
    b.outputs(b.input("x", "float32", ()))
    found = through(graph).entries["main"]
    assert text(found) == text(graph)
    for array, value in zip(arrays, found.constants, strict=True):
        assert value.constant is not None
        assert value.constant.array().tolist() == array.tolist()


def test_layouts_of_a_selected_graph_come_back() -> None:
    graph = Graph("main")
    b = Builder(graph)
    y = b.Relu(b.input("x", "float32", (1, 8, 5, 5)))
    y.layout = Layout((0, 2, 3, 1), halo=((0, 0), (0, 0), (1, 1), (1, 1)), fill=-1.5)
    b.outputs(y)
    graph.stage = "selected"
    assert text(through(graph).entries["main"]) == text(graph)


def test_sequences_and_unknown_ranks_of_imported_graphs_come_back() -> None:
    graph = Graph("main")
    b = Builder(graph)
    tensors = TensorType(DType.of("float16"), (symbol("n", 0, 9), 3))
    sequence = graph.add_param("s", SequenceType(tensors))
    optional = graph.add_param("o", OptionalType(SequenceType(tensors)))
    b.outputs(sequence, optional, b.Neg(b.input("u", "float32", None)))
    assert text(through(graph).entries["main"]) == text(graph)


def test_entries_share_one_copy_of_equal_weights() -> None:
    data = np.arange(1000, dtype=np.float32)
    graphs = []
    for name in ("prefill", "decode"):
        graph = Graph(name)
        b = Builder(graph)
        state = b.state("cache", np.zeros(1000, np.float32))
        graph.set_state_write(state, b.Mul(state.read, b.constant(data.copy())))
        b.outputs(b.Add(b.input("x", "float32", (1000,)), state.read))
        graphs.append(graph)
    model_def, weights = encode_entries({graph.name: graph for graph in graphs}, {})
    assert weights.size < 2 * data.nbytes + 64
    found = decode_entries(model_def, b"".join(weights.chunks))
    assert list(found.entries) == ["prefill", "decode"]
    one, other = (next(iter(graph.constants)).constant for graph in found.entries.values())
    assert one is other
    for graph in graphs:
        assert text(found.entries[graph.name]) == text(graph)


def test_further_attributes_are_kept() -> None:
    graph = rich_graph()
    model_def, weights = encode_entries({"main": graph}, {}, attributes={"memory_size": 4096, "ge.target": "cpu"})
    found = decode_entries(model_def, b"".join(weights.chunks))
    assert found.attributes["memory_size"] == 4096
    assert found.attributes["ge.target"] == "cpu"


def test_inputs_and_outputs_are_described_for_a_runtime() -> None:
    info = InOutInfo.unpack(describe_inout(rich_graph()).pack())
    assert info.inputs == (
        TensorInfo("x", 0, 0, (-1, 4), ((1, 32), (4, 4))),
        TensorInfo("times", 8, 9, ()),
    )
    assert [(t.name, t.dims) for t in info.outputs] == [
        ("output_0_if_1_0", (-1, 3)),
        ("output_1_clip_0", (-1, 3)),
        ("output_2_shape_0", (2,)),
    ]


def test_netron_opens_the_file(netron: Callable[[Path], Any], tmp_path: Path) -> None:
    write_model(tmp_path / "model.om", {"main": rich_graph()}, {}, items={"kernels/a": b"1"})
    seen = netron(tmp_path / "model.om")
    assert len(seen["modules"]) == 6
    main = {node["name"]: node for node in seen["modules"][0]["nodes"]}
    product = next(node for node in main.values() if node["type"] == "MatMul")
    (value,) = product["inputs"][1]
    assert value["type"] == {"dtype": "float32", "shape": [4, 6]}
    assert np.frombuffer(bytes(value["bytes"]), np.float32).tolist() == list(range(24))


WRITE = """
import hashlib, sys
from ge_core.om.graph_codec import write_model
from tests.core.om.test_graph_codec import rich_graph
write_model(sys.argv[1], {"main": rich_graph()}, {"b": 1, "a": 2}, items={"b": b"1", "a": b"22"})
print(hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest())
"""


def test_files_are_equal_whatever_the_hash_seed(tmp_path: Path) -> None:
    digests = set()
    for seed in ("0", "1"):
        command = [sys.executable, "-c", WRITE, os.fspath(tmp_path / seed)]
        env = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.getcwd()}
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        digests.add(done.stdout)
    assert len(digests) == 1


@pytest.mark.parametrize("metadata", [{"a": (1, 2)}, {1: "a"}, {"a": {"b": [object()]}}, {"a": np.float32(1)}])
def test_metadata_that_json_would_change_is_refused(metadata: dict[Any, Any]) -> None:
    with pytest.raises(OfflineModelError, match="JSON value|no string"):
        encode_entries({"main": rich_graph()}, metadata)


def test_a_model_without_entries_is_refused() -> None:
    with pytest.raises(OfflineModelError, match="at least one entry"):
        encode_entries({}, {})


def test_models_of_others_and_of_later_versions_are_refused_with_the_way_out() -> None:
    with pytest.raises(OfflineModelError, match="no graph of ge"):
        decode_entries(b"")
    model = parse("ModelDef", encode_entries({"main": rich_graph()}, {})[0])
    model.attr["ge.format"].i = 2
    with pytest.raises(OfflineModelError, match="version 2\n.*version 1\n.*pip install -U ge-engine"):
        decode_entries(model.SerializeToString())


@pytest.mark.parametrize(
    ("metadata", "way_out"),
    [
        ({"ge": "0.0.7"}, "pip install ge-engine==0.0.7, or write"),
        ({"ge": "0.0.7; rm -r ~"}, "install the release of ge-engine that wrote it"),
        ({"ge": ["0.0.7"]}, "install the release of ge-engine that wrote it"),
        ({}, "install the release of ge-engine that wrote it"),
    ],
)
def test_models_of_earlier_versions_name_the_release_that_reads_them(metadata: dict[str, Any], way_out: str) -> None:
    model = parse("ModelDef", encode_entries({"main": rich_graph()}, metadata)[0])
    model.attr["ge.format"].i = 0
    with pytest.raises(OfflineModelError, match="version 0\n.*version 1\n.*") as caught:
        decode_entries(model.SerializeToString())
    assert way_out in str(caught.value)


def test_constants_beyond_the_weights_are_refused() -> None:
    with pytest.raises(OfflineModelError, match="within the 0 bytes of WEIGHTS_DATA"):
        decode_entries(encode_entries({"main": rich_graph()}, {})[0])


def test_a_whole_file_comes_back(tmp_path: Path) -> None:
    graph = rich_graph()
    path = tmp_path / "model.om"
    digests = write_model(path, {"main": graph}, {"a": 1}, items={"k/1": b"one", "k/2": b""}, attributes={"x": 2})

    stored = open_model(path, verify_weights=True)

    assert text(stored.entries["main"]) == text(graph)
    assert {name: bytes(item) for name, item in stored.items.items()} == {"k/1": b"one", "k/2": b""}
    assert stored.metadata == {"a": 1}
    assert stored.digests == digests
    assert stored.attributes["x"] == 2
    assert not [name for name in stored.attributes if name.startswith("ge.")]
    sizes = [len(stored.container.get(kind)) for kind in (1, 3, 4, 2, 5)]  # type: ignore[arg-type]
    assert stored.attributes["om_info_list"] == sizes
    assert [p.type for p in stored.container.groups[0].partitions] == [8, 0, 1, 3, 2]
    assert stored.container.header.ops == 16


def test_a_file_of_others_is_named(tmp_path: Path) -> None:
    path = tmp_path / "other.om"
    write_container(path, {PartitionType.MODEL_DEF: message_class("ModelDef")(name="x").SerializeToString()})
    with pytest.raises(OfflineModelError, match="other.om: no graph of ge in this file"):
        open_model(path)


def test_damaged_weights_are_found_on_request(tmp_path: Path) -> None:
    path = tmp_path / "model.om"
    write_model(path, {"main": rich_graph()}, {})
    data = bytearray(path.read_bytes())
    weights = next(p for p in read_container(bytes(data)).groups[0].partitions if p.type == 1)
    data[weights.offset + 1] ^= 1
    path.write_bytes(data)
    open_model(path)
    with pytest.raises(OfflineModelError, match="WEIGHTS_DATA does not match"):
        open_model(path, verify_weights=True)
