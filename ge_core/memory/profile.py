"""Live bytes over time, and the bound that follows: no arena is smaller than the largest live sum.

All bytes are counted in granules (the greatest common divisor of the alignments). Every place is a multiple of the
granule, so that two buffers never share one, and the bound that counts whole granules is the sharper one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate
from math import gcd

from ge_core.memory.buffers import CompoundBuffer, Rect


def granule_of(buffers: Iterable[CompoundBuffer]) -> int:
    """The greatest common divisor of all alignments; 1 when there is no buffer."""
    return gcd(*{buffer.alignment for buffer in buffers}) or 1


def round_up(size: int, granule: int) -> int:
    """The smallest multiple of `granule` that is not below `size`."""
    return -(-size // granule) * granule


def outward(rect: Rect, granule: int) -> tuple[int, int]:
    """The half-open byte range of the granules that `rect` touches, relative to its buffer."""
    return rect.offset // granule * granule, round_up(rect.offset + rect.size, granule)


def live_profile(buffers: Sequence[CompoundBuffer], granule: int) -> tuple[tuple[int, int], ...]:
    """Pairs (time, bytes live from then on), in order of time; the last one has 0 bytes."""
    change: dict[int, int] = {}
    pieces: list[tuple[int, int, int]] = []
    for buffer in buffers:
        rects = buffer.rects
        if len(rects) != 1:
            pieces += _live_pieces(rects, granule)
            continue
        rect = rects[0]
        start, end = rect.start, rect.end
        if rect.size and start < end:
            low = rect.offset // granule * granule
            size = -(-(rect.offset + rect.size) // granule) * granule - low
            change[start] = change.get(start, 0) + size
            change[end] = change.get(end, 0) - size
    for start, end, size in pieces:
        change[start] = change.get(start, 0) + size
        change[end] = change.get(end, 0) - size
    times = sorted(change)
    return tuple(zip(times, accumulate(map(change.__getitem__, times)), strict=True))


def _live_pieces(rects: Sequence[Rect], granule: int) -> Iterable[tuple[int, int, int]]:
    """(start, end, bytes) of one buffer; bytes that several of its rectangles share count once."""
    times = sorted({time for rect in rects if rect.occupies for time in (rect.start, rect.end)})
    for start, end in zip(times, times[1:], strict=False):
        ranges = sorted(outward(rect, granule) for rect in rects if rect.occupies and rect.start <= start < rect.end)
        total = reached = 0
        for low, high in ranges:
            total += max(0, high - max(low, reached))
            reached = max(reached, high)
        yield start, end, total


def bound_of(buffers: Sequence[CompoundBuffer], profile: Sequence[tuple[int, int]], granule: int) -> int:
    """The largest live sum of `profile`, or the end of the last fixed buffer when that is larger."""
    live = max((size for _, size in profile), default=0)
    fixed = (
        buffer.fixed_offset + round_up(rect.offset + rect.size, granule)
        for buffer in buffers
        if buffer.fixed_offset is not None
        for rect in buffer.rects
        if rect.occupies
    )
    return max(live, *fixed, 0)


def lower_bound(buffers: Sequence[CompoundBuffer]) -> int:
    """Bytes below which no plan of these buffers exists: the largest sum of live granules over time.

    The bound holds for any placement; it is reached on nearly all real models, but finding such a placement is
    NP-complete (dynamic storage allocation). A fixed buffer's end counts too.
    """
    granule = granule_of(buffers)
    return bound_of(buffers, live_profile(buffers, granule), granule)
