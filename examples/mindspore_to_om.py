"""A MindSpore cell becomes an offline model, which a process without MindSpore loads and runs.

LayerNorm(1024) → ReLU → Dense(1024, 1024) is compiled for any batch size, saved as simplenet.om and run in a fresh
process that refuses to import mindspore. Its .mindir file is read without MindSpore in the same way:
`ge_core.compile("simplenet.mindir")`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import mindspore
import numpy as np
from mindspore import Tensor, nn, ops

import ge_core

LIMIT = 1e-3

RUNNER = """
import sys
import time

sys.modules["mindspore"] = None  # any import of it fails

import numpy as np

import ge_core

start = time.perf_counter()
net = ge_core.load("simplenet.om")
loaded = time.perf_counter()
np.save("output.npy", net(np.load("input.npy")))
print(f"fresh process without mindspore: loaded in {loaded - start:.2f} s, ran in {time.perf_counter() - loaded:.2f} s")
read = ge_core.compile("simplenet.mindir")
np.save("read.npy", read(np.load("input.npy")))
"""


class SimpleNet(nn.Cell):
    """The network of the demonstration."""

    def __init__(self, width: int = 1024) -> None:
        super().__init__()
        self.norm = nn.LayerNorm((width,))
        self.dense = nn.Dense(width, width)

    def construct(self, x: Tensor) -> Tensor:
        return self.dense(ops.relu(self.norm(x)))


def main() -> int:
    mindspore.set_context(mode=mindspore.GRAPH_MODE, device_target="CPU")
    mindspore.set_seed(0)
    model = SimpleNet()
    model.set_train(False)
    example = np.random.default_rng(0).standard_normal((64, 1024)).astype(np.float32)
    expected = model(Tensor(example)).asnumpy()
    any_batch = Tensor(shape=[None, 1024], dtype=mindspore.float32)

    start = time.perf_counter()
    compiled = ge_core.compile(model, [any_batch])
    print(f"exported and compiled in {time.perf_counter() - start:.2f} s")
    print(compiled.report.summary())

    with tempfile.TemporaryDirectory() as folder:
        compiled.save(Path(folder, "simplenet.om"))
        print(f"simplenet.om: {Path(folder, 'simplenet.om').stat().st_size / 2**20:.1f} MiB")
        mindspore.export(model, any_batch, file_name=str(Path(folder, "simplenet")), file_format="MINDIR")
        np.save(Path(folder, "input.npy"), example)
        subprocess.run([sys.executable, "-c", RUNNER], cwd=folder, check=True)
        outputs = [np.load(Path(folder, name)) for name in ("output.npy", "read.npy")]

    difference = max(float(np.abs(output - expected).max()) for output in outputs)
    print(f"largest difference from MindSpore: {difference:.2e} (limit {LIMIT})")
    return 0 if difference < LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
