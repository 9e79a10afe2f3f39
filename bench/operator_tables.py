"""The tables of bench/int8.py and bench/eager.py, apart from the frameworks that these need."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

RANGES = (0.0, 0.5, 0.8, 1.0, 1.25, 2.0, 5.0, float("inf"))
"""Bounds of the ratios that the table counts."""


def int8_table(results: Mapping[str, Any]) -> str:
    """Results of bench/int8.py in Markdown."""
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    lines = [f"Measured with {versions}.", "", "| case | ms | ÷ onnxruntime | results apart |", "|---|---|---|---|"]
    for name, row in results["rows"].items():
        apart = row["apart"] / row["largest"] if row["largest"] else row["apart"]
        lines.append(f"| {name} | {1e3 * row['seconds']:.3g} | **{row['onnxruntime']:.2f}** | {apart:.1g} |")
    return "\n".join(lines)


def eager_table(results: Mapping[str, Mapping[str, Any]]) -> str:
    """How many operators of bench/eager.py are how fast, in Markdown."""
    ratios = sorted(row["torch"] for row in results.values() if row["torch"])
    lines = [f"{len(ratios)} operators; the median is {ratios[len(ratios) // 2]:.2f}.", ""]
    names, counts = [], []
    for low, high in pairwise(RANGES):
        names.append(f"below {high:g}" if not low else f"{low:g} to {high:g}" if high < RANGES[-1] else f"from {low:g}")
        counts.append(sum(low <= ratio < high for ratio in ratios))
    lines += [f"| {' | '.join(('PyTorch ÷ ge', *names))} |", "|---" * (len(names) + 1) + "|"]
    return "\n".join([*lines, f"| operators | {' | '.join(map(str, counts))} |"])
