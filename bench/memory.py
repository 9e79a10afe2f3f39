"""What the memory planner and the order of operators achieve, and in what time; the README shows it.

    python bench/memory.py [part ...]      (default: all parts)

Measures the parts one after another, writes each to bench/results/memory.json when it is done, and prints the tables.
`exact` needs numba (pip install ge-engine[exact]); `imported` and `graph_orders` need torch, timm and transformers.
Without them a part keeps the figures of its last measurement.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]

from bench import memory_plans, memory_problems  # noqa: E402
from bench.memory_problems import MIB, Rows  # noqa: E402

RESULTS = ROOT / "bench" / "results"
PARTS: dict[str, tuple[Callable[[], Rows], Sequence[str]]] = {
    "lifetimes": (memory_problems.lifetimes, ()),
    "minimalloc": (memory_problems.minimalloc, ()),
    "exact": (memory_problems.exact, ("numba",)),
    "orders": (memory_problems.orders, ()),
    "generated": (memory_problems.generated, ()),
    "known": (memory_plans.known, ()),
    "imported": (memory_plans.imported, ("torch", "timm", "transformers")),
    "graph_orders": (memory_plans.graph_orders, ("torch", "timm", "transformers")),
}
"""What is measured, and the packages without which it cannot be."""


def tables(results: dict[str, Rows], *, whole: bool = True) -> str:
    """The results for a person, in Markdown.

    Args:
        whole: list all models of the stored tables of lifetimes; else only count them.
    """
    parts = [_counts(results["lifetimes"])]
    if whole:
        parts.append(_lifetimes(results["lifetimes"]))
    hand = {f"{name} (built by hand)": row for name, row in results["known"].items()}
    torch = {f"{name} (imported from PyTorch)": row for name, row in results["imported"].items()}
    hard = (
        "MiniMalloc's hard problems, by default and by the exact tier (`pip install ge-engine[exact]`), which stops at "
        "the published capacity:"
    )
    parts += ["Whole plans, in MiB; outputs are the caller's, and lie beside the arena:", _plans(torch | hand)]
    parts += ["Order of operators, peak in MiB:", _orders(results["orders"] | results["graph_orders"])]
    parts += [hard, _hard(results["minimalloc"], results["exact"])]
    parts += ["Generated problems, each buffer beside about nine others; *fast* is what a new shape costs at run time:"]
    return "\n\n".join([*parts, _generated(results["generated"])])


def _counts(lives: Rows) -> str:
    tight = sum(row["arena"] == row["bound"] for row in lives.values())
    slowest = max(row["seconds"] for row in lives.values())
    told = f"{tight} of {len(lives)} tables of buffer lifetimes from real models are placed at their lower bound, each "
    told += f"in at most {slowest:.2f} s."
    zoo = RESULTS / "zoo_torch.json"
    rows = json.loads(zoo.read_text(encoding="utf-8"))["models"].values() if zoo.is_file() else []
    planned = [row for row in rows if row.get("lower_bound")]
    above = sum(row["arena"] > row["lower_bound"] for row in planned)
    return f"{told} Of the {len(planned)} PyTorch models whose plans have an arena, {above} are above theirs."


def _lifetimes(rows: Rows) -> str:
    return _table(
        "model | buffers | no reuse MiB | bound MiB | arena MiB | gap % | planner | ms",
        [
            [name, r["buffers"], *map(_mib, (r["no_reuse"], r["bound"], r["arena"])), _gap(r), r["planner"], _ms(r)]
            for name, r in rows.items()
        ],
    )


def _plans(rows: Rows) -> str:
    return _table(
        "model | no reuse MiB | arena, no step in place | arena | with outputs | ÷ bound | saved %",
        [
            [name, *map(_mib, (r["no_reuse"], r["out_of_place"], r["arena"], r["peak"])),
             f"{r['peak'] / r['bound']:.3f}", f"{100 * (1 - r['peak'] / r['no_reuse']):.1f}"]
            for name, r in rows.items()
        ],
    )  # fmt: skip


def _orders(rows: Rows) -> str:
    return _table(
        "network | as given | as ordered | saved % | s",
        [
            [name, _mib(r["given"]), _mib(r["found"]), f"{100 * (1 - r['found'] / r['given']):.1f}", _seconds(r)]
            for name, r in rows.items()
        ],
    )


def _hard(default: Rows, exact: Rows) -> str:
    return _table(
        "problem | buffers | bound | arena | gap % | s | capacity | exact arena | s",
        [
            [name, r["buffers"], r["bound"], r["arena"], _gap(r), _seconds(r), r["capacity"], exact[name]["arena"],
             _seconds(exact[name])]
            for name, r in default.items()
        ],
    )  # fmt: skip


def _generated(rows: Rows) -> str:
    return _table(
        "buffers | fast: gap % | ms | default: gap % | ms",
        [[count, *(cell(r[e]) for e in ("fast", "default") for cell in (_gap, _ms))] for count, r in rows.items()],
    )


def _table(head: str, rows: Iterable[Sequence[object]]) -> str:
    lines = [f"| {head} |", "|" + "---|" * len(head.split(" | "))]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows)])


def _mib(size: int) -> str:
    return f"{size / MIB:.2f}".rstrip("0").rstrip(".")


def _gap(row: dict[str, Any]) -> str:
    return f"{100 * (row['arena'] / row['bound'] - 1):.1f}"


def _ms(row: dict[str, Any]) -> str:
    return f"{1000 * row['seconds']:.1f}"


def _seconds(row: dict[str, Any]) -> str:
    return f"{row['seconds']:.2f}"


def main(wanted: Sequence[str]) -> int:
    file = RESULTS / "memory.json"
    results: dict[str, Rows] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    for name in wanted or PARTS:
        measure, needs = PARTS[name]
        missing = [package for package in needs if find_spec(package) is None]
        if missing:
            print(f"{name} is not measured: {', '.join(missing)} is missing", file=sys.stderr)
            continue
        results[name] = measure()
        kept = {part: results[part] for part in PARTS if part in results}
        file.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        print(f"measured: {name}", file=sys.stderr, flush=True)
    absent = [name for name in PARTS if name not in results]
    print(tables(results) if not absent else f"not measured yet: {', '.join(absent)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
