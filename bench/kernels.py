"""Times loop kernels of the CPU backend against PyTorch, one thread each, interleaved in one run.

    python bench/kernels.py [words that names must contain]

Prints the best time of ours, how many times longer PyTorch takes, and the bytes that operands and results have per
second beside those of a plain copy of the result; needs torch.
"""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
import torch.nn.functional as F

from ge_backend_cpu.compile import compiled
from ge_backend_cpu.image import Mapped
from ge_backend_cpu.isa import host
from ge_backend_cpu.loops.lower import lower
from ge_backend_cpu.loops.part import Part
from ge_core.backend import Group
from ge_core.ir import Builder, Graph, dims

SECONDS = 0.4
Shapes = Sequence[tuple[int, ...]]
Case = tuple[str, Callable[..., Any], Callable[..., torch.Tensor], Shapes]

CASES: list[Case] = [
    ("gelu(x + b) * s 128x3072", lambda b, x, y, z: b.Mul(b.Gelu(b.Add(x, y)), z), lambda x, y, z: F.gelu(x + y) * z,
     [(128, 3072), (3072,), (128, 1)]),
    ("silu(x) * y 128x5632", lambda b, x, y: b.Mul(b.Mul(x, b.Sigmoid(x)), y), lambda x, y: F.silu(x) * y,
     [(128, 5632), (128, 5632)]),
    ("add relu 64x56x56", lambda b, x, y: b.Relu(b.Add(x, y)), lambda x, y: torch.relu(x + y),
     [(1, 64, 56, 56), (1, 64, 56, 56)]),
    ("softmax 1536x128", lambda b, x: b.Softmax(x), lambda x: F.softmax(x, -1), [(1536, 128)]),
    ("softmax 2364x197", lambda b, x: b.Softmax(x), lambda x: F.softmax(x, -1), [(2364, 197)]),
    ("softmax 256x4096", lambda b, x: b.Softmax(x), lambda x: F.softmax(x, -1), [(256, 4096)]),
    ("softmax of channels 4x21x64x64", lambda b, x: b.Softmax(x, axis=1), lambda x: F.softmax(x, 1), [(4, 21, 64, 64)]),
    ("layer norm 128x768", lambda b, x, s, c: b.LayerNormalization(x, s, c),
     lambda x, s, c: F.layer_norm(x, (768,), s, c), [(128, 768), (768,), (768,)]),
    ("layer norm 2048x768", lambda b, x, s, c: b.LayerNormalization(x, s, c),
     lambda x, s, c: F.layer_norm(x, (768,), s, c), [(2048, 768), (768,), (768,)]),
    ("rms norm 1x4096", lambda b, x, s: b.RMSNormalization(x, s), lambda x, s: F.rms_norm(x, (4096,), s, 1e-5),
     [(1, 4096), (4096,)]),
    ("rms norm 512x4096", lambda b, x, s: b.RMSNormalization(x, s), lambda x, s: F.rms_norm(x, (4096,), s, 1e-5),
     [(512, 4096), (4096,)]),
    ("group norm 2x64x56x56", lambda b, x, s, c: b.GroupNormalization(x, s, c, num_groups=32),
     lambda x, s, c: F.group_norm(x, 32, s, c), [(2, 64, 56, 56), (64,), (64,)]),
    ("to channels last + bias relu 64x3136", lambda b, x, y: b.Relu(b.Add(b.Transpose(x, perm=[0, 2, 1]), y)),
     lambda x, y: torch.relu(x.transpose(1, 2) + y).contiguous(), [(1, 64, 3136), (64,)]),
    ("transpose 1024x1024", lambda b, x: b.Transpose(x), lambda x: x.t().contiguous(), [(1024, 1024)]),
    ("heads 8x128x12x64", lambda b, x: b.Transpose(x, perm=[0, 2, 1, 3]), lambda x: x.transpose(1, 2).contiguous(),
     [(8, 128, 12, 64)]),
    ("mean of middle 32x49x2048", lambda b, x: b.ReduceMean(x, b.ints(1), keepdims=0), lambda x: x.mean(1),
     [(32, 49, 2048)]),
    ("mean of last 32x2048x49", lambda b, x: b.ReduceMean(x, b.ints(2), keepdims=0), lambda x: x.mean(2),
     [(32, 2048, 49)]),
    ("arg max 512x1024", lambda b, x: b.ArgMax(x, axis=1, keepdims=0), lambda x: x.argmax(1), [(512, 1024)]),
    ("pad 8x64x56x56", lambda b, x: b.Pad(x, b.ints(0, 0, 1, 1, 0, 0, 1, 1)), lambda x: F.pad(x, (1, 1, 1, 1)),
     [(8, 64, 56, 56)]),
    *[(f"{op.lower()} 512x1024", lambda b, x, op=op: b.op(op, x), getattr(torch, op.lower()), [(512, 1024)])
      for op in ("Exp", "Tanh", "Erf", "Sin")],
]  # fmt: skip


