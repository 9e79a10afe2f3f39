"""Times kernels of the CPU backend against PyTorch and the machine's peak, one thread each, interleaved in one run.

    python bench/kernels.py [words that names must contain]

Prints the best time of ours and how many times longer PyTorch takes; for products and attention the share of the
multiply-adds that the machine reaches in registers, for other kernels the bytes that operands and results have per
second beside those of a plain copy of the result. Times are those of the thread, so that other work on the machine
does not count as long as it leaves caches and clock alone. The clock moves, within tens of milliseconds: the peak is
the best of the whole run, measured right before and right after every call of ours, so that one of the two mostly has
the clock of that call. All cases are timed in several passes, so that a busy time of the machine spoils a pass of
some and not a case; ours, PyTorch and the peak are treated alike. Needs torch. A run without words is kept in
bench/results/kernels.json.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
import torch.nn.functional as F

import ge_core
from ge_backend_cpu.compile import compiled
from ge_backend_cpu.image import Mapped
from ge_backend_cpu.isa import host
from ge_backend_cpu.loops.lower import lower
from ge_backend_cpu.loops.part import Part
from ge_backend_cpu.probe import works
from ge_core.backend import Group
from ge_core.ir import Builder, Graph, dims

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "kernels.json"
SECONDS = 0.15
"""For each function of a case and pass."""
PASSES = 4
PEAKS = 4
"""Calls of the peak's kernel at a time, a fifth of a millisecond each."""
Shapes = Sequence[tuple[int, ...]]
Functions = Sequence[Callable[[], object]]
Row = dict[str, float]
Ready = tuple[Functions, Callable[[Sequence[float]], Row]]
"""What is timed, and the row that the least times give."""
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


Contraction = tuple[str, float, Callable[..., Any], Callable[..., torch.Tensor], Shapes]
"""Name, multiply-adds, the graph, PyTorch's function, shapes; all operands but the first are weights."""


def linear(m: int, k: int, n: int, after: str = "") -> Contraction:
    def make(b: Builder, x: Any, w: Any, c: Any) -> Any:
        y = b.Add(b.MatMul(x, b.Transpose(w)), c)
        return b.op(after, y) if after else y

    peer = (lambda x, w, c: getattr(F, after.lower())(F.linear(x, w, c))) if after else F.linear
    return f"product {m}x{k}x{n} {after.lower()}".strip(), m * k * n, make, peer, [(m, k), (n, k), (n,)]


def attention(heads: int, length: int, depth: int, causal: bool = False) -> Contraction:
    def make(b: Builder, x: Any) -> Any:
        return b.op("Attention", x, x, x, is_causal=int(causal))

    def peer(x: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(x, x, x, is_causal=causal)

    name = f"attention {heads}x{length}x{depth}{' causal' if causal else ''}"
    terms = 2 * heads * depth * length * (length + causal) / (1 + causal)
    return name, terms, make, peer, [(1, heads, length, depth)]


CONTRACTIONS: list[Contraction] = [
    linear(128, 768, 768), linear(128, 768, 3072, "Gelu"), linear(128, 3072, 768), linear(197, 768, 768),
    linear(197, 768, 3072, "Gelu"), linear(197, 3072, 768), linear(128, 2048, 5632), linear(128, 5632, 2048),
    linear(1024, 1024, 1024), linear(3000, 1152, 256), linear(49, 4608, 512), linear(1, 768, 768),
    attention(12, 128, 64), attention(12, 197, 64), attention(32, 128, 64, True), attention(32, 512, 128, True),
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


def loops(case: Case, rng: np.random.Generator) -> Ready:
    """Gives our time, PyTorch's over it, and bytes per second beside those of a copy."""
    _, make, peer, shapes = case
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    run, outputs = prepared(make, arrays)
    tensors = [torch.from_numpy(a) for a in arrays]
    run()
    result = outputs[0]
    np.testing.assert_allclose(result, peer(*tensors).numpy().astype(result.dtype), rtol=1e-4, atol=1e-5)
    copy = np.empty_like(result)
    moved = sum(a.nbytes for a in (*arrays, *outputs))

    def row(times: Sequence[float]) -> Row:
        ours, theirs, copied = times
        return {"seconds": ours, "torch": theirs / ours, "bytes": moved / ours, "copy": 2 * copy.nbytes / copied}

    return [run, partial(peer, *tensors), partial(np.copyto, copy, result)], row


def contraction(case: Contraction, rng: np.random.Generator) -> Ready:
    """Gives our time, PyTorch's over it, operations per second, and the machine's at most in the meantime."""
    _, terms, make, peer, shapes = case
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    graph = Graph()
    b = Builder(graph)
    x = b.input("x", "float32", shapes[0])
    b.outputs(make(b, x, *(b.constant(a) for a in arrays[1:])))
    model = ge_core.compile(graph, target="cpu", options={"num_threads": 1})
    tensors = [torch.from_numpy(a) for a in arrays]
    want = peer(*tensors).numpy()
    np.testing.assert_allclose(model(arrays[0]), want, rtol=1e-4, atol=1e-5 * float(np.abs(want).max()))
    peak, operations = works(host())[0]

    def peaks() -> None:
        for _ in range(PEAKS):
            peak()

    def row(times: Sequence[float]) -> Row:
        before, ours, after, theirs = times
        at_best = min(before, after) / PEAKS
        return {"seconds": ours, "torch": theirs / ours, "flops": 2 * terms / ours, "peak": operations / at_best}

    return [peaks, partial(model, arrays[0]), peaks, partial(peer, *tensors)], row


def line(name: str, row: Row) -> str:
    if "share" in row:
        rates = f"{row['flops'] / 1e9:6.1f} GFLOP/s ({100 * row['share']:3.0f} % of the peak)"
    else:
        rates = f"{row['bytes'] / 1e9:6.1f} GB/s (copy {row['copy'] / 1e9:5.1f})"
    return f"{name:38s} {row['seconds'] * 1e6:9.1f} us   torch x{row['torch']:5.2f}   {rates}"


def main() -> None:
    from bench.turns import best

    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    rng = np.random.default_rng(0)
    words = sys.argv[1:]
    ready = {
        name: make()
        for name, make in [
            *((case[0], partial(contraction, case, rng)) for case in CONTRACTIONS),
            *((case[0], partial(loops, case, rng)) for case in CASES),
        ]
        if all(word in name for word in words)
    }
    times: dict[str, list[float]] = {}
    for _ in range(PASSES):
        for name, (functions, _) in ready.items():
            new = best(functions, SECONDS, time.thread_time)
            times[name] = [min(pair) for pair in zip(times.get(name, new), new, strict=True)]
    found = {name: row(times[name]) for name, (_, row) in ready.items()}
    peak = max((row.pop("peak") for row in found.values() if "peak" in row), default=0.0)
    for name, row in found.items():
        if "flops" in row:
            row["share"] = row["flops"] / peak
        print(line(name, row), flush=True)
    if not words:
        versions = {"torch": torch.__version__, "numpy": np.__version__, "isa": str(host())}
        RESULTS.write_text(json.dumps({"kernels": found, "peak": peak, "versions": versions}, indent=1) + "\n")


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT)]
    main()
