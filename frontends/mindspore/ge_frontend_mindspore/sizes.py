"""Sizes that MindSpore does not know, as symbols; what `dynamic_shapes` says of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from ge_core.errors import InputError
from ge_core.ir import dims
from ge_core.ir.dims import Dim, Size
from ge_core.ir.graph import Graph

# A name, a fixed size, torch.export's Dim, None for "as the model says".
Asked: TypeAlias = Any


class Sizes:
    """Symbols by the names that the caller gives; equal names are equal sizes.

    Args:
        graph: gets the symbols.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._named: dict[str, Dim] = {}

    def of(self, size: int, asked: Asked, hint: str) -> Size:
        """The size of an axis.

        Args:
            size: as the model has it, -1 for unknown.
            hint: names it when the caller does not.

        Raises:
            InputError: the caller asks for another size than the model has.
        """
        if asked is None or isinstance(asked, bool) or "STATIC" in str(asked):
            return size if size >= 0 else self._fresh(hint)
        if isinstance(asked, int):
            if size in (asked, -1) and asked >= 0:
                return asked
            raise InputError(f"{hint} is asked to be {asked}", expected=str(size) if size >= 0 else "0 or more")
        if size >= 0:
            raise InputError(
                f"{hint} is asked to be dynamic, and the model fixes it at {size}",
                fix="export the model again with None for this size in the example",
            )
        name = asked if isinstance(asked, str) else getattr(asked, "__name__", None)
        if not isinstance(name, str) or not name.isidentifier():
            if "AUTO" in str(asked) or "DYNAMIC" in str(asked):
                return self._fresh(hint)
            raise InputError(f"{hint} is asked to be {asked!r}", expected="a name, a size or a torch.export.Dim")
        if name not in self._named:
            low, high = getattr(asked, "min", None), getattr(asked, "max", None)
            self._named[name] = self._fresh(name, low or 0, high if isinstance(high, int) and high < 1 << 62 else None)
        return self._named[name]

    def _fresh(self, hint: str, low: int = 0, high: int | None = None) -> Dim:
        word = "_".join(re.findall(r"[A-Za-z0-9]+", hint)) or "d"
        word = f"d_{word}" if word[0].isdigit() or word in ("min", "max", "floor", "ceil") else word
        s = self._graph.fresh_symbol(word, low, high)
        return dims.symbol(s.name, s.lo, s.hi)


def asked_axes(dynamic_shapes: object, names: Sequence[str]) -> dict[str, Mapping[int, Asked]]:
    """What `dynamic_shapes` says, by argument and axis.

    Args:
        dynamic_shapes: by argument name or by position; for each a mapping from axes or one entry for each axis.
        names: the arguments, for entries by position.

    Raises:
        InputError: an entry has another form.
    """
    if dynamic_shapes is None:
        return {}
    if isinstance(dynamic_shapes, Mapping):
        entries = dict(dynamic_shapes)
    elif isinstance(dynamic_shapes, (list, tuple)) and len(dynamic_shapes) <= len(names):
        entries = dict(zip(names, dynamic_shapes, strict=False))
    else:
        raise InputError(f"dynamic_shapes is {dynamic_shapes!r}", expected="a dict by input name, or a tuple")
    return {str(name): _axes(entry, name) for name, entry in entries.items() if entry is not None}


def _axes(entry: object, name: object) -> dict[int, Asked]:
    if isinstance(entry, Mapping) and all(isinstance(axis, int) for axis in entry):
        found = dict(entry)
    elif isinstance(entry, (list, tuple)):
        found = dict(enumerate(entry))
    else:
        raise InputError(f"dynamic_shapes of {name!r} is {entry!r}", expected="a dict from axis to size, or a tuple")
    return {axis: asked for axis, asked in found.items() if asked is not None}
