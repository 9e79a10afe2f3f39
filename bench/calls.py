"""What a call costs beyond its kernels, on the CPU target and one thread.

    python bench/calls.py             measure
    python bench/calls.py --table     the stored results

A call is compared with the same native walk over the same table, without what surrounds it: checks of the arguments,
symbols from shapes, placement, memory for the outputs, tensors of a framework. Both are timed in turn, in batches, and
the medians count. Results go to bench/results/calls.json.

| case | what it is |
|---|---|
| static | a perceptron of three layers, numpy arrays |
| dynamic | the same with a symbolic batch, called with one size again and again |
| two sizes | the same, called with two sizes in turn |
| new sizes | the same, each call with a size that was not seen before: memory is planned anew |
| torch | the first with PyTorch's tensors |
| states | a running sum that a session keeps |
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "calls.json"
BAR = 20.0
"""Microseconds that a call may cost."""
_ROUNDS, _BATCH, _SIZE = 60, 200, 32


def perceptron(batch: Any) -> Any:
    """Three layers of 32 on a batch."""
    from ge_core.ir import Builder, Graph

    rng, graph = np.random.default_rng(0), Graph()
    b = Builder(graph)
    x = b.input("x", "float32", (batch, _SIZE))
    for _ in range(3):
        w = b.constant(rng.standard_normal((_SIZE, _SIZE)).astype(np.float32))
        x = b.Relu(b.Add(b.MatMul(x, w), b.constant(np.ones(_SIZE, np.float32))))
    b.outputs(x)
    return graph


def running_sum() -> Any:
    """A state, and its value after adding the input."""
    from ge_core.ir import Builder, Graph

    graph = Graph()
    b = Builder(graph)
    x = b.input("x", "float32", (1, _SIZE))
    total = b.state("total", np.zeros((1, _SIZE), np.float32))
    new = b.Add(total.read, x)
    graph.set_state_write(total, new)
    b.outputs(b.Mul(new, b.constant(np.float32(0.5))))
    return graph


def compiled(graph: Any) -> Any:
    import ge_core

    return ge_core.compile(graph, target="cpu", options={"num_threads": 1})


def walker(model: Any, x: np.ndarray) -> Callable[[], object]:
    """The native walk of a call with these inputs, and nothing else."""
    from ge_backend_cpu.context import Context

    straight = model.executable.entries["main"].straight
    placement, table = straight.prepare([x])
    context = Context(straight.places)
    context.use(table)
    context.take_arena(placement.memory.size)
    outputs = straight._outputs(placement)
    kept = [x, outputs, straight.bound.fill(context.bases, [x], outputs, model._session.states)]
    run, team = straight.team.runtime.run, straight.team

    def walk() -> object:
        return run(team.address, context.address, True), kept

    return walk


def microseconds(call: Callable[[], object], walk: Callable[[], object]) -> dict[str, float]:
    """Medians of both, timed in turn, and their difference."""
    calls: list[float] = []
    walks: list[float] = []
    for _ in range(_ROUNDS):
        for function, found in ((call, calls), (walk, walks)):
            started = time.perf_counter()
            for _ in range(_BATCH):
                function()
            found.append((time.perf_counter() - started) / _BATCH * 1e6)
    whole, kernels = median(calls), median(walks)
    return {"call": round(whole, 2), "kernels": round(kernels, 2), "overhead": round(whole - kernels, 2)}


def array(rows: int) -> np.ndarray:
    return np.ones((rows, _SIZE), np.float32)


def measured() -> dict[str, dict[str, float]]:
    """All cases by name."""
    import torch

    from ge_core.ir import symbol

    x, y = array(1), array(2)
    static, dynamic = compiled(perceptron(1)), compiled(perceptron(symbol("batch", 1, 1 << 20)))
    state, tensor = compiled(running_sum()), torch.ones(1, _SIZE)
    walk, second = walker(dynamic, x), walker(dynamic, y)
    sizes = iter(range(3, 1 << 20))

    def both(first: Callable[[], object], last: Callable[[], object]) -> Callable[[], object]:
        return lambda: (first(), last())

    found = {
        "static": microseconds(lambda: static(x), walker(static, x)),
        "dynamic": microseconds(lambda: dynamic(x), walk),
        "torch": microseconds(lambda: static(tensor), walker(static, x)),
        "states": microseconds(lambda: state(x), walker(state, x)),
    }
    pair = microseconds(both(lambda: dynamic(x), lambda: dynamic(y)), both(walk, second))
    found["two sizes"] = {name: round(value / 2, 2) for name, value in pair.items()}
    fresh = []
    for rows in (next(sizes) for _ in range(100)):
        x = array(rows)
        started = time.perf_counter()
        dynamic(x)
        whole = time.perf_counter() - started
        walk = walker(dynamic, x)
        started = time.perf_counter()
        walk()
        fresh.append((whole * 1e6, (time.perf_counter() - started) * 1e6))
    whole, kernels = (median(column) for column in zip(*fresh, strict=True))
    found["new sizes"] = {name: round(v, 2) for name, v in
                          (("call", whole), ("kernels", kernels), ("overhead", whole - kernels))}  # fmt: skip
    return found


def table(results: Mapping[str, Mapping[str, float]]) -> str:
    """The results in Markdown."""
    lines = ["| case | call µs | its kernels µs | overhead µs |", "|---|---|---|---|"]
    lines += [f"| {name} | {row['call']} | {row['kernels']} | {row['overhead']} |" for name, row in results.items()]
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    sys.path[:0] = [str(ROOT)]
    if arguments != ["--table"]:
        RESULTS.write_text(json.dumps(measured(), indent=1) + "\n")
    print(table(json.loads(RESULTS.read_text())))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
