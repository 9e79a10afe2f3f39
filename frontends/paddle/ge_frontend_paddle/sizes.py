"""Sizes of a program's inputs that are not fixed, and what the caller's `dynamic_shapes` says of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ge_core.errors import InputError
from ge_core.ir import dims
from ge_core.ir.dims import Dim, Size
from ge_core.ir.graph import Graph
from ge_core.plugins.asked_shapes import Asked


class Symbols:
    """Makes the sizes of inputs.

    Args:
        graph: gets the symbols.
        asked: what the caller says, by input and axis.
    """

    def __init__(self, graph: Graph, asked: Mapping[str, Mapping[int, Asked]]) -> None:
        self._graph, self._asked = graph, asked
        self._named: dict[str, Size] = {}

    def shape(self, name: str, declared: Sequence[int]) -> tuple[Size, ...]:
        """The shape of an input; -1 in the declared one is a size of its own.

        Raises:
            InputError: the caller asks for an axis or a size that the program does not have.
        """
        asked = self._asked.get(name, {})
        for axis in asked:
            if not 0 <= axis < len(declared):
                raise InputError(f"dynamic_shapes names axis {axis} of {name!r}", expected=f"0 to {len(declared) - 1}")
        return tuple(self._size(name, axis, size, asked.get(axis)) for axis, size in enumerate(declared))

    def _size(self, name: str, axis: int, declared: int, asked: Asked) -> Size:
        where = f"axis {axis} of {name!r}"
        named = asked if isinstance(asked, str) else getattr(asked, "__name__", None)
        if isinstance(asked, int) and not isinstance(asked, bool):
            if asked < 0 or declared not in (-1, asked):
                raise InputError(f"{where} is asked to be {asked}", expected=_expected(declared))
            return asked
        if isinstance(named, str) and named.isidentifier():
            if declared >= 0:
                raise InputError(f"{where} is asked to be {named}", expected=_expected(declared))
            if named not in self._named:
                low, high = getattr(asked, "min", None), getattr(asked, "max", None)
                upper = int(high) if isinstance(high, int) and high < 1 << 62 else None
                self._named[named] = self._fresh(named, low or 0, upper)
            return self._named[named]
        if asked is not None and "AUTO" not in str(asked) and "STATIC" not in str(asked):
            raise InputError(f"{where} is asked to be {asked!r}", expected="a name, a size or a torch.export.Dim")
        return declared if declared >= 0 else self._fresh(f"{name}_{axis}")

    def _fresh(self, hint: str, lo: int = 0, hi: int | None = None) -> Dim:
        word = "_".join(re.findall(r"[A-Za-z0-9]+", hint)) or "d"
        s = self._graph.fresh_symbol(f"d_{word}" if word[0].isdigit() else word, lo, hi)
        return dims.symbol(s.name, s.lo, s.hi)


def _expected(declared: int) -> str:
    return "a size of 0 or more" if declared < 0 else f"{declared}, as the program says"
