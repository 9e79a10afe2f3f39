"""Which weights of a graph lie in mapped files, whoever mapped them: numpy, a framework, a reader of safetensors.

Such weights need not be read before they are used (`ge_core.ir.constant`). But their owner may write to them, which
changes the file or a private copy of its pages; only with the option `share_weights` is that the owner's own affair.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path

from ge_core.ir import constant as constants
from ge_core.ir.graph import Graph

_MAPS = Path("/proc/self/maps")
_MEMORY = ("/dev/", "/memfd:", "/SYSV")
"""Paths of what is mapped, but no file on a disk."""


def leave_in_files(graph: Graph) -> None:
    """Let the large constants of an imported graph that lie in mapped files be known to lie there; platforms that do
    not tell what is mapped leave all as they are."""
    ranges: Sequence[tuple[int, int]] | None = None
    for value in graph.constants:
        constant = value.constant
        if constant is None or constant.residence != "memory" or constant.nbytes <= constants.SMALL:
            continue
        if constant.type.dtype.bits < 8 or constant.type.dtype.kind == "string":
            continue
        ranges = _file_ranges() if ranges is None else ranges
        array = constant.array()
        if array.size and _covers(ranges, array.__array_interface__["data"][0]):
            constant.residence = "file"


def _file_ranges() -> list[tuple[int, int]]:
    """Addresses at which files are mapped, in order."""
    found = []
    try:
        lines = _MAPS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    for line in lines:
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and fields[5].startswith("/") and not fields[5].startswith(_MEMORY):
            begin, end = (int(text, 16) for text in fields[0].split("-"))
            found.append((begin, end))
    return sorted(found)


def _covers(ranges: Sequence[tuple[int, int]], address: int) -> bool:
    at = bisect_right(ranges, (address, 1 << 64)) - 1
    return at >= 0 and ranges[at][0] <= address < ranges[at][1]
