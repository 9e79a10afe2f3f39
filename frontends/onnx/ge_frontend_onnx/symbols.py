"""The model's dimensions as sizes of the graph: equal names are equal sizes, unnamed ones are sizes of their own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ge_core.errors import GraphError, InputError
from ge_core.ir import dims
from ge_core.ir.dims import Dim, Size
from ge_core.ir.graph import Graph
from ge_core.ir.size_text import parse_size
from ge_core.plugins.asked_shapes import Asked, AskedSizes

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_RESERVED = frozenset({"min", "max", "floor", "ceil"})


class Symbols:
    """Sizes by the model's names for them.

    Args:
        graph: gets the symbols.
        plain: the names that are the whole dimension of some input; other names may be expressions over them.
    """

    def __init__(self, graph: Graph, plain: frozenset[str]) -> None:
        self._graph, self._plain = graph, plain
        self._sizes: dict[str, Size] = {}
        self._given = AskedSizes(graph)

    def size(self, dim: Any, hint: str) -> Size:
        """The size that a dimension of a TensorShapeProto stands for.

        Args:
            dim: the dimension; without a value and a name, with a name that has no letter (`?`) or with a
                negative value it is a size of its own.
            hint: names such a size.
        """
        if dim.HasField("dim_value"):
            value = int(dim.dim_value)
            return value if value >= 0 else self.fresh(hint)
        name = dim.dim_param
        if not _WORD.search(name):
            return self.fresh(hint)
        if name not in self._sizes:
            expression = None if name in self._plain else self._expression(name)
            self._sizes[name] = self.fresh(name) if expression is None else expression
        return self._sizes[name]

    def fresh(self, hint: str, lo: int = 0, hi: int | None = None) -> Dim:
        """A size of its own."""
        return self._given.fresh(hint, lo, hi)

    def _expression(self, name: str) -> Size | None:
        """The size that a name such as `past + 1` computes from other names, None when it is a name alone."""
        words = set(_WORD.findall(name)) - _RESERVED
        if name in words or not words <= self._plain:
            return None
        table = {}
        for word in words:
            size = self._sizes.setdefault(word, self.fresh(word))
            if not isinstance(size, Dim) or len(found := dims.symbols(size)) != 1:
                return None
            table[word] = next(iter(found))
        try:
            return parse_size(name, table)
        except GraphError:
            return None

    def ask(self, dim: Any, asked: Asked, where: str) -> Size | None:
        """The size that the caller's `dynamic_shapes` gives to a dimension, None when it says nothing.

        A model's name for the dimension stands for the same size in all other places.

        Raises:
            InputError: `asked` is no name, size or Dim.
        """
        size = self._given.said(asked, where, where)
        if size is None:
            return None
        if dim is not None and not dim.HasField("dim_value") and _WORD.search(dim.dim_param):
            old = self._sizes.setdefault(dim.dim_param, size)
            if old != size:
                raise InputError(f"{where} is asked to be {size}, and {dim.dim_param!r} is already {old}")
        return size


def plain_names(inputs: Sequence[Any]) -> frozenset[str]:
    """The names that stand alone as a dimension of an input.

    Args:
        inputs: ValueInfoProtos.
    """
    found = set()
    for info in inputs:
        for dim in info.type.tensor_type.shape.dim:
            if _WORD.fullmatch(dim.dim_param):
                found.add(dim.dim_param)
    return frozenset(found)
