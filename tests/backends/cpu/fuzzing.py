"""Calls native code with random bits for every operand that indexes, counts, or becomes a size; run as a program.

    python -m tests.backends.cpu.fuzzing SEED      prints "<case> <calls with results> <calls that were refused>"

A call ends in the interpreter's results or in an error of ge. The memory that calls may ask for is limited, so that
sizes of any value come to nothing quickly.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ge_core.errors import GeError
from ge_core.ir import Builder, DType, Graph
from ge_core.plan.states import StateStore
from ge_core.reference.interpret import interpret

Make = Callable[..., Any]
BITS = (0, 1, 2, 3, 5, 16, 31, 62, 64)
"""Random integers have up to so many bits; with 64 everything is random, floats too; 0 are values that models mean."""
ROUNDS = 3
_ROOM = 768 << 20
_X, _V = ("float32", (4, 5)), ("int64", (2,))

CASES: dict[str, tuple[Make, tuple[tuple[str, tuple[int, ...]], ...], tuple[int, ...]]] = {
    "Gather": (lambda b, x, i: b.Gather(x, i, axis=1), (_X, ("int64", (3,))), (1,)),
    "Gather of int32": (lambda b, x, i: b.Gather(x, i), (_X, ("int32", (2, 3))), (1,)),
    "GatherElements": (lambda b, x, i: b.GatherElements(x, i, axis=1), (_X, ("int64", (4, 3))), (1,)),
    "GatherND": (lambda b, x, i: b.GatherND(x, i), (_X, ("int64", (3, 2))), (1,)),
    "ScatterElements": (
        lambda b, x, i, u: b.ScatterElements(x, i, u, axis=1), (_X, ("int64", (4, 3)), ("float32", (4, 3))), (1,)),
    "ScatterElements, sums": (
        lambda b, x, i, u: b.ScatterElements(x, i, u, reduction="add"),
        (_X, ("int64", (4, 3)), ("float32", (4, 3))), (1,)),
    "ScatterND": (lambda b, x, i, u: b.ScatterND(x, i, u), (_X, ("int64", (3, 1)), ("float32", (3, 5))), (1,)),
    "ScatterReduce": (
        lambda b, x, i, u: b.ge.ScatterReduce(x, i, u, axis=0, reduction="max", include_self=1),
        (_X, ("int64", (4, 3)), ("float32", (4, 3))), (1,)),
    "TensorScatter": (
        lambda b, c, u, s: b.TensorScatter(c, u, s),
        (("float32", (2, 6, 3)), ("float32", (2, 2, 3)), _V), (2,)),
    "OneHot": (
        lambda b, i, d: b.OneHot(i, d, b.constant(np.array([0, 1], np.float32))),
        (("int64", (3,)), ("int64", ())), (0, 1)),
    "TopK": (lambda b, x, k: b.TopK(x, k, axis=1), (_X, ("int64", (1,))), (1,)),
    "Slice": (
        lambda b, x, s, e, t: b.Slice(x, s, e, b.ints(0, 1), t), (_X, _V, _V, _V), (1, 2, 3)),
    "Tile": (lambda b, x, r: b.Tile(x, r), (_X, _V), (1,)),
    "Expand": (lambda b, x, s: b.Expand(x, s), (("float32", (4, 1)), _V), (1,)),
    "Reshape": (lambda b, x, s: b.Reshape(x, s), (_X, _V), (1,)),
    "ConstantOfShape": (lambda b, s: b.ConstantOfShape(s), (_V,), (0,)),
    "Pad": (lambda b, x, p: b.Pad(x, p), (_X, ("int64", (4,))), (1,)),
    "Pad, reflected": (lambda b, x, p: b.Pad(x, p, mode="reflect"), (_X, ("int64", (4,))), (1,)),
    "Pad of axes": (lambda b, x, p, a: b.Pad(x, p, None, a), (_X, ("int64", (2,)), ("int64", (1,))), (1, 2)),
    "ReduceSum": (lambda b, x, a: b.ReduceSum(x, a, keepdims=0), (_X, ("int64", (1,))), (1,)),
    "Unsqueeze": (lambda b, x, a: b.Unsqueeze(x, a), (_X, _V), (1,)),
    "CumProd": (lambda b, x, a: b.CumProd(x, a), (_X, ("int64", ())), (1,)),
    "Resize": (lambda b, x, s: b.Resize(x, None, s, mode="linear"), (_X, ("float32", (2,))), (1,)),
    "Resize, antialiased": (
        lambda b, x, s: b.Resize(x, None, None, s, mode="cubic", antialias=1), (_X, _V), (1,)),
    "Range": (lambda b, s, e, d: b.Range(s, e, d), (("int64", ()),) * 3, (0, 1, 2)),
    "Resize to sizes": (
        lambda b, x, s: b.Resize(x, None, None, s, mode="linear"), (("float32", (1, 1, 4, 5)), ("int64", (4,))), (1,)),
    "Resize by scales": (
        lambda b, x, s: b.Resize(x, None, s, mode="nearest"), (("float32", (1, 1, 4, 5)), ("float32", (4,))), (1,)),
    "Split": (lambda b, x, s: b.Split(x, s, axis=1, num_outputs=2), (("float32", (4, 2)), _V), (1,)),
    "CumSum": (lambda b, x, a: b.CumSum(x, a), (_X, ("int64", ())), (1,)),
    "Trilu": (lambda b, x, k: b.Trilu(x, k), (_X, ("int64", ())), (1,)),
    "Unique": (lambda b, x: b.Unique(x, sorted=1, num_outputs=4), (("float32", (9,)),), (0,)),
    "NonZero": (lambda b, x: b.NonZero(x), (_X,), (0,)),
    "ReverseSequence": (lambda b, x, n: b.ReverseSequence(x, n), (_X, ("int64", (5,))), (1,)),
    "SegmentReduce": (
        lambda b, x, i, n: b.ge.SegmentReduce(x, i, n, reduction="sum"),
        (("float32", (9, 3)), ("int64", (9,)), ("int64", ())), (1, 2)),
    "BinCount": (lambda b, i, n: b.ge.BinCount(i, None, n), (("int64", (9,)), ("int64", ())), (0, 1)),
    "SearchSorted": (lambda b, r, v: b.ge.SearchSorted(r, v), (("float32", (9,)), ("float32", (5,))), (0, 1)),
    "MaxUnpool": (
        lambda b, x, i: b.MaxUnpool(x, i, kernel_shape=[2, 2], strides=[2, 2]),
        (("float32", (1, 2, 2, 2)), ("int64", (1, 2, 2, 2))), (1,)),
    "GridSample": (
        lambda b, x, g: b.GridSample(x, g, mode="cubic", padding_mode="reflection"),
        (("float32", (1, 2, 4, 5)), ("float32", (1, 3, 3, 2))), (1,)),
    "RoiAlign": (
        lambda b, x, r, i: b.RoiAlign(x, r, i, output_height=2, output_width=2, sampling_ratio=2),
        (("float32", (3, 1, 5, 6)), ("float32", (3, 4)), ("int64", (3,))), (1, 2)),
    "NonMaxSuppression": (
        lambda b, x, s, n, t: b.NonMaxSuppression(x, s, n, t),
        (("float32", (1, 9, 4)), ("float32", (1, 2, 9)), ("int64", (1,)), ("float32", (1,))), (0, 1, 2, 3)),
    "Div": (lambda b, x, y: b.Div(x, y), (("int64", (9,)),) * 2, (0, 1)),
    "Mod": (lambda b, x, y: b.Mod(x, y), (("int32", (9,)),) * 2, (0, 1)),
    "BitShift": (lambda b, x, y: b.BitShift(x, y, direction="LEFT"), (("uint32", (9,)),) * 2, (0, 1)),
    "Cast": (lambda b, x: b.Cast(x, to=DType.of("int32")), (("float32", (9,)),), (0,)),
}  # fmt: skip
"""Operator -> how it is made, its inputs, and those that get random bits."""


def random_bits(rng: np.random.Generator, dtype: str, shape: Sequence[int], bits: int) -> np.ndarray:
    """Any value of a type: integers of so many bits, floats of that size or, with 64, of any bit pattern."""
    kind = np.dtype(dtype)
    if bits == 64:
        size = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
        return np.frombuffer(rng.bytes(size), kind).reshape(shape).copy()
    if bits == 0 and kind.kind != "f":
        return np.asarray(rng.integers(1, 3, shape) if shape else 3, kind)
    if kind.kind == "f":
        return (rng.standard_normal(shape) * 2.0 ** min(bits, 31)).astype(kind)
    least = 0 if kind.kind == "u" else -(1 << min(bits, 8 * kind.itemsize - 1))
    return np.asarray(rng.integers(least, 1 << min(bits, 8 * kind.itemsize - 1), shape, dtype=kind))


def fuzz(name: str, seed: int) -> tuple[int, int]:
    """Numbers of calls that returned, and that were refused."""
    from tests.backends.cpu.native import executable, plan_of

    make, inputs, random = CASES[name]
    rng = np.random.default_rng([seed, *name.encode()])
    graph = Graph()
    b = Builder(graph)
    made = make(b, *(b.input(f"x{i}", dtype, shape) for i, (dtype, shape) in enumerate(inputs)))
    b.outputs(*(made if isinstance(made, (tuple, list)) else (made,)))
    run = executable(plan_of(graph))
    done = refused = 0
    for bits in BITS * ROUNDS:
        arrays = [random_bits(rng, dtype, shape, bits if i in random else 3) for i, (dtype, shape) in enumerate(inputs)]
        try:
            found = run.run(arrays, StateStore(graph.states))
        except (GeError, MemoryError):
            refused += 1
            continue
        done += 1
        with np.errstate(all="ignore"):
            try:
                wanted, _ = interpret(graph, arrays)
            except MemoryError:
                continue
        for got, want in zip(found, wanted, strict=True):
            assert got.shape == want.shape, (name, bits, got.shape, want.shape)
            if bits <= 5:
                assert np.allclose(got, want, 1e-4, 1e-4, equal_nan=True), (name, arrays)
    return done, refused


def main(seed: int) -> None:
    """Fuzz every case; the process dies where native code reads or writes what is not there."""
    from ge_backend_cpu.isa import llvm_binding

    llvm_binding()
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + _ROOM
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    for name in CASES:
        print(name, end=" ", flush=True)
        print(*fuzz(name, seed), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]))
