"""A Paddle layer becomes an offline model, which a process without Paddle loads and runs.

A small image classifier is traced with a dynamic batch, height and width, saved as classifier.om, and run in a fresh
process that refuses to import paddle. The same classifier, saved by Paddle itself, is imported from its files there.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import paddle
from paddle import nn
from paddle.static import InputSpec

import ge_core

LIMIT = 1e-4

RUNNER = """
import sys
import time

sys.modules["paddle"] = None  # any import of it fails

import numpy as np

import ge_core

image = np.load("input.npy")
start = time.perf_counter()
net = ge_core.load("classifier.om")
loaded = time.perf_counter()
np.save("from_om.npy", net(image))
print(f"fresh process without paddle: loaded in {loaded - start:.2f} s, ran in {time.perf_counter() - loaded:.2f} s")
start = time.perf_counter()
again = ge_core.compile("saved.json", framework="paddle")
print(f"compiled from Paddle's files in {time.perf_counter() - start:.2f} s")
np.save("from_files.npy", again(image))
"""


class Classifier(nn.Layer):
    """Convolutions, a pool over the whole image, a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2D(3, 16, 3, stride=2, padding=1), nn.BatchNorm2D(16), nn.Hardswish(),
            nn.Conv2D(16, 32, 3, stride=2, padding=1), nn.BatchNorm2D(32), nn.Hardswish(),
            nn.AdaptiveAvgPool2D(1), nn.Flatten(),
        )  # fmt: skip
        self.head = nn.Linear(32, 10)

    def forward(self, image: paddle.Tensor) -> paddle.Tensor:
        return nn.functional.softmax(self.head(self.body(image)))


def main() -> int:
    paddle.seed(0)
    model = Classifier()
    model.eval()
    spec = InputSpec([None, 3, None, None], "float32", "image")
    image = np.random.default_rng(0).standard_normal((2, 3, 96, 64)).astype(np.float32)
    expected = model(paddle.to_tensor(image)).numpy()

    start = time.perf_counter()
    compiled = ge_core.compile(model, [spec], framework="paddle")
    print(f"traced and compiled in {time.perf_counter() - start:.2f} s")
    print(compiled.report.summary())

    with tempfile.TemporaryDirectory() as folder:
        compiled.save(Path(folder, "classifier.om"))
        paddle.jit.save(paddle.jit.to_static(model, input_spec=[spec], full_graph=True), str(Path(folder, "saved")))
        np.save(Path(folder, "input.npy"), image)
        subprocess.run([sys.executable, "-c", RUNNER], cwd=folder, check=True)
        results = [np.load(Path(folder, name)) for name in ("from_om.npy", "from_files.npy")]

    difference = max(float(np.abs(result - expected).max()) for result in results)
    print(f"largest difference from Paddle: {difference:.2e} (limit {LIMIT})")
    return 0 if difference < LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
