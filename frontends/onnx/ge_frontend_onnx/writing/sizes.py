"""Sizes as nodes: expressions over symbols become arithmetic on the shapes of the values that define them."""

from __future__ import annotations

from dataclasses import dataclass

from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Dim, Op, Size
from ge_core.ir.graph import Block, Graph, Node, Region, Value
from ge_core.ir.types import TensorType

from .forms import InexpressibleError


@dataclass(frozen=True)
class _Place:
    """A value with the symbol as the size of an axis, or (axis None) as its element; made by the node `after`
    others.
    """

    after: int
    value: Value
    axis: int | None


class Sizes:
    """Where each symbol of a graph is defined: as a size of an input or result, or as the one element of a value."""

    def __init__(self, graph: Graph) -> None:
        self._places: dict[str, list[_Place]] = {}
        self._order: dict[Node, int] = {}
        self._block(graph)

    def _block(self, block: Block) -> None:
        for value in block.params:
            self._value(value)
        if isinstance(block, Graph):
            for state in block.states:
                self._value(state.read)
        for node in block.nodes:
            self._order[node] = len(self._order)
            for region in node.regions.values():
                self._block(region)
            for value in node.outputs:
                if node.op != "ge.Dims":
                    self._value(value)

    def _value(self, value: Value) -> None:
        if isinstance(value.type, TensorType):
            for axis, size in enumerate(value.type.shape or ()):
                self._define(size, value, axis)
        if value.content is not None and len(value.content) == 1 and value.producer is not None:
            self._define(value.content[0], value, None)

    def _define(self, size: Size, value: Value, axis: int | None) -> None:
        if isinstance(size, Dim) and len(found := dims.symbols(size)) == 1:
            s = next(iter(found))
            if size == dims.symbol(s.name, s.lo, s.hi):
                self._places.setdefault(s.name, []).append(_Place(len(self._order), value, axis))

    def _place(self, b: Builder, name: str) -> _Place:
        """The first place of a symbol that is visible where `b` builds."""
        last = self._order.get(b.before, len(self._order)) if b.before is not None else len(self._order)
        around: set[Block] = set()
        block: Block | None = b.block
        while block is not None:
            around.add(block)
            block = block.outer if isinstance(block, Region) else None
        for place in self._places.get(name, ()):
            producer = place.value.producer
            gone = producer is not None and producer.block is None  # rewritten since the places were noted
            if place.after <= last and place.value.owner in around and not gone:
                return place
        raise InexpressibleError(f"nothing before has the size {name}")

    def vector(self, b: Builder, size: Size) -> Value:
        """An int64 vector of one size.

        Raises:
            InexpressibleError: nothing defines one of its symbols.
        """
        if not isinstance(size, Dim):
            return b.ints(size)
        total: Value | None = None
        for monomial, factor in size.terms:
            term: Value | None = None
            for atom, power in monomial:
                value = self._operation(b, atom) if isinstance(atom, Op) else self._symbol(b, atom.name)
                for _ in range(power):
                    term = value if term is None else b.Mul(term, value)
            if term is None:
                term = b.ints(factor)
            elif factor != 1:
                term = b.Mul(term, b.ints(factor))
            total = term if total is None else b.Add(total, term)
        assert total is not None
        return total

    def _symbol(self, b: Builder, name: str) -> Value:
        place = self._place(b, name)
        made: Value
        if place.axis is None:
            made = b.Reshape(b.Cast(place.value, to="int64"), b.ints(1))
        else:
            made = b.Shape(place.value, start=place.axis, end=place.axis + 1)
        return made

    def _operation(self, b: Builder, op: Op) -> Value:
        x, y = self.vector(b, op.a), self.vector(b, op.b)
        made: Value
        if op.kind == "mod":
            made = b.Mod(x, y)
        elif op.kind == "floordiv":  # Div rounds to zero
            made = b.Div(b.Sub(x, b.Mod(x, y)), y)
        else:
            made = b.op("Min" if op.kind == "min" else "Max", x, y)
        return made
