"""`ge inspect` on files of CANN's compiler, built by the layout that its sources describe."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import ge_core
from ge_core.cli.app import build
from ge_core.foreign_description import describe_foreign
from ge_core.om import InOutInfo, TensorInfo, message_class, serialize
from ge_core.om.attributes import encode_map
from tests.backends.ascend import atc_file
from tests.backends.ascend.roundtrip import graph_of

FLOAT, HALF, HALF_PROTO = 0, 1, 2
ATTRIBUTES: dict[str, Any] = {
    "memory_size": 4096, "weight_size": 1024, "stream_num": 2, "event_num": 1, "soc_version": "Ascend310P3",
    "atc_version": "8.0.0", "atc_cmdline": "atc --model=net.air\x1b[31m", "om_info_list": [1024, 3, 0, 6, 0],
}  # fmt: skip


def _descriptor(*sizes: int, layout: str = "ND") -> Any:
    found = message_class("TensorDescriptor")(dtype=HALF_PROTO, layout=layout)
    found.shape.dim.extend(sizes)
    return found


def _compiled() -> Any:
    """Data -> MatMulV2 (with a constant) -> NetOutput, with offsets, streams and workspace."""
    model = message_class("ModelDef")(name="net")
    encode_map(model.attr, ATTRIBUTES)
    graph = model.graph.add(name="root")
    graph.op.add(name="x", type="Data").output_desc.append(_descriptor(2, 4))
    graph.op.add(name="w", type="Const").output_desc.append(_descriptor(4, 3))
    product = graph.op.add(name="y", type="MatMulV2", input=["x:0", "w:0", "x:-1"], stream_id=1)
    product.input_desc.extend([_descriptor(2, 4), _descriptor(4, 3)])
    product.output_desc.append(_descriptor(2, 3, layout="FRACTAL_NZ"))
    product.output_i.append(512)
    product.workspace_bytes.append(2048)
    graph.op.add(name="end", type="NetOutput", input=["y:0"]).input_desc.append(_descriptor(2, 3))
    return model


def _parts() -> dict[int, bytes]:
    inputs = (TensorInfo("x", 64, HALF, (2, 4)),)
    outputs = (TensorInfo("output_0_y_0", 64, HALF, (-1, 3)),)
    tasks = message_class("ModelTaskDef")(version="1", stream_num=2)
    tasks.task.add(id=0)
    return {
        atc_file.INOUT: InOutInfo(inputs, outputs).pack(),
        atc_file.MODEL_DEF: serialize(_compiled()),
        atc_file.WEIGHTS: bytes(1024),
        atc_file.KERNELS: atc_file.kernel(b"te_matmul", b"abc"),
        atc_file.TASKS: serialize(tasks),
    }


def written(folder: Path, *, narrow: bool = False, groups: int = 1) -> Path:
    path = folder / "device.om"
    path.write_bytes(atc_file.offline_model([_parts()] * groups, ops=4, narrow=narrow))
    return path


def ge(*arguments: object) -> Result:
    return CliRunner().invoke(build(), [str(a) for a in arguments])


def test_a_file_of_atc_is_shown(tmp_path: Path) -> None:
    told = ge("inspect", written(tmp_path), "--graph").output
    for part in (
        "an offline model of CANN that ge did not write, for Ascend310P3",
        "IR model 'net', version 0x20000000",
        "WEIGHTS_DATA 1.0 KiB",
        "memory: memory_size 4.0 KiB, weight_size 1.0 KiB",
        "2 streams, 1 events, 1 tasks, 1 kernels",
        "atc_version: 8.0.0",
        "atc_cmdline: atc --model=net.air?[31m",
        "operators: 4 (1 Data, 1 Const, 1 MatMulV2, 1 NetOutput)",
        "input  x: float16[2,4]",
        "output output_0_y_0: float16[?,3]",
        "y = MatMulV2(x:0 float16[2,4], w:0 float16[4,3]) -> float16[2,3] FRACTAL_NZ at 512",
        "[stream 1, 2.0 KiB of workspace]",
    ):
        assert part in told, (part, told)


def test_older_tables_and_several_models(tmp_path: Path) -> None:
    told = ge("inspect", written(tmp_path, narrow=True)).output
    assert "version 0x10000000" in told and "WEIGHTS_DATA 1.0 KiB" in told
    told = ge("inspect", written(tmp_path, groups=3)).output
    assert "sizes known at run time only" in told and "model 2: partitions" in told


def test_its_inputs_and_outputs_are_opened(tmp_path: Path) -> None:
    model = ge_core.load(written(tmp_path))
    assert model.target == "ascend310p"
    assert [(i.name, i.shape, str(i.dtype)) for i in model.inputs] == [("x", (2, 4), "float16")]


def test_an_air_file_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "net.air"
    graph = graph_of(lambda b, x: b.Softmax(b.Relu(x), axis=1), ("float32", ("n", 4)))
    ge_core.compile(graph, target="ascend910b").save(path)
    told = ge("inspect", path, "--graph").output
    for part in (
        "a graph of CANN (AIR)", "input  x0: float32[?,4]", "output output_0: float32[?,4]",
        "operators: 4 (1 Data, 1 Relu, 1 SoftmaxV2, 1 NetOutput)", "Relu(x0:0 float32[?,4]) -> float32[?,4]",
    ):  # fmt: skip
        assert part in told, (part, told)
    path.write_bytes(b"no message")
    assert ge("inspect", path).exit_code != 0


def test_as_json(tmp_path: Path) -> None:
    found = json.loads(ge("inspect", written(tmp_path), "--json").output)
    (model,) = found["models"]
    assert model["operators"] == {"Data": 1, "Const": 1, "MatMulV2": 1, "NetOutput": 1}
    assert model["attributes"]["weight_size"] == 1024 and model["kernels"] == {"te_matmul": 3} and model["tasks"] == 1


def test_a_damaged_file_of_ge_is_no_file_of_atc(tmp_path: Path) -> None:
    path = tmp_path / "net.om"
    ge_core.compile(graph_of(lambda b, x: b.Relu(x), ("float32", (2,))), target="reference").save(path)
    assert describe_foreign(path) is None
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    for at in range(data.index(b"ge.sha256") + 40, data.index(b"ge.sha256") + 44):
        data[at] ^= 1
    path.write_bytes(data)
    found = ge("inspect", path)
    assert found.exit_code != 0 and "of CANN" not in found.output


@pytest.mark.parametrize("cut", [100, 300, 700])
def test_a_file_that_is_cut_is_refused(tmp_path: Path, cut: int) -> None:
    path = written(tmp_path)
    path.write_bytes(path.read_bytes()[:-cut])
    found = ge("inspect", path)
    assert found.exit_code != 0 and "GE" in found.output
