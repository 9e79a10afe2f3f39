"""The planner: several placers, the best plan wins.

No placer is best on all graphs, and all are cheap beside compiling. They run from the cheapest on until one reaches
the lower bound (on real models the first or second) or the work allowed is done. Work is counted, not timed, so that
the plan is the same on every machine.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import monotonic
from typing import Literal

from ge_core.errors import OptionError, PlanError
from ge_core.memory import fit
from ge_core.memory.buffers import CompoundBuffer, Rect
from ge_core.memory.check import validate
from ge_core.memory.lowest import learn
from ge_core.memory.plan import MemoryPlan
from ge_core.memory.problem import Problem, prepare
from ge_core.memory.profile import bound_of, granule_of, live_profile, outward, round_up
from ge_core.memory.skyline import on_top

Effort = Literal["fast", "default", "exact"]

WORK = {"fast": 150_000, "default": 15_000_000, "exact": 15_000_000}
"""What all may cost, in units of about 0.1 microseconds; the first pass always runs."""
PREPARING = 80
"""What one buffer costs before the first pass."""
MOST_PAIRS = {"fast": 1_000_000, "default": 6_000_000, "exact": 6_000_000}
"""Interfering pairs beyond which only the skyline runs."""
PASSES = 400
"""Learned passes at most; later ones seldom find anything."""


def place(
    buffers: Sequence[CompoundBuffer],
    *,
    effort: Effort = "default",
    capacity: int | None = None,
    time_limit: float | None = None,
) -> MemoryPlan:
    """Give every buffer a place in one arena that is as small as the portfolio can make it.

    Args:
        buffers: with distinct names. Buffers (or rectangles) that are empty or never live get place 0.
        effort: "fast" is for run time, when shapes change: a few passes. "default" goes on learning for up to a few
            seconds on inputs that are hard (real models are not). "exact" then searches for a perfect plan, for up to
            a minute; it is made for `pip install ge-engine[exact]`, without which it gets a hundredth as far, and skips
            inputs with compound or fixed buffers.
        capacity: bytes that the arena may have at most; the exact search stops as soon as it fits.
        time_limit: seconds after which no further placer starts. Without it the result depends on `buffers` alone
            (with "exact", as long as that minute is not reached).

    Raises:
        PlanError: two buffers with one name, fixed buffers that overlap, or no plan found within `capacity`.
        OptionError: an unknown effort.
    """
    if effort not in WORK:
        raise OptionError(f"unknown effort {effort!r}", expected="one of " + ", ".join(map(repr, WORK)))
    deadline = None if time_limit is None else monotonic() + time_limit
    granule = granule_of(buffers)
    profile = live_profile(buffers, granule)
    bound = bound_of(buffers, profile, granule)
    problem = prepare(buffers, granule, MOST_PAIRS[effort])
    _refuse(buffers, granule)
    best: list[int] = []
    size, planner = 0, "nothing to place"
    if len(problem):
        for planner_now, places in _candidates(problem, bound, effort):
            peak = max(map(int.__add__, places, problem.size))
            if not best or peak < size:
                best, size, planner = places, peak, planner_now
            if size <= bound or (deadline is not None and monotonic() > deadline):
                break
    if effort == "exact" and size > (bound if capacity is None else max(bound, capacity)) and not problem.dense:
        from ge_core.memory.exact import search  # late: it may bring numba, which takes half a second

        for places in search(problem, bound, size, capacity, deadline):
            best, size, planner = places, max(map(int.__add__, places, problem.size)), "exact"
    offsets = {buffer.name: buffer.fixed_offset or 0 for buffer in buffers}
    offsets.update(zip(problem.names, best, strict=True))
    no_reuse = sum(problem.size) if problem.uniform else sum(map(round_up, problem.size, problem.alignment))
    plan = MemoryPlan(size, offsets, bound, no_reuse, planner, profile)
    if capacity is not None and size > capacity:
        raise _too_large(buffers, plan, capacity, granule)
    return plan


def _candidates(problem: Problem, bound: int, effort: Effort) -> Iterator[tuple[str, list[int]]]:
    """(name, places) of one plan after the other, the cheapest first."""
    if problem.dense:
        for order in (fit.by_width, fit.by_size, fit.by_start):
            yield f"skyline {order.__name__}", on_top(problem, order(problem))
        return
    cost = 2 * problem.pairs * (2 if problem.links else 1) + 30 * len(problem)
    passes = (WORK[effort] - PREPARING * len(problem)) // cost
    neighbours = problem.neighbours()
    lessons = learn(problem, neighbours, bound)
    yield "lowest first", next(lessons)
    for order in (fit.by_size, fit.by_area, fit.by_width, fit.by_breadth, fit.by_start):
        passes -= 1
        if passes > 0:
            yield f"best fit {order.__name__}", fit.best_fit(problem, order(problem))
    for _ in range(min(PASSES, passes - 1)):
        yield "lowest first, learned", next(lessons)


def _refuse(buffers: Sequence[CompoundBuffer], granule: int) -> None:
    """Raise where the input contradicts itself."""
    counts = Counter(buffer.name for buffer in buffers)
    if len(counts) < len(buffers):
        twice = sorted(name for name, count in counts.items() if count > 1)
        raise PlanError("several buffers have one name", details=[repr(name) for name in twice[:20]])
    fixed = [_in_granules(buffer, granule) for buffer in buffers if buffer.fixed_offset is not None]
    if len(fixed) > 1:
        offsets = {buffer.name: buffer.fixed_offset or 0 for buffer in fixed}
        end = max((offsets[b.name] + r.offset + r.size for b in fixed for r in b.rects), default=0)
        clashes = validate(fixed, MemoryPlan(end, offsets, 0, 0, "fixed"))
        if clashes:
            raise PlanError(
                f"buffers with fixed offsets overlap (in units of {granule} bytes, which all alignments share)",
                details=[f"{v.buffer!r} and {v.other!r}: {v.detail}" for v in clashes[:20]],
                fix="move one of them, or leave its offset to the planner",
            )


def _in_granules(buffer: CompoundBuffer, granule: int) -> CompoundBuffer:
    """The buffer with its rectangles grown to whole granules, as the planner sees them."""
    rects = []
    for rect in buffer.rects:
        if rect.occupies:
            low, high = outward(rect, granule)
            rects.append(Rect(low, high - low, rect.start, rect.end))
    return replace(buffer, rects=tuple(rects))


def _live_at(buffer: CompoundBuffer, time: int, granule: int) -> int:
    """Bytes of one buffer that are live at `time`."""
    return max(((at, size) for at, size in live_profile([buffer], granule) if at <= time), default=(0, 0))[1]


def _too_large(buffers: Sequence[CompoundBuffer], plan: MemoryPlan, capacity: int, granule: int) -> PlanError:
    """The refusal of a capacity, with the buffers that are alive at the fullest moment."""
    peak = max(plan.profile, key=lambda entry: entry[1], default=(0, 0))[0]
    alive = [(size, b.name) for b in buffers if (size := _live_at(b, peak, granule))]
    alive.sort(key=lambda entry: (-entry[0], entry[1]))
    certain = plan.lower_bound > capacity
    return PlanError(
        f"the buffers need {plan.size} bytes, the arena has {capacity}",
        expected=f"at least {plan.lower_bound} bytes" + (", whatever the plan" if certain else ""),
        fix="give the arena more room or shorten lives" + ("" if certain else ", or try effort='exact'"),
        details=[f"alive at step {peak}: {name!r}, {size} bytes" for size, name in alive[:20]],
    )
