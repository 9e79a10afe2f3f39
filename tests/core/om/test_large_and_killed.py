"""Files larger than memory open at once; saves that are killed lose nothing."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO, Any

import numpy as np
import pytest

import ge_core
from ge_core.ir import Builder, DType, Graph, TensorType
from ge_core.ir.constant import Constant
from ge_core.model_description import describe_file
from ge_core.om import PartitionType, open_container, writer

ROWS, WIDTH = 2_621_440, 1024
GIB = 1 << 30


def table() -> Graph:
    """Rows out of a table of 10 GiB."""
    graph = Graph("table")
    b = Builder(graph)
    kind = TensorType(DType.of("float32"), (ROWS, WIDTH))
    weight = b.constant(Constant(kind, lambda: np.broadcast_to(np.float32(1), (ROWS, WIDTH))))
    b.outputs(b.Neg(b.Gather(weight, b.input("rows", "int64", (3,)))))
    return graph


def test_ten_gigabytes_load_and_run_without_being_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = writer._write

    def sparse(file: IO[bytes], kind: PartitionType, stream: Any) -> bytes:
        if kind != PartitionType.WEIGHTS_DATA:
            return write(file, kind, stream)
        file.seek(stream.size - 1, os.SEEK_CUR)
        file.write(b"\0")
        return bytes(32)

    monkeypatch.setattr(writer, "_write", sparse)
    path = tmp_path / "table.om"
    ge_core.compile(table(), target="reference", options={"share_weights": True}).save(path)
    assert path.stat().st_size > 10 * GIB and path.stat().st_blocks * 512 < 1 << 20
    weights = open_container(path).groups[0].partitions[2]
    assert weights.type == PartitionType.WEIGHTS_DATA and len(weights.data) == 10 * GIB
    with path.open("r+b") as file:
        file.seek(weights.offset + 5 * WIDTH * 4)
        file.write(np.arange(WIDTH, dtype=np.float32).tobytes())
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.process_time()
    model = ge_core.load(path)
    describe_file(path)
    assert time.process_time() - started < 1
    found = model(np.array([0, 5, ROWS - 1]))
    assert np.array_equal(found[1], -np.arange(WIDTH, dtype=np.float32)) and not found[[0, 2]].any()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10  # KiB


FULL = """
import resource, sys
import numpy as np
import ge_core
from ge_core.ir import Builder, Graph

graph = Graph("net")
b = Builder(graph)
b.outputs(b.MatMul(b.input("x", "float32", (1, 256)), np.ones((256, 1024), np.float32)))
model = ge_core.compile(graph, target="reference")
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
try:
    model.save(sys.argv[1])
except ge_core.GeError as error:
    print(error)
"""


@pytest.mark.parametrize("room", [0, 100, 4096, 1 << 20])
def test_a_save_that_finds_no_room_loses_nothing(tmp_path: Path, room: int) -> None:
    path = tmp_path / "net.om"
    graph = Graph("net")
    b = Builder(graph)
    b.outputs(b.Neg(b.input("x", "float32", (2,))))
    ge_core.compile(graph, target="reference").save(path)
    old = path.read_bytes()
    done = subprocess.run(
        [sys.executable, "-c", FULL, os.fspath(path), str(room)], capture_output=True, text=True, check=True
    )
    assert "cannot be written: File too large" in done.stdout and "free some space" in done.stdout
    assert path.read_bytes() == old and os.listdir(tmp_path) == [path.name]


SAVER = """
import sys
import numpy as np
import ge_core
from ge_core.ir import Builder, Graph

def model(value):
    graph = Graph("net")
    b = Builder(graph)
    weight = np.full((256, 1024), value, np.float32)
    b.outputs(b.MatMul(b.input("x", "float32", (1, 256)), weight))
    return ge_core.compile(graph, target="reference")

models = [model(value) for value in range(1, 5)]
models[0].save(sys.argv[1])
print("ready", flush=True)
while True:
    for each in models:
        each.save(sys.argv[1])
"""


def test_a_killed_save_loses_nothing(tmp_path: Path) -> None:
    """Kill -9 at random moments: the file is one of those that were saved, whole, and alone in its folder."""
    path = tmp_path / "net.om"
    draw = random.Random(4)
    for _ in range(5):
        saver = subprocess.Popen([sys.executable, "-c", SAVER, os.fspath(path)], stdout=subprocess.PIPE)
        assert saver.stdout is not None
        try:
            assert saver.stdout.readline() == b"ready\n"
            time.sleep(draw.uniform(0, 0.4))
        finally:
            saver.send_signal(signal.SIGKILL)
            saver.wait()
            saver.stdout.close()
        describe_file(path, verify_weights=True)
        found = ge_core.load(path)(np.ones((1, 256), np.float32))
        assert len(np.unique(found)) == 1 and found[0, 0] in (256, 512, 768, 1024)
    assert set(os.listdir(tmp_path)) <= {path.name, f".{path.name}.saving"}  # killed between its two names
    ge_core.load(path).save(path)
    assert os.listdir(tmp_path) == [path.name]
