"""Lists of tensors (TensorList, TensorArray): one dense tensor whose first axis counts the elements."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

if TYPE_CHECKING:
    from .call import Call

Partial = tuple[int | None, ...]


@dataclass(frozen=True)
class TensorList:
    """A list at one moment; writing gives another list.

    Attributes:
        element: the shape of an element as far as the model says it, None for nothing.
        length: how many elements there are.
        items: [length, *element]; None as long as nothing was written.
    """

    dtype: DType
    element: Partial | None
    length: Size
    items: Value | None = None

    def element_shape(self) -> tuple[Size, ...] | None:
        """The sizes of an element, None when nothing tells them."""
        if self.items is not None:
            return self.items.shape[1:]
        if self.element is None or None in self.element:
            return None
        return tuple(size for size in self.element if size is not None)

    def dense(self, c: Call, shape: tuple[Size, ...] | None = None) -> Value:
        """The items; zeros of an element shape where nothing was written.

        Raises:
            UnsupportedError: no shape is known.
        """
        if self.items is not None:
            return self.items
        shape = self.element_shape() if shape is None else shape
        if shape is None:
            raise c.unsupported("a list of which nothing tells the shape of its elements")
        return c.full((self.length, *shape), 0, self.dtype)

    def written(self, items: Value) -> TensorList:
        """The list with other items."""
        return replace(self, items=items, length=items.shape[0])


def set_item(c: Call, list: TensorList, index: Value, item: Value, grow: bool) -> TensorList:
    """`list` with one element replaced; `grow` allows an index behind the end."""
    b = c.b
    place = c.int64(index)
    known = place.content
    if known is not None and dims.equal(known[0], list.length) is True and grow:
        return push_back(c, list, item)
    if known == (0,) and dims.equal(list.length, 1) is True:
        return list.written(c.unsqueeze(item, 0))  # nothing is left of what was there
    items = list.dense(c, item.shape)
    if grow:
        behind = b.Max([b.Sub(b.Add(place, 1), b.scalar(list.length)), 0])
        bound = behind.content or b.ge.BindDim(behind).content
        assert bound is not None
        if dims.equal(bound[0], 0) is not True:
            items = b.Concat([items, c.full((bound[0], *item.shape), 0, list.dtype)], axis=0)
    rows = c.reshape(place, (1, 1))
    return list.written(b.ScatterND(items, rows, c.unsqueeze(item, 0)))


def push_back(c: Call, list: TensorList, item: Value) -> TensorList:
    """`list` with one more element at its end."""
    row = c.unsqueeze(item, 0)
    if list.items is None and dims.equal(list.length, 0) is True:
        return list.written(row)
    return list.written(c.b.Concat([list.dense(c, item.shape), row], axis=0))


def get_item(c: Call, list: TensorList, index: Value, shape: tuple[Size, ...] | None) -> Value:
    """One element."""
    known = list.element_shape() or shape
    if list.items is None and known is not None:
        return c.full(known, 0, list.dtype)
    found: Value = c.b.Gather(list.dense(c), c.int64(index), axis=0)
    return found
