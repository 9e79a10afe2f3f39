"""A planning problem prepared for the placers: canonical order and interference lists.

Two buffers interfere when rectangles of theirs are live at the same time. For each such pair of rectangles the
difference of the two places must stay out of one open interval; that is all a placer needs to know.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from ge_core.memory.buffers import CompoundBuffer, Rect
from ge_core.memory.profile import outward

Shape = tuple[tuple[int, int, int, int], ...]
"""Rectangles (start, end, low, high)."""
Link = tuple[int, int, int]
"""(other, low, high): with this buffer at `o`, the other may not lie in the open interval (o + low, o + high)."""


@dataclass(slots=True)
class Problem:
    """Buffers that occupy bytes, numbered in a canonical order that does not depend on names or input order.

    Attributes:
        names: the buffers' names.
        size: bytes from a buffer's place to the end of its last granule.
        start, end: the hull of a buffer's life.
        area: bytes x steps it holds.
        alignment: of each buffer's place; all 0 when `uniform`.
        uniform: all alignments equal the granule, so that every candidate place is aligned by itself.
        fixed: the caller's place, or None.
        rects: (start, end, low, high) in granules outward; empty when every buffer is one free rectangle.
        after: ``range(p + 1, after[p])`` are the later buffers alive together with `p` (hull against hull).
        before: the earlier buffers alive together with `p`. Empty when `dense`.
        links: None when every buffer is one rectangle and free to move: then places of interfering buffers are
            kept apart by their sizes alone. Else all links of `p`, in both directions.
        pairs: number of interfering pairs (of rectangles when there are links).
        dense: there are too many pairs to list them.
    """

    names: list[str]
    size: list[int]
    start: list[int]
    end: list[int]
    area: list[int]
    alignment: list[int]
    uniform: bool
    fixed: list[int | None]
    rects: list[list[tuple[int, int, int, int]]]
    after: list[int]
    before: list[list[int]]
    links: list[list[Link]] | None
    pairs: int
    dense: bool

    def __len__(self) -> int:
        return len(self.size)

    def neighbours(self) -> list[list[int]]:
        """The buffers that interfere with each one; empty for problems with links, which say it better."""
        return [[*early, *range(p + 1, self.after[p])] for p, early in enumerate(self.before)]


def prepare(buffers: Sequence[CompoundBuffer], granule: int, most_pairs: int) -> Problem:
    """Bring the buffers that occupy bytes into canonical order and list who interferes with whom.

    With more than `most_pairs` interfering pairs the lists are left empty and the problem is marked dense.
    """
    simple = True
    keyed: list[tuple[int, int, int, int, int, Shape, int, CompoundBuffer]] = []
    for buffer in buffers:
        rects = buffer.rects
        fixed = -1 if buffer.fixed_offset is None else buffer.fixed_offset
        if len(rects) == 1 and not rects[0].offset:
            rect = rects[0]
            if not rect.size or rect.end == rect.start:
                continue
            size = -(-rect.size // granule) * granule
            keyed.append((rect.start, -rect.end, -size, buffer.alignment, fixed, (), len(keyed), buffer))
            simple = simple and fixed < 0
        else:
            shape = _merged(rects, granule)
            if not shape:
                continue
            start, end, size = shape[0][0], max(r[1] for r in shape), max(r[3] for r in shape)
            if len(shape) == 1 and not shape[0][2]:
                shape = ()
            keyed.append((start, -end, -size, buffer.alignment, fixed, shape, len(keyed), buffer))
            simple = simple and not shape and fixed < 0
    keyed.sort()
    start_of = [key[0] for key in keyed]
    end_of = [-key[1] for key in keyed]
    size_of = [-key[2] for key in keyed]
    rects_of: list[list[tuple[int, int, int, int]]] = []
    if simple:
        area = [(e - s) * z for s, e, z in zip(start_of, end_of, size_of, strict=True)]
    else:
        rects_of = [
            list(key[5]) or [(start, end, 0, size)]
            for key, start, end, size in zip(keyed, start_of, end_of, size_of, strict=True)
        ]
        area = [sum((e - s) * (high - low) for s, e, low, high in rects) for rects in rects_of]
    alignments = [key[3] for key in keyed]
    uniform = all(alignment == granule for alignment in alignments)
    after = [bisect_left(start_of, end, p + 1) for p, end in enumerate(end_of)]
    pairs = sum(after) - len(after) * (len(after) + 1) // 2
    problem = Problem(
        names=[key[7].name for key in keyed],
        size=size_of,
        start=start_of,
        end=end_of,
        area=area,
        alignment=[0] * len(keyed) if uniform else alignments,
        uniform=uniform,
        fixed=[None if key[4] < 0 else key[4] for key in keyed],
        rects=rects_of,
        after=after,
        before=[],
        links=None,
        pairs=pairs,
        dense=pairs > most_pairs,
    )
    if not problem.dense:
        if simple:
            problem.before = _earlier(start_of, end_of)
        else:
            _link(problem, most_pairs)
    return problem


def _merged(rects: Sequence[Rect], granule: int) -> Shape:
    """The rectangles in granules outward, sorted; those of the same bytes that meet in time become one.

    A buffer that is taken over in place again and again thus is as plain as one that is used once.
    """
    lives: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for rect in rects:
        if rect.occupies:
            lives.setdefault(outward(rect, granule), []).append((rect.start, rect.end))
    shape = []
    for (low, high), spans in lives.items():
        spans.sort()
        start, end = spans[0]
        for next_start, next_end in spans[1:]:
            if next_start > end:
                shape.append((start, end, low, high))
                start, end = next_start, next_end
            end = max(end, next_end)
        shape.append((start, end, low, high))
    return tuple(sorted(shape))


def _earlier(start: Sequence[int], end: Sequence[int]) -> list[list[int]]:
    """For each of the items sorted by start: the earlier ones that are still alive at its start."""
    alive: list[int] = []
    lists = []
    for p, now in enumerate(start):
        alive = [j for j in alive if end[j] > now]
        if p and end[p - 1] > now:
            alive.append(p - 1)
        lists.append(alive)
    return lists


def _link(problem: Problem, most_pairs: int) -> None:
    """Fill `links` from all pairs of rectangles of different buffers that are alive together."""
    items = sorted((s, e, low, high, p) for p, rects in enumerate(problem.rects) for s, e, low, high in rects)
    links: list[list[Link]] = [[] for _ in problem.size]
    alive: list[tuple[int, int, int, int, int]] = []
    pairs = 0
    for item in items:
        now, _, low, high, p = item
        alive = [other for other in alive if other[1] > now]
        for _, _, low_q, high_q, q in alive:
            if q != p:
                links[p].append((q, low - high_q, high - low_q))
                links[q].append((p, low_q - high, high_q - low))
        pairs += len(alive)
        if pairs > most_pairs:
            problem.dense = True
            return
        alive.append(item)
    problem.links = links
    problem.pairs = pairs
