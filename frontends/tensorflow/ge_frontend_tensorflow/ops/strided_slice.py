"""StridedSlice with all of its masks, and the operators that write to such a slice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.graph import Value

from ..call import Call
from ..complex_pair import ComplexPair
from ..registry import tf_op
from ..variables import Variable
from .shape import like, parts_of, shape_of

_LOW, _HIGH = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@dataclass
class _Entry:
    """What happens to one axis of the input: start, end and step of a slice.

    Attributes:
        shrink: the axis is one element and is left out of the result.
    """

    start: Size
    end: Size
    step: int
    shrink: bool


@dataclass
class Slices:
    """A strided slice: an entry for each axis of the input, and where new axes stand in the result."""

    entries: list[_Entry | None]
    new_axes: list[int]

    @property
    def shrunk(self) -> list[int]:
        return [i for i, e in enumerate(self.entries) if e is not None and e.shrink]


def read_slices(c: Call, rank: int, begin: Value, end: Value, strides: Value) -> Slices:
    """The slice that the arguments and masks of a node describe."""
    starts, ends = c.sizes(begin), c.sizes(end)
    steps = c.ints(strides, "strides")
    assert starts is not None and ends is not None
    masks = {name: c.attr(f"{name}_mask") for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")}

    def bit(name: str, i: int) -> bool:
        return bool(masks[name] >> i & 1)

    count = len(steps)
    used = sum(not bit("new_axis", i) or bit("ellipsis", i) for i in range(count))
    has_ellipsis = any(bit("ellipsis", i) for i in range(count))
    entries: list[_Entry | None] = []
    new_axes: list[int] = []
    place = 0  # in the result before axes are shrunk
    for i in range(count):
        if bit("ellipsis", i):
            width = rank - (used - 1)
            entries += [None] * width
            place += width
        elif bit("new_axis", i):
            new_axes.append(place)
            place += 1
        else:
            entries.append(_entry(starts[i], ends[i], steps[i], bit("begin", i), bit("end", i), bit("shrink_axis", i)))
            place += 0 if entries[-1].shrink else 1  # type: ignore[union-attr]
    if not has_ellipsis:
        entries += [None] * (rank - len(entries))
    if len(entries) != rank:
        raise c.unsupported(f"{len(entries)} slices of a tensor of rank {rank}")
    return Slices(entries, new_axes)


def _entry(start: Size, end: Size, step: int, from_first: bool, to_last: bool, shrink: bool) -> _Entry | None:
    if shrink:
        return _Entry(start, start, 1, True)
    if from_first:
        start = 0 if step > 0 else _HIGH
    if to_last:
        end = _HIGH if step > 0 else _LOW
    if step == 1 and from_first and to_last:
        return _Entry(0, _HIGH, 1, False)
    return _Entry(start, end, step, False)


def sliced(c: Call, x: Value, slices: Slices) -> Value:
    """The slice of a tensor."""
    b = c.b
    axes = [i for i, e in enumerate(slices.entries) if e is not None and not e.shrink and not _whole(e)]
    if axes:
        chosen = [e for i, e in enumerate(slices.entries) if i in axes and e is not None]
        x = b.Slice(
            x, b.ints([e.start for e in chosen]), b.ints([e.end for e in chosen]), b.ints(axes),
            b.ints([e.step for e in chosen]),
        )  # fmt: skip
    for axis in reversed(slices.shrunk):
        entry = slices.entries[axis]
        assert entry is not None
        x = b.Gather(x, b.scalar(entry.start), axis=axis)
    return c.unsqueeze(x, *slices.new_axes)


def _whole(entry: _Entry) -> bool:
    return entry.step == 1 and isinstance(entry.start, int) and entry.start == 0 and entry.end == _HIGH


@tf_op("StridedSlice", complex=True)
def strided_slice(c: Call, input: Value | ComplexPair, begin: Value, end: Value, strides: Value) -> Any:
    """StridedSlice(input, begin, end, strides) -> output; T, Index, begin_mask, end_mask, ellipsis_mask,
    new_axis_mask, shrink_axis_mask
    """
    known = _of_sizes(c, input, begin, end, strides)
    if known is not None:
        return known
    slices = read_slices(c, len(shape_of(input)), begin, end, strides)
    if any(e is not None and e.step == 0 for e in slices.entries):
        raise c.unsupported("a stride of 0")
    return like(input, sliced(c, parts_of(input), slices))


def _of_sizes(c: Call, x: Any, begin: Value, end: Value, strides: Value) -> Value | None:
    """The slice of a vector of sizes, computed here: what shape arithmetic is made of."""
    if not isinstance(x, Value) or x.content is None or x.rank != 1:
        return None
    starts, ends, steps = (c.maybe_sizes(v) for v in (begin, end, strides))
    if starts is None or ends is None or steps is None or len(steps) != 1:
        return None
    start, last, step = starts[0], ends[0], steps[0]
    if not all(isinstance(v, int) for v in (start, last, step)) or c.attr("ellipsis_mask") or c.attr("new_axis_mask"):
        return None
    assert isinstance(start, int) and isinstance(last, int) and isinstance(step, int)
    if c.attr("shrink_axis_mask") & 1:
        if not -len(x.content) <= start < len(x.content):
            raise c.unsupported(f"the element {start} of {len(x.content)}")
        return c.scalar(x.content[start], x.dtype)
    found = x.content[
        slice(None if c.attr("begin_mask") & 1 else start, None if c.attr("end_mask") & 1 else last, step)
    ]
    return c.size_tensor(found, x.dtype)


@tf_op("TensorStridedSliceUpdate")
def tensor_strided_slice_update(c: Call, input: Value, begin: Value, end: Value, strides: Value, value: Value) -> Value:
    """TensorStridedSliceUpdate(input, begin, end, strides, value) -> output; T, Index, begin_mask, end_mask,
    ellipsis_mask, new_axis_mask, shrink_axis_mask
    """
    return _updated(c, input, begin, end, strides, value)


@tf_op("ResourceStridedSliceAssign", raw=True)
def resource_strided_slice_assign(
    c: Call, ref: Any, begin: Value, end: Value, strides: Value, value: Value
) -> list[Any]:
    """ResourceStridedSliceAssign(ref, begin, end, strides, value); T, Index, begin_mask, end_mask, ellipsis_mask,
    new_axis_mask, shrink_axis_mask
    """
    assert isinstance(ref, Variable)
    store = c.converter.store
    store.write(ref, _updated(c, store.read(ref), begin, end, strides, value))
    return []


def _updated(c: Call, data: Value, begin: Value, end: Value, strides: Value, value: Value) -> Value:
    """`data` with a slice replaced: positions are sliced the same way and scattered to."""
    b = c.b
    slices = read_slices(c, data.rank, begin, end, strides)
    total = data.tensor.elements
    positions = c.reshape(b.Range(b.scalar(0), b.scalar(total), b.scalar(1)), data.shape)
    chosen = sliced(c, positions, slices)
    flat = c.reshape(data, (total,))
    count = dims.product(chosen.shape)
    updates = c.reshape(c.expand(value, chosen.shape), (count,))
    rows = c.reshape(chosen, (count,))
    return c.reshape(b.ScatterElements(flat, rows, updates, axis=0), data.shape)
