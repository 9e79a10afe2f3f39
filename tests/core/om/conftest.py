"""A small model by hand: Data x and a constant into Add, in GE's own terms."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ge_core.om import InOutInfo, PartitionType, TensorInfo, message_class, serialize, write_container
from ge_core.om.attributes import encode_map

FLOAT32_PROTO, FLOAT32_MEMORY = 1, 0
WEIGHTS = np.arange(4, dtype=np.float32).tobytes()


def model_def() -> bytes:
    model = message_class("ModelDef")(name="sample", version=1)
    graph = model.graph.add(name="main")
    tensor = message_class("TensorDescriptor")(dtype=FLOAT32_PROTO, layout="ND")
    tensor.shape.dim.append(4)
    x = graph.op.add(name="x", type="Data", id=0, input_desc=[tensor], output_desc=[tensor])
    encode_map(x.attr, {"index": 0})
    c = graph.op.add(name="c", type="Const", id=1, output_desc=[tensor])
    c.attr["value"].t.desc.CopyFrom(tensor)
    c.attr["value"].t.desc.weight_size = len(WEIGHTS)
    add = graph.op.add(
        name="add", type="Add", id=2, input=["x:0", "c:0"], input_desc=[tensor, tensor], output_desc=[tensor]
    )
    encode_map(add.attr, {"note": "sum", "axes": [1, -1], "scale": 0.5})
    graph.op.add(name="net_output", type="NetOutput", id=3, input=["add:0"], input_desc=[tensor])
    return serialize(model)


def inout() -> bytes:
    x = TensorInfo("x", 16, FLOAT32_MEMORY, (4,))
    return InOutInfo((x,), (TensorInfo("output_0_add_0", 16, FLOAT32_MEMORY, (4,)),)).pack()


@pytest.fixture
def partitions() -> dict[PartitionType, bytes]:
    return {
        PartitionType.MODEL_INOUT_INFO: inout(),
        PartitionType.MODEL_DEF: model_def(),
        PartitionType.WEIGHTS_DATA: WEIGHTS,
        PartitionType.TBE_KERNELS: b"kernels",
        PartitionType.TASK_INFO: serialize(message_class("ModelTaskDef")(version="1", weight_size=len(WEIGHTS))),
    }


@pytest.fixture
def pack() -> Callable[[Mapping[PartitionType, Any]], bytes]:
    """Writes partitions to bytes."""

    def write(partitions: Mapping[PartitionType, Any]) -> bytes:
        file = BytesIO()
        write_container(file, partitions)
        return file.getvalue()

    return write


@pytest.fixture
def netron(tmp_path: Path) -> Callable[[Path], Any]:
    """Opens a file with Netron's own reader."""
    found = find_spec("netron")
    if found is None or found.origin is None:
        pytest.skip("netron is not installed: pip install netron")
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    folder = tmp_path / "netron"
    folder.mkdir()
    (folder / "package.json").write_text('{"type": "module"}')
    for name in ("om.js", "om-proto.js", "om-metadata.json", "protobuf.js", "text.js", "base.js"):
        shutil.copy(Path(found.origin).parent / name, folder)
    driver = Path(__file__).with_name("netron_driver.mjs")

    def read(path: Path) -> Any:
        done = subprocess.run(
            [node, os.fspath(driver), os.fspath(folder), os.fspath(path)],
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return read
