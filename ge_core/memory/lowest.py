"""Lowest first: always place the buffer whose lowest possible place is the lowest of all; weights break the ties.

Placed from the ground up nothing can be left below, so that a buffer's lowest place is the highest end of its placed
neighbours. What remains free is the choice among buffers that could start at the same height, and that choice is
learned: after each pass the buffers that ended too high gain weight and go earlier in the next one, while all
weights fade back to where they began.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heapreplace

from ge_core.memory.problem import Link, Problem

ONE = 1024
"""The weights' unit: one doubling of a buffer's area."""
GAIN = 2 * ONE
"""What a buffer gains when it ends above the aim."""
NOISE = 450
"""Each weight is raised by a random part of this, anew in every pass."""
FADE = 63, 64
"""Of what a buffer has gained, this part (a fraction) is left after a pass."""


def log2(value: int, largest: int) -> int:
    """log2(value / largest) in units of `ONE`, in integers alone, so that all platforms agree; 0 < value <= largest.

    Linear between powers of two, which is monotone and off by 0.09 at most.
    """
    scaled = (value << 64) // largest or 1
    power = scaled.bit_length() - 1
    return (power - 64) * ONE + ((scaled * ONE) >> power) - ONE


def lowest_first(problem: Problem, neighbours: Sequence[Sequence[int]], order: Sequence[int]) -> list[int]:
    """Place from the ground up; among buffers with the same lowest place the first in `order` goes first."""
    if problem.links is not None:
        return _lowest_links(problem, problem.links, order)
    size, alignment = problem.size, problem.alignment
    count = len(size)
    floor = [0] * count
    place = [0] * count
    heap = []  # floor * count + rank: floors only rise, so that a stale entry is merely too low
    for rank, p in enumerate(order):
        here = floor[p]
        if here:
            heap.append(here * count + rank)
            continue
        top = size[p]
        for q in neighbours[p]:
            if floor[q] < top:
                floor[q] = top
    heapify(heap)
    while heap:
        claimed, rank = divmod(heap[0], count)
        p = order[rank]
        here = floor[p]
        step = alignment[p]
        if step:
            here = -(-here // step) * step
        if here > claimed:
            heapreplace(heap, here * count + rank)
            continue
        heappop(heap)
        place[p] = here
        top = here + size[p]
        for q in neighbours[p]:
            if floor[q] < top:
                floor[q] = top
    return place


def _lowest_links(problem: Problem, links: Sequence[Sequence[Link]], order: Sequence[int]) -> list[int]:
    """The same for buffers of several rectangles or fixed places, under which free places may remain."""
    count = len(links)
    taken: list[list[tuple[int, int]]] = [[] for _ in links]
    floor = [0] * count
    stale = [False] * count
    place = [0] * count

    def put(p: int, here: int) -> None:
        place[p] = here
        for q, low, high in links[p]:
            low, high = here + low, here + high
            taken[q].append((low, high))
            if low < floor[q] < high:
                stale[q] = True

    heap = []
    for rank, p in enumerate(order):
        at = problem.fixed[p]
        if at is None:
            heap.append(rank)
        else:
            put(p, at)
    heapify(heap)
    while heap:
        claimed, rank = divmod(heap[0], count)
        p = order[rank]
        if stale[p]:
            stale[p] = False
            floor[p] = here = first_free(taken[p], claimed, problem.alignment[p])
            if here > claimed:
                heapreplace(heap, here * count + rank)
                continue
        heappop(heap)
        put(p, claimed)
    return place


def first_free(taken: list[tuple[int, int]], start: int, alignment: int) -> int:
    """The lowest aligned place from `start` on that lies strictly inside none of the `taken` ranges."""
    taken.sort()
    for low, high in taken:
        if low < start < high:
            start = -(-high // alignment) * alignment if alignment else high
    return start


def learn(problem: Problem, neighbours: Sequence[Sequence[int]], bound: int) -> Iterator[list[int]]:
    """An endless row of passes of `lowest_first`, each after the lessons of the ones before. Deterministic.

    Args:
        bound: the height to aim for; the aim moves from the best pass so far towards it.
    """
    size = problem.size
    count = len(size)
    largest = max(problem.area)
    start = [log2(area, largest) for area in problem.area]
    gained = [0] * count
    noise = [0] * count
    best = -1
    state = 1
    while True:
        weight = [-(s + g + e) for s, g, e in zip(start, gained, noise, strict=True)]
        order = sorted(range(count), key=weight.__getitem__)
        place = lowest_first(problem, neighbours, order)
        yield place
        top = [here + z for here, z in zip(place, size, strict=True)]
        peak = max(top)
        best = peak if best < 0 else min(best, peak)
        aim = 9 * best + bound  # ten times the height to stay below: a tenth of the way from the best to the bound
        gained = [g * FADE[0] // FADE[1] + (GAIN if 10 * t > aim else 0) for g, t in zip(gained, top, strict=True)]
        for p in range(count):
            state = (state * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF
            noise[p] = (state >> 33) % NOISE
