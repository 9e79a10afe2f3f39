"""A PyTorch model becomes an offline model, which a process without PyTorch loads and runs.

LayerNorm(4096) → ReLU → Linear(4096, 4096) is traced with a (1024, 4096) example, saved as simplenet.om and run
in a fresh process that refuses to import torch. With torch_npu the example lives on the NPU, else on the CPU.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

import ge_core

LIMIT = 1e-3

RUNNER = """
import sys
import time

sys.modules["torch"] = None  # any import of it fails

import numpy as np

import ge_core

start = time.perf_counter()
net = ge_core.load("simplenet.om")
loaded = time.perf_counter()
np.save("output.npy", net(np.load("input.npy")))
print(f"fresh process without torch: loaded in {loaded - start:.2f} s, ran in {time.perf_counter() - loaded:.2f} s")
"""


class SimpleNet(nn.Module):
    """The network of the demonstration."""

    def __init__(self, width: int = 4096) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.linear = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(torch.relu(self.norm(x)))


def device() -> str:
    """The NPU where torch_npu is installed and finds one, else the CPU."""
    try:
        import torch_npu  # noqa: F401
    except ImportError:
        return "cpu"
    return "npu" if torch.npu.is_available() else "cpu"


def main() -> int:
    torch.manual_seed(0)
    place = device()
    model = SimpleNet().eval().to(place)
    example = torch.randn(1024, 4096, device=place)
    with torch.no_grad():
        expected = model(example).cpu().numpy()

    start = time.perf_counter()
    compiled = ge_core.trace(model, example)
    print(f"traced and compiled in {time.perf_counter() - start:.2f} s on {place}")
    print(compiled.report.summary())

    with tempfile.TemporaryDirectory() as folder:
        compiled.save(Path(folder, "simplenet.om"))
        print(f"simplenet.om: {Path(folder, 'simplenet.om').stat().st_size / 2**20:.1f} MiB")
        np.save(Path(folder, "input.npy"), example.cpu().numpy())
        subprocess.run([sys.executable, "-c", RUNNER], cwd=folder, check=True)
        output = np.load(Path(folder, "output.npy"))

    difference = float(np.abs(output - expected).max())
    print(f"largest difference from PyTorch: {difference:.2e} (limit {LIMIT})")
    return 0 if difference < LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
