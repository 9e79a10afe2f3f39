"""Placing buffers one by one, each in the tightest gap that the earlier ones leave.

The order decides the result. By size is the strongest single order (Pisarchyk and Lee, "Efficient Memory Management
for Deep Neural Net Inference", 2020), but each of the others wins on some graphs, and all are cheap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ge_core.memory.problem import Problem


def by_size(problem: Problem) -> list[int]:
    """The largest first; among equals the longest living."""
    size, start, end = problem.size, problem.start, problem.end
    return sorted(range(len(size)), key=[(-z, s - e) for z, s, e in zip(size, start, end, strict=True)].__getitem__)


def by_width(problem: Problem) -> list[int]:
    """The longest living first; among equals the largest."""
    size, start, end = problem.size, problem.start, problem.end
    return sorted(range(len(size)), key=[(s - e, -z) for z, s, e in zip(size, start, end, strict=True)].__getitem__)


def by_area(problem: Problem) -> list[int]:
    """The largest product of size and life first."""
    return sorted(range(len(problem)), key=[-area for area in problem.area].__getitem__)


def by_start(problem: Problem) -> list[int]:
    """In order of birth: what an allocator at run time would see."""
    return list(range(len(problem)))


def by_breadth(problem: Problem) -> list[int]:
    """The buffers alive at the fullest moment first, the largest of them first; then the next fullest moment."""
    size, end = problem.size, problem.end
    births: dict[int, list[int]] = {}
    for p, time in enumerate(problem.start):
        births.setdefault(time, []).append(p)
    alive: list[int] = []
    moments = []
    for time, born in births.items():
        alive = [p for p in alive if end[p] > time] + born
        moments.append((-sum(size[p] for p in alive), time, alive))
    moments.sort()
    seen = [False] * len(size)
    order: list[int] = []
    for _, _, members in moments:
        fresh = [p for p in members if not seen[p]]
        for p in sorted(fresh, key=lambda p: -size[p]):
            seen[p] = True
            order.append(p)
    return order


def best_fit(problem: Problem, order: Sequence[int]) -> list[int]:
    """Place in `order`, each at the lower end of the smallest gap that holds it, else above everything near it.

    Returns one place per buffer. O(pairs x log of a buffer's neighbours).
    """
    if problem.links is not None:
        return _fit_links(problem, problem.links, order)
    size, alignment, before, after = problem.size, problem.alignment, problem.before, problem.after
    taken: list[list[tuple[int, int]]] = [[] for _ in size]
    place = [0] * len(size)
    for p in order:
        here = tightest(taken[p], size[p], alignment[p])
        place[p] = here
        block = (here, here + size[p])
        for blocks in taken[p + 1 : after[p]]:
            blocks.append(block)
        for q in before[p]:
            taken[q].append(block)
    return place


def _fit_links(problem: Problem, links: Sequence[Sequence[tuple[int, int, int]]], order: Iterable[int]) -> list[int]:
    taken: list[list[tuple[int, int]]] = [[] for _ in links]
    place = [-1] * len(links)
    fixed = [p for p, at in enumerate(problem.fixed) if at is not None]
    for p in (*fixed, *order):
        if place[p] >= 0:
            continue
        at = problem.fixed[p]
        here = tightest(taken[p], 0, problem.alignment[p]) if at is None else at
        place[p] = here
        for q, low, high in links[p]:
            taken[q].append((here + low, here + high))
    return place


def tightest(taken: list[tuple[int, int]], size: int, alignment: int) -> int:
    """The place of `size` bytes in the smallest sufficient gap between the `taken` ranges; sorts them.

    With size 0 the ranges are the places that are not allowed (both ends excluded).
    """
    taken.sort()
    reached = 0
    best = -1
    least = 0
    for low, high in taken:
        slack = low - reached - size
        if slack >= 0 and (best < 0 or slack < least):
            best, least = reached, slack
        if high > reached:
            reached = -(-high // alignment) * alignment if alignment else high
    return reached if best < 0 else best
