"""Gears: listed values of a symbol, with one memory plan for each, all in one arena.

A call with sizes between two gears takes the plan of the next larger one, so that memory is never planned while the
model runs. A gear's plan holds for every size from above the gear before it: extents whose offset depends on the size
are planned as all bytes that they can reach. A symbol with a single gear is planned once, at its upper bound.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from math import prod
from typing import TypeAlias

from ge_core.errors import OptionError
from ge_core.ir import dims
from ge_core.ir.dims import Size, Symbol
from ge_core.ir.graph import Graph
from ge_core.passes.retype import input_symbols, substitute

Gears: TypeAlias = Mapping[str, tuple[int, ...]]
"""Values by symbol name, ascending."""
MOST_PLANS = 256
"""Combinations of gears that are planned."""


def read_gears(given: object, graphs: Iterable[Graph]) -> dict[str, tuple[int, ...]]:
    """The option `gears`, checked against the symbols of the graphs' inputs.

    Raises:
        OptionError: no table of symbol names and lists of sizes, a symbol that no input has, or sizes out of bounds.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise OptionError(f"gears={given!r}", expected="a table of symbol names and sizes, such as {'batch': [1, 8]}")
    known = {s.name: s for graph in graphs for s in input_symbols(graph)}
    found: dict[str, tuple[int, ...]] = {}
    for name, sizes in given.items():
        if name not in known:
            raise OptionError(
                f"sizes are listed for {name!r}, which no input has",
                expected=", ".join(sorted(known)) or "inputs with symbolic sizes",
                fix="give the model dynamic shapes, and use their names",
            )
        found[str(name)] = _sizes(known[name], sizes)
    if prod(map(len, found.values())) > MOST_PLANS:
        raise OptionError(
            f"the gears have {prod(map(len, found.values()))} combinations", expected=f"{MOST_PLANS} or fewer"
        )
    return found


def _sizes(symbol: Symbol, given: object) -> tuple[int, ...]:
    sizes = list(given) if isinstance(given, (list, tuple)) else [given]
    numbers = [n for n in sizes if isinstance(n, int) and not isinstance(n, bool)]
    if not sizes or len(numbers) < len(sizes):
        raise OptionError(f"the gears of {symbol.name} are {given!r}", expected="a list of whole numbers")
    found = tuple(sorted(set(numbers)))
    if found[0] < max(symbol.lo, 1) or (symbol.hi is not None and found[-1] > symbol.hi):
        top = "" if symbol.hi is None else f" to {symbol.hi}"
        raise OptionError(
            f"the gears of {symbol.name} are {list(found)}", expected=f"sizes from {max(symbol.lo, 1)}{top}"
        )
    return found


def narrow(graph: Graph, gears: Gears) -> None:
    """Give the symbols of a graph their largest gear as upper bound, so that larger sizes are refused by name."""
    table: dict[Symbol, Size] = {
        s: dims.symbol(s.name, s.lo, gears[s.name][-1]) for s in input_symbols(graph) if s.name in gears
    }
    if table:
        substitute(graph, table)


class GearBox:
    """The gears of one plan.

    Args:
        symbols: of the plan, in the order in which their values are given.
    """

    def __init__(self, symbols: Sequence[Symbol], gears: Gears) -> None:
        self.symbols = tuple(symbols)
        self.gears = [gears.get(s.name) for s in symbols]

    def of(self, values: Sequence[int]) -> tuple[int, ...]:
        """The gear for some sizes: the least that is not smaller; sizes of symbols without gears as they are."""
        return tuple(
            n if steps is None else steps[min(bisect_left(steps, n), len(steps) - 1)]
            for n, steps in zip(values, self.gears, strict=True)
        )

    def all(self) -> list[tuple[int, ...]] | None:
        """Every gear; None when some symbol has none, so that they cannot be listed."""
        return None if any(g is None for g in self.gears) else list(product(*(g or () for g in self.gears)))

    def ranges(self, gear: Sequence[int]) -> dict[str, Size]:
        """What each symbol stands for in the plan of a gear: the sizes that use it."""
        found: dict[str, Size] = {}
        for symbol, n, steps in zip(self.symbols, gear, self.gears, strict=True):
            if steps is None:
                found[symbol.name] = n
                continue
            at = steps.index(n)
            low = symbol.lo if at == 0 else steps[at - 1] + 1
            found[symbol.name] = n if low >= n else dims.symbol(symbol.name, low, n)
        return found


def reach(offset: Size, size: Size, ranges: Mapping[str, Size]) -> tuple[int, int] | None:
    """The bytes [low, high) that an extent can take for sizes in some ranges; None when there is no bound."""

    def ranged(symbol: Symbol) -> Size:
        return ranges.get(symbol.name, dims.symbol(symbol.name, symbol.lo, symbol.hi))

    low = dims.bounds(dims.substitute(offset, ranged))[0]
    high = dims.bounds(dims.substitute(offset + size, ranged))[1]
    return None if low is None or high is None else (max(low, 0), max(high, 0))
