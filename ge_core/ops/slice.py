"""Type rule of Slice: symbolic sizes of strided ranges."""

from __future__ import annotations

from ge_core.ir import dims
from ge_core.ir.constant import Content
from ge_core.ir.dims import Dim, Size
from ge_core.ir.types import TensorType, Type
from ge_core.ops.infer import Infer
from ge_core.ops.registry import type_rule
from ge_core.ops.shape import axes_of, length_of

# Ends at and beyond these mean "all the rest" in exported models.
_FAR = 2**31 - 1


@type_rule("Slice")
def slice_(c: Infer) -> Type:
    shape = c.shape(0)
    starts, ends = c.content(1), c.content(2)
    count = len(starts) if starts is not None else length_of(c, 1)
    axes = axes_of(c, 3, len(shape)) if c.has(3) else tuple(range(count))
    steps: Content | None = c.content(4) if c.has(4) else (1,) * count
    if axes is None:
        return TensorType(c.dtype(0), tuple(c.data_dim(0, i, 0, d) for i, d in enumerate(shape)))
    if len(axes) != count or any(e is not None and len(e) != count for e in (ends, steps)):
        raise c.error("starts, ends, axes and steps differ in length")
    out = list(shape)
    for k, axis in enumerate(axes):
        step = 1 if steps is None else steps[k]
        if step == 0:
            raise c.error(f"the step of axis {axis} is 0")
        size: Size | None = None
        if starts is not None and ends is not None and steps is not None and isinstance(step, int):
            size = sliced(shape[axis], starts[k], ends[k], step)
        out[axis] = c.data_dim(0, axis, 0, shape[axis]) if size is None else size
    content = c.content(0)
    if content is not None and len(shape) == 1 and isinstance(out[0], int):
        part = _part(content, starts, ends, steps)
        if part is not None:
            c.set_content(0, part)
    return TensorType(c.dtype(0), tuple(out))


def _part(content: Content, starts: Content | None, ends: Content | None, steps: Content | None) -> Content | None:
    """The elements of a sliced vector."""
    if starts == ():
        return content
    if starts is None or ends is None or steps is None:
        return None
    start, end, step = starts[0], ends[0], steps[0]
    if isinstance(start, Dim) or isinstance(end, Dim) or isinstance(step, Dim):
        return None
    return content[start:end:step]


def sliced(size: Size, start: Size, end: Size, step: int) -> Size | None:
    """How many elements start:end:step takes of an axis, with Python's rules; None when a sign is unknown."""
    forward = step > 0
    # positions: forward in 0..size, backward in -1..size-1
    low: Size = 0 if forward else -1
    high: Size = size if forward else size - 1
    first, last = _position(start, size, low, high), _position(end, size, low, high)
    if first is None or last is None:
        return None
    if forward and dims.equal(first, 0) is True:
        return dims.ceildiv(last, step)  # a size is not negative, so no position is
    length = last - first if forward else first - last
    return dims.maximum(0, dims.ceildiv(length, abs(step)))


def _position(at: Size, size: Size, low: Size, high: Size) -> Size | None:
    if isinstance(at, int):
        if at >= _FAR:
            return high
        if at <= -_FAR:
            return low
    if dims.less_equal(at, -1) is True:
        at = at + size
    elif dims.less_equal(0, at) is not True:
        return None
    elif low == 0:
        return 0 if at == 0 else dims.minimum(at, high)
    return dims.maximum(low, dims.minimum(at, high))
