"""What `dynamic_shapes` says about inputs, for frontends whose models name their inputs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ge_core.errors import InputError
from ge_core.input_spec import InputSpec
from ge_core.ir import dims
from ge_core.ir.dims import Dim, Size
from ge_core.ir.graph import Graph

Asked = Any
"""About one axis: a name, a fixed size, torch.export's Dim (AUTO, DYNAMIC and STATIC too), a size of the graph, None
for nothing."""

_FUNCTIONS = frozenset({"min", "max", "floor", "ceil"})  # words that sizes as text keep for themselves
_UNBOUNDED = 1 << 62  # torch writes "no upper bound" as a very large number or as infinity


def asked_shapes(
    dynamic_shapes: object, names: Sequence[str], examples: Mapping[str, object] | None = None
) -> dict[str, Mapping[int, Asked]]:
    """What `dynamic_shapes` says, by input and axis.

    Args:
        dynamic_shapes: by input name or by position; for an input a mapping from axes or one entry for each axis.
        examples: by input name; the names of sizes in an InputSpec count where `dynamic_shapes` says nothing.

    Raises:
        InputError: an input is not known, or an entry has another form.
    """
    found = _said(dynamic_shapes, names)
    for name, example in (examples or {}).items():
        if isinstance(example, InputSpec):
            named = {axis: size for axis, size in enumerate(example.shape) if isinstance(size, (str, Dim))}
            if named:
                found[name] = {**named, **{k: v for k, v in found.get(name, {}).items() if v is not None}}
    return found


def _said(dynamic_shapes: object, names: Sequence[str]) -> dict[str, Mapping[int, Asked]]:
    if dynamic_shapes is None:
        return {}
    if isinstance(dynamic_shapes, Mapping):
        entries = dict(dynamic_shapes)
    elif isinstance(dynamic_shapes, (list, tuple)):
        if len(dynamic_shapes) > len(names):
            raise InputError(f"dynamic_shapes has {len(dynamic_shapes)} entries, the model {len(names)} inputs")
        entries = dict(zip(names, dynamic_shapes, strict=False))
    else:
        raise InputError(f"dynamic_shapes is {dynamic_shapes!r}", expected="a dict by input name, or a tuple")
    unknown = [name for name in entries if name not in names]
    if unknown:
        raise InputError(f"dynamic_shapes names {unknown[0]!r}", expected=f"one of {', '.join(names)}")
    return {name: _axes(entry, name) for name, entry in entries.items() if entry is not None}


def _axes(entry: object, name: str) -> Mapping[int, Asked]:
    if isinstance(entry, Mapping) and all(isinstance(axis, int) for axis in entry):
        return dict(entry)
    if isinstance(entry, (list, tuple)):
        return dict(enumerate(entry))
    raise InputError(f"dynamic_shapes of {name!r} is {entry!r}", expected="a dict from axis to size, or a tuple")


class AskedSizes:
    """Sizes of a graph's inputs by the caller's names: equal names are equal sizes.

    Args:
        graph: gets the symbols.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._named: dict[str, Size] = {}

    def of(self, declared: int | None, asked: Asked, where: str, hint: str) -> Size:
        """The size of an axis of a model that says which sizes are fixed.

        Args:
            declared: the model's size, None where it may change.
            where: names the axis in errors.
            hint: names its size when the caller does not.

        Raises:
            InputError: `asked` is of another form, or contradicts the model.
        """
        if declared is None:
            size = self.said(asked, where, hint)
            return self.fresh(hint) if size is None else size
        if _says_nothing(asked) or "AUTO" in str(asked) or _is_size(asked, declared):
            return declared
        raise InputError(
            f"{where} is asked to be {getattr(asked, '__name__', asked)}, and the model fixes it at {declared}",
            fix="export the model again with a size there that may change",
        )

    def said(self, asked: Asked, where: str, hint: str) -> Size | None:
        """The size that the caller gives to an axis, None for nothing; arguments as those of `of`.

        Raises:
            InputError: `asked` is of another form.
        """
        if _says_nothing(asked):
            return None
        if isinstance(asked, int):
            if asked < 0:
                raise InputError(f"{where} is asked to be {asked}", expected="a size of 0 or more")
            return asked
        name, low, high = _name_and_bounds(asked)
        if name.isidentifier():
            if name not in self._named:
                self._named[name] = self.fresh(name, low, high)
            return self._named[name]
        if "AUTO" in str(asked) or "DYNAMIC" in str(asked):
            return self.fresh(hint)
        raise InputError(f"{where} is asked to be {asked!r}", expected="a name, a size or a torch.export.Dim")

    def fresh(self, hint: str, lo: int = 0, hi: int | None = None) -> Dim:
        """A size of its own.

        Args:
            hint: becomes its name, as far as it is letters and digits.
        """
        word = "_".join(re.findall(r"[A-Za-z0-9]+", hint)) or "d"
        word = f"d_{word}" if word[0].isdigit() or word in _FUNCTIONS else word
        s = self._graph.fresh_symbol(word, lo, hi)
        return dims.symbol(s.name, s.lo, s.hi)


def _name_and_bounds(asked: Asked) -> tuple[str, int, int | None]:
    """The name that a name, torch's Dim or a symbol of ours gives, with its bounds; no name for anything else."""
    if isinstance(asked, str):
        return asked, 0, None
    if isinstance(asked, Dim):
        alone = [s for s in dims.symbols(asked) if dims.symbol(s.name, s.lo, s.hi) == asked]
        return (alone[0].name, alone[0].lo, alone[0].hi) if alone else ("", 0, None)
    name, low, high = (getattr(asked, key, None) for key in ("__name__", "min", "max"))
    upper = high if isinstance(high, int) and high < _UNBOUNDED else None
    return (name if isinstance(name, str) else ""), int(low or 0), upper


def is_dynamic(asked: Asked) -> bool:
    """Whether what is said about an axis makes its size change from call to call."""
    return not _says_nothing(asked) and not isinstance(asked, int)


def _says_nothing(asked: Asked) -> bool:
    return asked is None or isinstance(asked, bool) or "STATIC" in str(asked)


def _is_size(asked: Asked, declared: int) -> bool:
    return isinstance(asked, int) and asked == declared
