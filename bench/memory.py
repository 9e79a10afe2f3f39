"""What the memory planner and the order of operators achieve, and in what time; `python bench/memory.py [--exact]`.

Four tables, all from data that the tests ship (tests/core/memory/data, its README says where it comes from):

- real models: arena against the lower bound and against no reuse;
- MiniMalloc's hard benchmarks: the default planner's gap, and with `--exact` the published capacity by the exact tier;
- irregular networks: the peak of the order given and of the one found;
- generated problems of 10 to 100,000 buffers, as at run time ("fast") and at compile time.

Seconds are processor time of one core.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from ge_core.memory import CompoundBuffer, place, read_table, validate
from ge_core.plan.order import OrderGraph, OrderValue, order, peak

DATA = Path(__file__).resolve().parents[1] / "tests" / "core" / "memory" / "data"
MIB = 1 << 20
Result = TypeVar("Result")


def timed(run: Callable[[], Result]) -> tuple[Result, float]:
    """The result of `run` and the processor seconds it took."""
    start = time.process_time()
    result = run()
    return result, time.process_time() - start


def tables(archive: str) -> dict[str, list[CompoundBuffer]]:
    """The tables of lives in an archive, summaries left out."""
    with zipfile.ZipFile(DATA / f"{archive}.zip") as pack:
        return {
            name.removesuffix(".csv"): read_table(io.StringIO(pack.read(name).decode()))
            for name in sorted(pack.namelist())
            if name.endswith(".csv") and name not in ("summary.csv", "gap.csv")
        }


def models() -> None:
    print("| model | buffers | no reuse MiB | bound MiB | arena MiB | gap % | saved % | planner | ms |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, buffers in tables("lifetimes").items():
        plan, seconds = timed(lambda b=buffers: place(b))  # type: ignore[misc]
        assert not validate(buffers, plan)
        print(
            f"| {name} | {len(buffers)} | {plan.no_reuse / MIB:.1f} | {plan.lower_bound / MIB:.2f} "
            f"| {plan.size / MIB:.2f} | {100 * (plan.ratio - 1):.2f} | {100 * (1 - plan.size / plan.no_reuse):.1f} "
            f"| {plan.planner} | {1000 * seconds:.1f} |"
        )


def hard(exact: bool) -> None:
    print("| instance | buffers | bound | arena | gap % | s | capacity | exact arena | exact s |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, buffers in tables("minimalloc").items():
        plan, seconds = timed(lambda b=buffers: place(b))  # type: ignore[misc]
        assert not validate(buffers, plan)
        capacity = int(name.rpartition(".")[2])
        row = f"| {name.partition('.')[0]} | {len(buffers)} | {plan.lower_bound} | {plan.size} "
        row += f"| {100 * (plan.ratio - 1):.1f} | {seconds:.2f} | {capacity} "
        if exact:
            best, seconds = timed(lambda b=buffers, c=capacity: place(b, effort="exact", capacity=c))  # type: ignore[misc]
            assert not validate(buffers, best)
            row += f"| {best.size} | {seconds:.2f} |"
        else:
            row += "| | |"
        print(row, flush=True)


def orders() -> None:
    print("| network | operators | order given MiB | order found MiB | saved % | s |")
    print("|---|---|---|---|---|---|")
    with zipfile.ZipFile(DATA / "orders.zip") as pack:
        for name in sorted(pack.namelist()):
            stored = json.loads(pack.read(name))
            values = tuple(OrderValue(size, made, tuple(readers), out) for size, made, readers, out in stored["values"])
            graph = OrderGraph(stored["ops"], values, tuple((a, b) for a, b in stored["in_place"]))
            found, seconds = timed(lambda g=graph: order(g))  # type: ignore[misc]
            before, after = peak(graph, range(graph.ops)), peak(graph, found)
            print(
                f"| {name.removesuffix('.json')} | {graph.ops} | {before / MIB:.2f} | {after / MIB:.2f} "
                f"| {100 * (1 - after / before):.1f} | {seconds:.2f} |"
            )


def generated() -> None:
    print("| buffers | neighbours each | fast: gap % | ms | default: gap % | ms |")
    print("|---|---|---|---|---|---|")
    for count in (10, 100, 1000, 10_000, 100_000):
        draw = random.Random(0)
        buffers = [
            CompoundBuffer.simple(f"b{i}", draw.randint(1, MIB), i, i + 1 + int(draw.expovariate(0.2)))
            for i in range(count)
        ]
        row = f"| {count} | 9 "
        for effort in ("fast", "default"):
            plan, seconds = timed(lambda b=buffers, e=effort: place(b, effort=e))  # type: ignore[misc]
            assert not validate(buffers, plan)
            row += f"| {100 * (plan.ratio - 1):.2f} | {1000 * seconds:.1f} "
        print(row + "|", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Arena sizes and planning times.")
    parser.add_argument("--exact", action="store_true", help="run the exact tier too (better with numba installed)")
    exact = parser.parse_args().exact
    parts: list[tuple[str, Callable[[], None]]] = [
        ("Real models", models),
        ("MiniMalloc's hard benchmarks", lambda: hard(exact)),
        ("Order of operators", orders),
        ("Generated problems", generated),
    ]
    for title, part in parts:
        print(f"\n## {title}\n")
        part()


if __name__ == "__main__":
    main()