def prepared(make: Callable[..., Any], arrays: Sequence[np.ndarray]) -> tuple[Callable[[], None], list[np.ndarray]]:
    """A function that runs all launches of a graph on one thread, and its results."""
    graph = Graph()
    b = Builder(graph)
    b.outputs(make(b, *[b.input(f"x{i}", "float32", a.shape) for i, a in enumerate(arrays)]))
    part = Part.of_group(Group(tuple(graph.nodes)))
    given = dict(zip(graph.inputs, arrays, strict=True))
    sources = [given[v] if v in given else v.constant.array() for v in part.sources]  # type: ignore[index,union-attr]
    outputs = [np.zeros(v.shape, v.dtype.numpy) for v in part.outputs]  # type: ignore[arg-type]
    isa, word = host(), ctypes.c_int64
    kind = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, word, word)
    calls = []
    for launch in lower(part).launches:
        code = Mapped(compiled([launch.kernel], isa, workers=0)[launch.kernel.symbol])
        operands = [(sources if o.kind == "in" else outputs)[o.index] for o in launch.operands]
        params = [dims.evaluate(p, {}) for p in launch.params]
        words = np.array([w for k in range(len(operands)) for w in (k, 0)] + params, np.int64)
        bases = np.array([a.ctypes.data for a in operands], np.uint64)
        extent = dims.evaluate(launch.extent, {})
        calls.append((kind(code.address(launch.kernel.symbol)), words, bases, extent, code))

    def run() -> None:
        for function, words, bases, extent, _ in calls:
            function(words.ctypes.data, bases.ctypes.data, 0, extent)

    return run, outputs


def best(functions: Sequence[Callable[[], object]]) -> list[float]:
    """The least time of each, taken in turn."""
    found = [float("inf")] * len(functions)
    for function in functions:
        function()
    end = time.perf_counter() + SECONDS * len(functions)
    while time.perf_counter() < end:
        for k, function in enumerate(functions):
            start = time.perf_counter()
            function()
            found[k] = min(found[k], time.perf_counter() - start)
    return found


def main() -> None:
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    words = sys.argv[1:]
    for name, make, peer, shapes in CASES:
        if not all(word in name for word in words):
            continue
        arrays = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
        run, outputs = prepared(make, arrays)
        tensors = [torch.from_numpy(a) for a in arrays]
        with torch.no_grad():
            run()
            result = outputs[0]
            np.testing.assert_allclose(result, peer(*tensors).numpy().astype(result.dtype), rtol=1e-4, atol=1e-5)
            copy = np.empty_like(result)
            functions = [run, partial(peer, *tensors), partial(np.copyto, copy, result)]
            ours, theirs, copied = best(functions)
        moved = sum(a.nbytes for a in (*arrays, *outputs))
        rates = f"{moved / ours / 1e9:6.1f} GB/s (copy {2 * copy.nbytes / copied / 1e9:5.1f})"
        print(f"{name:38s} {ours * 1e6:9.1f} us   torch x{theirs / ours:5.2f}   {rates}")


if __name__ == "__main__":
    main()
