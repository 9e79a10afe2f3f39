"""Sliding windows over spatial axes: the arithmetic of convolutions and pools.

Per spatial axis, with effective kernel e = dilation * (kernel - 1) + 1:

    positions (floor) = floor((size + begin + end - e) / stride) + 1
    positions (ceil)  = min(ceil((size + begin + end - e) / stride) + 1, ceil((size + begin) / stride))

The second bound of the ceil form drops windows that would start in the padding after the input. SAME_UPPER and
SAME_LOWER give ceil(size / stride) positions and pad what that needs, the odd element after or before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ge_core.errors import GeError
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ops.schema import Schema

AUTO_PADS = ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER")


@dataclass(frozen=True)
class Windows:
    """Kernel sizes, strides, dilations and pads, one for each spatial axis.

    Kernel sizes are symbolic when they come from weights of unknown size, pads with SAME_*.
    """

    kernel: tuple[Size, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begin: tuple[Size, ...]
    end: tuple[Size, ...]

    @property
    def rank(self) -> int:
        return len(self.kernel)

    def extent(self, axis: int) -> Size:
        """Elements that one window spans, holes included."""
        return (self.kernel[axis] - 1) * self.dilations[axis] + 1

    def positions(self, spatial: Sequence[Size], ceil_mode: bool = False) -> tuple[Size, ...]:
        """Number of window positions along each axis, never below 0."""
        return tuple(self._positions(axis, size, ceil_mode) for axis, size in enumerate(spatial))

    def _positions(self, axis: int, size: Size, ceil_mode: bool) -> Size:
        stride, begin, end = self.strides[axis], self.begin[axis], self.end[axis]
        room = size + begin + end - self.extent(axis)
        if not ceil_mode:
            return dims.floordiv(room, stride) + 1
        count = dims.ceildiv(room, stride) + 1
        if dims.less_equal(end + stride, self.extent(axis)):
            return count  # the last window starts inside the input or the padding before it
        return dims.minimum(count, dims.ceildiv(size + begin, stride))

    def transposed(self, spatial: Sequence[Size], output_padding: Sequence[int]) -> tuple[Size, ...]:
        """Sizes of a transposed convolution's output: stride * (size - 1) + e + output_padding - pads."""
        return tuple(
            (size - 1) * self.strides[i] + self.extent(i) + output_padding[i] - self.begin[i] - self.end[i]
            for i, size in enumerate(spatial)
        )


class Attributes(Protocol):
    """A node's attributes, as an Infer or a Call shows them."""

    schema: Schema

    def attr(self, name: str, default: Any = None) -> Any: ...


def auto_pad_of(c: Attributes) -> str:
    """The attribute auto_pad, NOTSET for operators without it."""
    return str(c.attr("auto_pad")) if "auto_pad" in c.schema.attributes else "NOTSET"


def explicit_windows(c: Attributes, fail: Callable[[str], GeError], kernel: Sequence[Size], rank: int) -> Windows:
    """The windows that the attributes strides, dilations and pads describe; auto_pad is not read.

    Args:
        c: the node's attributes.
        fail: makes the error to raise.
        kernel: kernel sizes.
        rank: number of spatial axes.

    Raises:
        GeError: a list has the wrong length, or a number is out of range.
    """
    attributes = c.schema.attributes
    strides = tuple(c.attr("strides", (1,) * rank))
    dilations = tuple(c.attr("dilations", (1,) * rank)) if "dilations" in attributes else (1,) * rank
    pads = tuple(c.attr("pads", (0,) * (2 * rank)))
    for name, numbers, count in (
        ("kernel_shape", kernel, rank), ("strides", strides, rank), ("dilations", dilations, rank),
        ("pads", pads, 2 * rank),
    ):  # fmt: skip
        if len(numbers) != count:
            raise fail(f"{name} has {len(numbers)} numbers, expected {count} for {rank} spatial axes")
    for name, numbers in (("kernel_shape", kernel), ("strides", strides), ("dilations", dilations)):
        if any(isinstance(n, int) and n < 1 for n in numbers):
            raise fail(f"{name} is {list(numbers)}, every number must be at least 1")
    return Windows(tuple(kernel), strides, dilations, pads[:rank], pads[rank:])


def window_attributes(
    c: Attributes, fail: Callable[[str], GeError], kernel: Sequence[Size], spatial: Sequence[Size]
) -> Windows:
    """Like `explicit_windows`, with the pads that auto_pad asks for.

    Args:
        spatial: sizes of the input's spatial axes, which SAME_* needs.

    Raises:
        GeError: see `explicit_windows`.
    """
    rank = len(spatial)
    windows = explicit_windows(c, fail, kernel, rank)
    auto_pad = auto_pad_of(c)
    if auto_pad not in AUTO_PADS:
        raise fail(f"auto_pad is {auto_pad!r}, expected one of {', '.join(AUTO_PADS)}")
    if auto_pad == "NOTSET":
        return windows
    if auto_pad == "VALID":
        return replace(windows, begin=(0,) * rank, end=(0,) * rank)
    begin, end = [], []
    for axis, size in enumerate(spatial):
        stride = windows.strides[axis]
        reach = (dims.ceildiv(size, stride) - 1) * stride + windows.extent(axis)
        first, last = halves(dims.maximum(reach - size, 0), upper=auto_pad == "SAME_UPPER")
        begin.append(first)
        end.append(last)
    return replace(windows, begin=tuple(begin), end=tuple(end))


def halves(total: Size, upper: bool) -> tuple[Size, Size]:
    """Padding split in two; the odd element goes to the end when `upper`, else to the beginning."""
    small = dims.floordiv(total, 2)
    return (small, total - small) if upper else (total - small, small)


def output_positions(
    windows: Windows, auto_pad: str, spatial: Sequence[Size], ceil_mode: bool, fail: Callable[[str], GeError]
) -> tuple[Size, ...]:
    """Number of window positions along each axis; for SAME_* simply ceil(size / stride).

    Raises:
        GeError: a window is larger than the padded input.
    """
    if auto_pad.startswith("SAME"):
        return tuple(dims.ceildiv(size, windows.strides[i]) for i, size in enumerate(spatial))
    out = windows.positions(spatial, ceil_mode)
    for axis, count in enumerate(out):
        if dims.less_equal(count, -1):
            raise fail(
                f"the window of {windows.extent(axis)} elements along spatial axis {axis} is larger than the "
                f"padded input of {spatial[axis] + windows.begin[axis] + windows.end[axis]}"
            )
    return out
