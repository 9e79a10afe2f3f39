"""Tensor arrays while a program is converted: lists of tensors whose length is known, or grows with a loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from .call import INT64, Call


@dataclass(frozen=True)
class TensorArray:
    """A tensor array.

    Attributes:
        items: the first elements.
        tail: those behind them, stacked along a first axis; a loop appended them.
        dtype: of the elements.
    """

    dtype: DType | None
    items: tuple[Value, ...] = ()
    tail: Value | None = None

    @property
    def length(self) -> Size:
        """How many elements there are."""
        return len(self.items) + (0 if self.tail is None else self.tail.shape[0])

    def written(self, c: Call, x: Value, index: Value) -> TensorArray:
        """The array with an element replaced, or one more.

        Raises:
            UnsupportedError: the index is not known, or lies behind the end.
        """
        place = c.sizes(index)
        if place is None:
            raise c.unsupported("an index that the model computes", "append to the array in a plain loop")
        at = place[0]
        if isinstance(at, int) and at < len(self.items):
            return replace(self, items=(*self.items[:at], x, *self.items[at + 1 :]))
        if not dims.equal(at, self.length):
            raise c.unsupported(f"the index {at} of an array of {self.length}")
        if self.tail is None:
            return replace(self, items=(*self.items, x))
        return replace(self, tail=c.b.Concat([self.tail, c.unsqueeze(x, 0)], axis=0))

    def read(self, c: Call, index: Value) -> Value:
        """An element.

        Raises:
            UnsupportedError: there is no such element, or the elements differ in shape and the index is not known.
        """
        place = c.sizes(index)
        at = None if place is None else place[0]
        if isinstance(at, int) and 0 <= at < len(self.items):
            return self.items[at]
        if isinstance(at, int) and self.tail is None:
            raise c.unsupported(f"the index {at} of an array of {len(self.items)}")
        return c.b.Gather(self.stacked(c), c.reshape(c.cast(index, INT64), ()), axis=0)

    def stacked(self, c: Call) -> Value:
        """All elements along a first axis.

        Raises:
            UnsupportedError: there are none, or they differ in shape.
        """
        parts = [c.unsqueeze(item, 0) for item in self.items]
        if self.tail is not None:
            parts.append(self.tail)
        if not parts:
            raise c.unsupported("an empty array")
        shapes = {part.rank for part in parts}
        if len(shapes) != 1:
            raise c.unsupported("an array whose elements differ in rank")
        return c.concat(parts, 0)

    def joined(self, c: Call, axis: int) -> Value:
        """All elements behind each other along one of their axes.

        Raises:
            UnsupportedError: there are none, or they differ in rank.
        """
        if self.tail is None:
            if not self.items:
                raise c.unsupported("an empty array")
            return c.concat(list(self.items), c.axis(axis, self.items[0].rank))
        whole = self.stacked(c)
        at = c.axis(axis, whole.rank - 1)
        order = [*range(1, at + 1), 0, *range(at + 1, whole.rank)]
        moved = c.transpose(whole, order)
        shape = moved.shape
        return c.reshape(moved, (*shape[:at], shape[at] * shape[at + 1], *shape[at + 2 :]))

    def sizes(self, c: Call, axis: int) -> Value:
        """The size of each element along an axis, int32; 1 where it has no such axis."""
        found: list[Size] = [item.shape[axis] if -item.rank <= axis < item.rank else 1 for item in self.items]
        vector = c.b.ints(found)
        if self.tail is not None:
            inner = self.tail.shape[1:]
            size = c.b.scalar(inner[axis] if -len(inner) <= axis < len(inner) else 1)
            rest = c.b.Expand(size, c.b.ints(self.tail.shape[0]))
            vector = c.b.Concat([vector, rest], axis=0) if found else rest
        return c.cast(vector, DType.of("int32"))

    def part(self, c: Call, start: int, end: int | None) -> TensorArray:
        """Elements from one place to another.

        Raises:
            UnsupportedError: a loop has appended to the array.
        """
        if self.tail is not None:
            raise c.unsupported("a part of an array that a loop appended to")
        return replace(self, items=self.items[start:end])


@dataclass
class LoopArray:
    """An array inside of a loop that appends one element in each round.

    Attributes:
        window: the last elements before this round, the latest last.
        distances: for each operator that reads (by identity), how far behind the end it reads; 0 for what this round
            wrote.
        before: how many elements there were before the loop.
        rounds: how many rounds there were before this one.
        appended: the element of this round, once it is written.
    """

    window: Sequence[Value]
    distances: dict[int, int]
    before: int
    rounds: Value
    appended: Value | None = None

    def count(self, c: Call) -> Value:
        """How many elements there are, an int64 scalar."""
        return c.b.Add(self.rounds, c.b.scalar(self.before + (self.appended is not None)))

    def read(self, c: Call) -> Value:
        """The element that the operator reads."""
        distance = self.distances[id(c.op)]
        if distance == 0:
            assert self.appended is not None
            return self.appended
        return self.window[-distance]
