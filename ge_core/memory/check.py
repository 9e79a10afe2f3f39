"""An independent check of a plan: simple, slow enough to be obvious, and without a line of the placers."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ge_core.memory.buffers import CompoundBuffer
from ge_core.memory.plan import MemoryPlan

Kind = Literal["duplicate", "missing", "unknown", "misaligned", "fixed_moved", "out_of_arena", "overlap", "below_bound"]


@dataclass(frozen=True)
class Verdict:
    """One thing that is wrong with a plan.

    Attributes:
        kind: duplicate (two buffers have one name), missing (a buffer has no place), unknown (a place without a
            buffer), misaligned, fixed_moved (not where the caller wants it), out_of_arena (below 0 or past the
            end), overlap (two buffers hold one byte at one time), below_bound (smaller than its own lower bound).
        buffer: whose fault; empty when the plan's as a whole.
        detail: the numbers, for a person.
        other: the second buffer of an overlap.
    """

    kind: Kind
    buffer: str
    detail: str
    other: str = ""


def validate(buffers: Sequence[CompoundBuffer], plan: MemoryPlan) -> list[Verdict]:
    """Everything that is wrong with `plan`; an empty list when it is valid.

    A buffer that overlaps an earlier one is set aside, so that overlaps with it alone are not listed.
    """
    verdicts: list[Verdict] = []
    counts = Counter(buffer.name for buffer in buffers)
    verdicts += [Verdict("duplicate", name, f"{n} buffers have this name") for name, n in counts.items() if n > 1]
    verdicts += [Verdict("unknown", name, "no such buffer") for name in plan.offsets if name not in counts]
    if plan.size < plan.lower_bound:
        verdicts.append(Verdict("below_bound", "", f"{plan.size} bytes, bound {plan.lower_bound}"))
    rects: list[tuple[int, int, int, int, str]] = []
    for buffer in buffers:
        place = plan.offsets.get(buffer.name)
        if place is None:
            verdicts.append(Verdict("missing", buffer.name, "has no place"))
            continue
        if place % buffer.alignment:
            verdicts.append(Verdict("misaligned", buffer.name, f"at {place}, alignment {buffer.alignment}"))
        if buffer.fixed_offset is not None and place != buffer.fixed_offset:
            verdicts.append(Verdict("fixed_moved", buffer.name, f"at {place}, wanted {buffer.fixed_offset}"))
        held = [(r.start, r.end, place + r.offset, place + r.offset + r.size) for r in buffer.rects if r.occupies]
        if place < 0 or any(high > plan.size for _, _, _, high in held):
            verdicts.append(Verdict("out_of_arena", buffer.name, f"at {place} in {plan.size} bytes"))
        rects += [(*rect, buffer.name) for rect in _disjoint(held)]
    return verdicts + list(_overlaps(rects))


def _disjoint(rects: list[tuple[int, int, int, int]]) -> Iterator[tuple[int, int, int, int]]:
    """The same bytes at the same times as (start, end, low, high) that do not overlap each other."""
    if len(rects) < 2:
        yield from rects
        return
    times = sorted({time for start, end, _, _ in rects for time in (start, end)})
    for now, later in zip(times, times[1:], strict=False):
        reached = -1
        for low, high in sorted((low, high) for start, end, low, high in rects if start <= now < end):
            if high > reached:
                yield now, later, max(low, reached), high
                reached = high


def _overlaps(rects: list[tuple[int, int, int, int, str]]) -> Iterator[Verdict]:
    """Walk through time with the byte ranges that are live, which are disjoint as long as nothing is wrong."""
    events = [(end, 0, low, high, name) for _, end, low, high, name in rects]
    events += [(start, 1, low, high, name) for start, _, low, high, name in rects]
    live: list[tuple[int, int, str]] = []
    reported: set[tuple[str, str]] = set()
    refused: Counter[tuple[int, int, str]] = Counter()
    for time, born, low, high, name in sorted(events):
        entry = (low, high, name)
        at = bisect_left(live, entry)
        if not born:
            if refused[entry]:
                refused[entry] -= 1
            else:
                del live[at]
            continue
        near = live[max(at - 1, 0) : at + 1]
        clash = [(a, b, other) for a, b, other in near if a < high and low < b]
        if not clash:
            insort(live, entry)
            continue
        refused[entry] += 1
        a, b, other = clash[0]
        if (name, other) not in reported:
            reported.add((name, other))
            detail = f"bytes [{low}, {high}) and [{a}, {b}) at step {time}"
            yield Verdict("overlap", name, detail, other)
