"""How long passes, planning and saving take as graphs grow; `make bench` runs it.

    python bench/scale.py [nodes ...]          (default 1000 10000 20000 100000)

Prints one row a size: seconds of each stage and the ratio to the time of half as many nodes, where linear is 2. The
default sizes are also written to bench/results/scale.json, from which the README's table is made.
The graph is a chain with branches: blocks of MatMul, Add, activation, a residual and a parallel branch that joins by
Concat and Slice, with shape arithmetic in every eighth block.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ge_core.backend import planned
from ge_core.ir import Builder, Graph, Value, symbol
from ge_core.om.graph_codec import write_model
from ge_core.passes.pipeline import optimise
from ge_core.plan.build import PlanRequest, build_plan
from ge_core.reference.backend import ReferenceBackend

WIDTH = 16
DEFAULT_SIZES = (1000, 10_000, 20_000, 100_000)
LIMIT_SECONDS = {10_000: 10.0, 100_000: 60.0}
LIMIT_RATIO = 2.3
STAGES = ("passes", "plan", "save", "total")
RESULTS = Path(__file__).resolve().parent / "results" / "scale.json"


def block(b: Builder, x: Value, index: int, rng: np.random.Generator) -> Value:
    """About ten nodes: two branches, a residual, and now and then sizes computed from a shape."""
    weight = b.constant(rng.standard_normal((WIDTH, WIDTH), np.float32) / WIDTH)
    left = b.Relu(b.Add(b.MatMul(x, weight), float(index % 7)))
    right = b.Sigmoid(b.Mul(x, 0.5))
    both = b.Concat([left, right], axis=1)
    half = b.Slice(both, b.ints(0), b.ints(WIDTH), b.ints(1))
    y = b.Add(b.Mul(half, right), x)
    if index % 8 == 0:
        y = b.Reshape(b.Reshape(y, b.ints(-1)), b.Concat([b.Shape(x, start=0, end=1), b.ints(WIDTH)], axis=0))
    return y


def chain(nodes: int) -> Graph:
    """A graph of at least `nodes` nodes."""
    graph = Graph(f"chain{nodes}")
    b = Builder(graph)
    rng = np.random.default_rng(0)
    x = b.input("x", "float32", (symbol("batch", 1), WIDTH))
    index = 0
    while len(graph.nodes) < nodes:
        x = block(b, x, index, rng)
        index += 1
    b.outputs(x)
    return graph


@contextmanager
def timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    start = time.process_time()
    yield
    seconds[stage] = round(time.process_time() - start, 3)


def measure(nodes: int) -> dict[str, float]:
    """Processor seconds of each stage for a graph of `nodes` nodes."""
    seconds: dict[str, float] = {}
    graph = chain(nodes)
    with timed(seconds, "passes"):
        optimise(graph)
    with timed(seconds, "plan"):
        backend = planned(ReferenceBackend())
        build_plan(graph, PlanRequest(backend, "reference", example={"batch": 4}))
    with timed(seconds, "save"), tempfile.TemporaryDirectory() as folder:
        write_model(Path(folder, "net.om"), {"main": graph}, {})
    seconds["total"] = round(sum(seconds.values()), 3)
    return seconds


def table(results: dict[str, dict[str, float]]) -> str:
    """The results in Markdown: seconds of processor time, and microseconds a node."""
    lines = ["| nodes | passes s | plan s | save s | total s | µs a node |", "|---|---|---|---|---|---|"]
    for nodes, s in results.items():
        row = " | ".join(f"{s[stage]:.2f}" for stage in STAGES)
        lines.append(f"| {int(nodes):,} | {row} | {1e6 * s['total'] / int(nodes):.0f} |")
    return "\n".join(lines)


def main(sizes: tuple[int, ...]) -> int:
    print(f"{'nodes':>8} {'passes':>8} {'plan':>8} {'save':>8} {'total':>8}  ratio")
    found: dict[int, dict[str, float]] = {}
    good = True
    for nodes in sizes:
        s = found[nodes] = measure(nodes)
        ratio = s["total"] / found[nodes // 2]["total"] if nodes // 2 in found else None
        shown = "" if ratio is None else f"{ratio:6.2f}"
        row = " ".join(f"{s[stage]:>8.2f}" for stage in STAGES)
        print(f"{nodes:>8} {row} {shown}", flush=True)
        good &= s["total"] < LIMIT_SECONDS.get(nodes, s["total"] + 1)
        if ratio is not None and nodes >= 20_000:
            good &= ratio <= LIMIT_RATIO
    limits = ", ".join(f"{nodes:,} nodes under {seconds:g} s" for nodes, seconds in LIMIT_SECONDS.items())
    claim = f"{limits}, 20,000 at most {LIMIT_RATIO:g} times 10,000"
    print(f"{claim}: {'yes' if good else 'NO'}")
    if sizes == DEFAULT_SIZES:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(tuple(map(int, sys.argv[1:])) or DEFAULT_SIZES))
