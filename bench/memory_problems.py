"""What the memory planner and the search for an order achieve on stored and generated problems, and in what time.

Each function measures one part of `bench/memory.py`: rows of plain numbers by name. Bytes are bytes, seconds are
processor time of one core. The problems are those that the tests ship (tests/core/memory/data, its README says where
they come from).
"""

from __future__ import annotations

import io
import json
import random
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ge_core.memory import CompoundBuffer, place, read_table, validate
from ge_core.plan.order import OrderGraph, OrderValue, order, peak

DATA = Path(__file__).resolve().parents[1] / "tests" / "core" / "memory" / "data"
MIB = 1 << 20
Rows = dict[str, dict[str, Any]]
Result = TypeVar("Result")


def timed(run: Callable[[], Result]) -> tuple[Result, float]:
    """The result of `run` and the processor seconds it took."""
    start = time.process_time()
    result = run()
    return result, round(time.process_time() - start, 5)


def tables(archive: str) -> dict[str, list[CompoundBuffer]]:
    """The tables of lives in an archive, summaries left out."""
    with zipfile.ZipFile(DATA / f"{archive}.zip") as pack:
        return {
            name.removesuffix(".csv"): read_table(io.StringIO(pack.read(name).decode()))
            for name in sorted(pack.namelist())
            if name.endswith(".csv") and name not in ("summary.csv", "gap.csv")
        }


def _placed(buffers: list[CompoundBuffer], **options: Any) -> dict[str, Any]:
    plan, seconds = timed(lambda: place(buffers, **options))
    assert not validate(buffers, plan)
    return {
        "buffers": len(buffers),
        "no_reuse": plan.no_reuse,
        "bound": plan.lower_bound,
        "arena": plan.size,
        "planner": plan.planner,
        "seconds": seconds,
    }


def lifetimes() -> Rows:
    """Real models."""
    return {name: _placed(buffers) for name, buffers in tables("lifetimes").items()}


def _hard() -> dict[str, tuple[list[CompoundBuffer], int]]:
    """MiniMalloc's hard problems A to K with their published capacities."""
    found = {}
    for name, buffers in tables("minimalloc").items():
        letter, _, capacity = name.partition(".")
        if letter != "example":
            found[letter] = (buffers, int(capacity))
    return found


def minimalloc() -> Rows:
    """MiniMalloc's hard problems, by the default planner."""
    return {name: _placed(buffers) | {"capacity": capacity} for name, (buffers, capacity) in _hard().items()}


def exact() -> Rows:
    """MiniMalloc's hard problems, by the exact tier, which stops where the published capacity is met.

    The time limit is far beyond the minute that it has by default: on a busy machine a minute is seconds of its own.
    """
    return {
        name: _placed(buffers, effort="exact", capacity=capacity, time_limit=900) | {"capacity": capacity}
        for name, (buffers, capacity) in _hard().items()
    }


def orders() -> Rows:
    """Irregular networks: the peak of the order given and of the one found."""
    rows = {}
    with zipfile.ZipFile(DATA / "orders.zip") as pack:
        for name in sorted(pack.namelist()):
            stored = json.loads(pack.read(name))
            values = tuple(OrderValue(size, made, tuple(readers), out) for size, made, readers, out in stored["values"])
            graph = OrderGraph(stored["ops"], values, tuple((a, b) for a, b in stored["in_place"]))
            found, seconds = timed(lambda g=graph: order(g))  # type: ignore[misc]
            rows[name.removesuffix(".json")] = {
                "operators": graph.ops,
                "given": peak(graph, range(graph.ops)),
                "found": peak(graph, found),
                "seconds": seconds,
            }
    return rows


def generated() -> Rows:
    """Problems of 10 to 100,000 buffers that overlap about nine others, as at run time and at compile time."""
    rows: Rows = {}
    for count in (10, 100, 1000, 10_000, 100_000):
        draw = random.Random(0)
        buffers = [
            CompoundBuffer.simple(f"b{i}", draw.randint(1, MIB), i, i + 1 + int(draw.expovariate(0.2)))
            for i in range(count)
        ]
        rows[str(count)] = {effort: _placed(buffers, effort=effort) for effort in ("fast", "default")}
    return rows
