"""What the caller says about the inputs: examples, specifications, dynamic shapes."""

from __future__ import annotations

from ge_core.errors import InputError
from ge_core.ir import dims
from ge_core.ir.dims import Dim, Size
from ge_core.ir.graph import Graph
from ge_core.plugins.asked_shapes import Asked


def is_dynamic(asked: Asked) -> bool:
    """Whether what is said about an axis makes its size change from call to call."""
    return asked is not None and not isinstance(asked, int) and "STATIC" not in str(asked)


class Symbols:
    """Sizes by the caller's names for them."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._named: dict[str, Size] = {}

    def size(self, asked: Asked, hint: str) -> Size:
        """The size of an axis that may change.

        Args:
            asked: what the caller says about it.
            hint: names it where the caller does not.

        Raises:
            InputError: `asked` is of another form.
        """
        if isinstance(asked, Dim):
            return asked
        name = asked if isinstance(asked, str) else getattr(asked, "__name__", None)
        if isinstance(name, str) and name.isidentifier():
            if name not in self._named:
                low, high = getattr(asked, "min", None), getattr(asked, "max", None)
                bound = int(high) if isinstance(high, int) and high < 1 << 62 else None
                self._named[name] = self._fresh(name, int(low or 0), bound)
            return self._named[name]
        if asked is None or "AUTO" in str(asked) or "DYNAMIC" in str(asked):
            return self._fresh(hint)
        raise InputError(f"{hint} is asked to be {asked!r}", expected="a name, a size or a torch.export.Dim")

    def shared(self, name: str) -> Size:
        """The size of this name, the same one each time."""
        return self.size(name, name)

    def _fresh(self, name: str, low: int = 0, high: int | None = None) -> Size:
        word = "".join(ch if ch.isalnum() and ch.isascii() else "_" for ch in name)
        s = self._graph.fresh_symbol(word if word[:1].isalpha() else f"d_{word}", low, high)
        return dims.symbol(s.name, s.lo, s.hi)
