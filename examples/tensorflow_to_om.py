"""A Keras model becomes an offline model, which a process without TensorFlow loads and runs.

MobileNetV2 is compiled as it is, with any number of images in a batch, saved as mobilenet.om and run in a fresh
process that refuses to import TensorFlow. A SavedModel folder or a frozen graph is compiled by its path instead, and
TensorFlow is not needed for that either.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import keras
import numpy as np

import ge_core

LIMIT = 1e-4

RUNNER = """
import sys
import time

sys.modules["tensorflow"] = sys.modules["keras"] = None  # any import of them fails

import numpy as np

import ge_core

start = time.perf_counter()
net = ge_core.load("mobilenet.om")
loaded = time.perf_counter()
np.save("output.npy", net(np.load("input.npy")))
print(f"fresh process without TensorFlow: loaded in {loaded - start:.2f} s,", end=" ")
print(f"ran in {time.perf_counter() - loaded:.2f} s")
"""


def main() -> int:
    keras.utils.set_random_seed(0)
    model = keras.applications.MobileNetV2(weights=None, classifier_activation=None)
    images = np.random.default_rng(0).random((2, 224, 224, 3), np.float32)
    expected = model(images, training=False).numpy()

    start = time.perf_counter()
    compiled = ge_core.compile(model)
    print(f"traced and compiled in {time.perf_counter() - start:.2f} s; takes {compiled.graph.inputs[0].type}")
    print(compiled.report.summary())

    with tempfile.TemporaryDirectory() as folder:
        compiled.save(Path(folder, "mobilenet.om"))
        print(f"mobilenet.om: {Path(folder, 'mobilenet.om').stat().st_size / 2**20:.1f} MiB")
        np.save(Path(folder, "input.npy"), images)
        subprocess.run([sys.executable, "-c", RUNNER], cwd=folder, check=True)
        output = np.load(Path(folder, "output.npy"))

    difference = float(np.abs(output - expected).max() / np.abs(expected).max())
    print(f"largest difference from TensorFlow: {difference:.2e} of the largest value (limit {LIMIT})")
    return 0 if difference < LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
