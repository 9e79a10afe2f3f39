"""The exact tier: a depth-first search over canonical plans for one that fits a given height.

In a canonical plan every buffer rests on another one or on the ground, and buffers are placed from the lowest place
up, equal places by rank. Every plan can be brought into this form without growing, so that nothing is lost, and the
search only ever asks who comes next. The idea is MiniMalloc's (Moffitt, ASPLOS 2023); its prunings here:

- dominance: nobody is placed at or above a height below which somebody else still fits entirely;
- full moments: nobody is placed so high that what is left to place at some moment no longer fits above it;
- stranded buffers: who now lies too low to be next must still be lifted by a neighbour that is left;
- cuts: groups that no longer meet in time are searched one by one, ranked anew by the fullest moment of each.

Time is compressed to moments: the steps at which some buffer is born. The functions below are compiled by numba where
it is installed, and run as they are, with the same results, where it is not (some hundred times slower).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from math import gcd
from time import monotonic
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ge_core.memory.problem import Problem

Numbers = NDArray[np.int64]
Function = TypeVar("Function")

SOLVED, FAILED, GAVE_UP = range(3)
"""How a search ends."""
CHOOSE, OPEN, UNDO = range(3, 6)
"""What to do next in one: take the next choice of this node, open its next group, take the choice back."""
NOWHERE = 1 << 60
"""Above all heights."""
NODE, NODE_LIMIT, RAISED, PLACED = range(4)
"""What `Moving.counts` counts: nodes visited, nodes allowed, entries of `raised`, entries of `stack`."""

FIRST_NODES = 500
"""Nodes of the first attempts; each later round has twice as many."""
ROUNDS = 12
LARGEST = 5000
"""Problems with more buffers are not searched."""
SECONDS = 60.0
"""Ends the search where the caller gave no limit of his own."""


def compiled(function: Function) -> Function:
    """`function` compiled by numba and kept in its cache, or as it is where numba is absent."""
    try:
        numba: Any = import_module("numba")
    except ImportError:
        return function
    try:
        result: Function = numba.njit(cache=True)(function)
    except RuntimeError:  # no folder for the cache can be written
        result = numba.njit(function)
    return result


class Fixed(NamedTuple):
    """What does not change in one search."""

    capacity: int
    size: Numbers
    step: Numbers  # alignment
    first: Numbers  # moments [first, end) of a life
    end: Numbers
    pointer: Numbers  # neighbours of i: others[pointer[i] : pointer[i + 1]]
    others: Numbers


class Moving(NamedTuple):
    """What the search changes and takes back."""

    place: Numbers  # -1 where not placed
    floor: Numbers  # the lowest place above all placed neighbours
    remain: Numbers  # by moment: sum of the sizes not yet placed
    rank: Numbers
    raised: Numbers  # whose floor was raised, in order
    former: Numbers  # and what it was before
    stack: Numbers  # who was placed, in order
    counts: Numbers


@compiled
def candidates(fixed: Fixed, moving: Moving, members: Numbers, lowest: int, least_rank: int) -> Numbers:
    """Who may come next, the lowest first, then by rank; `members` are in order of rank."""
    limit = NOWHERE
    begin, end = fixed.first[members[0]], fixed.end[members[0]]
    for i in members:
        limit = min(limit, moving.floor[i] + fixed.size[i] - 1)
        begin = min(begin, fixed.first[i])
        end = max(end, fixed.end[i])
    for moment in range(begin, end):
        if moving.remain[moment] > 0:
            limit = min(limit, fixed.capacity - moving.remain[moment])
    found = np.empty(len(members), np.int64)
    count = 0
    for i in members:
        here = moving.floor[i]
        if lowest <= here <= limit and (here > lowest or moving.rank[i] > least_rank):
            at = count
            while at > 0 and moving.floor[found[at - 1]] > here:
                found[at] = found[at - 1]
                at -= 1
            found[at] = i
            count += 1
    return found[:count]


@compiled
def put(fixed: Fixed, moving: Moving, i: int) -> bool:
    """Place `i` on its floor; whether any neighbour is left to place above it."""
    top = moving.floor[i] + fixed.size[i]
    covered = False
    count = moving.counts
    for at in range(fixed.pointer[i], fixed.pointer[i + 1]):
        j = fixed.others[at]
        if moving.place[j] >= 0:
            continue
        covered = True
        if moving.floor[j] < top:
            moving.raised[count[RAISED]] = j
            moving.former[count[RAISED]] = moving.floor[j]
            count[RAISED] += 1
            step = fixed.step[j]
            moving.floor[j] = (top + step - 1) // step * step
    moving.place[i] = moving.floor[i]
    moving.stack[count[PLACED]] = i
    count[PLACED] += 1
    for moment in range(fixed.first[i], fixed.end[i]):
        moving.remain[moment] -= fixed.size[i]
    return covered


@compiled
def take_back(fixed: Fixed, moving: Moving, raised: int, placed: int) -> None:
    """Undo everything since `counts` had these entries."""
    count = moving.counts
    while count[PLACED] > placed:
        count[PLACED] -= 1
        i = moving.stack[count[PLACED]]
        moving.place[i] = -1
        for moment in range(fixed.first[i], fixed.end[i]):
            moving.remain[moment] += fixed.size[i]
    while count[RAISED] > raised:
        count[RAISED] -= 1
        moving.floor[moving.raised[count[RAISED]]] = moving.former[count[RAISED]]


@compiled
def fits(fixed: Fixed, moving: Moving, rest: Numbers, i: int) -> bool:
    """Whether `rest` may still fit now that `i` is placed: at each moment above the lowest possible next floor."""
    here = moving.place[i]
    begin, end = fixed.first[i], fixed.end[i]
    for j in rest:
        begin = min(begin, fixed.first[j])
        end = max(end, fixed.end[j])
    base = np.full(end - begin, NOWHERE, np.int64)
    for j in rest:
        low = moving.floor[j]
        if low + fixed.size[j] <= here:
            return False
        if low < here or (low == here and moving.rank[j] < moving.rank[i]):
            low = NOWHERE
            for at in range(fixed.pointer[j], fixed.pointer[j + 1]):
                k = fixed.others[at]
                if moving.place[k] < 0:
                    low = min(low, max(moving.floor[k], here) + fixed.size[k])
        if low + fixed.size[j] > fixed.capacity:
            return False
        for moment in range(fixed.first[j] - begin, fixed.end[j] - begin):
            base[moment] = min(base[moment], low)
    for moment in range(end - begin):
        if base[moment] < NOWHERE and base[moment] + moving.remain[begin + moment] > fixed.capacity:
            return False
    return True


@compiled
def groups(fixed: Fixed, rest: Numbers) -> tuple[Numbers, Numbers]:
    """The members of `rest` arranged by groups that do not meet in time, and where each group ends."""
    begin, end = fixed.first[rest[0]], fixed.end[rest[0]]
    for j in rest:
        begin = min(begin, fixed.first[j])
        end = max(end, fixed.end[j])
    crossed = np.zeros(end - begin + 1, np.int64)  # by border between moments: lives that cross it
    for j in rest:
        crossed[fixed.first[j] - begin + 1] += 1
        crossed[fixed.end[j] - begin] -= 1
    group = np.zeros(end - begin, np.int64)
    current = 0
    crossing = 0
    for moment in range(end - begin):
        crossing += crossed[moment]
        if crossing == 0 and moment > 0:
            current += 1
        group[moment] = current
    if current == 0:
        return rest, np.full(1, len(rest), np.int64)
    arranged = np.empty(len(rest), np.int64)
    ends = np.empty(current + 1, np.int64)
    count = filled = 0
    for g in range(current + 1):
        before = count
        for j in rest:
            if group[fixed.first[j] - begin] == g:
                arranged[count] = j
                count += 1
        if count > before:  # a moment at which none of them lives makes an empty group
            ends[filled] = count
            filled += 1
    return arranged, ends[:filled]


@compiled
def rerank(fixed: Fixed, moving: Moving, members: Numbers) -> Numbers:
    """Rank `members` by the fullest moment of their lives, then by number; returns them in this order."""
    fullest = np.empty(len(members), np.int64)
    order = np.empty(len(members), np.int64)
    for count in range(len(members)):
        j = members[count]
        most = 0
        for moment in range(fixed.first[j], fixed.end[j]):
            most = max(most, moving.remain[moment])
        at = count
        while at > 0 and (fullest[at - 1] < most or (fullest[at - 1] == most and order[at - 1] > j)):
            fullest[at] = fullest[at - 1]
            order[at] = order[at - 1]
            at -= 1
        fullest[at] = most
        order[at] = j
    for at in range(len(order)):
        moving.rank[order[at]] = at
    return order


@compiled
def descend(fixed: Fixed, moving: Moving, members: Numbers) -> int:
    """Place all `members`: `SOLVED`, `FAILED` (no plan exists) or `GAVE_UP` (too many nodes).

    A node is a group of buffers to place; its choices are its candidates, and each choice leaves groups that become
    nodes in turn. The path of nodes is kept here, since numba cannot store recursive functions in its cache.
    """
    count = moving.counts
    size = len(members) + 1
    depth = 0
    member_of, candidates_of = [members], [candidates(fixed, moving, members, 0, -1)]
    arranged_of, ends_of, ranks_of = [members], [members], [members]  # of the choice made; so is what follows
    chosen = np.zeros(size, np.int64)
    group = np.zeros(size, np.int64)
    raised = np.zeros(size, np.int64)
    placed = np.zeros(size, np.int64)
    covered = np.zeros(size, np.int64)
    todo = CHOOSE
    while True:
        if todo == CHOOSE:
            if chosen[depth] == len(candidates_of[depth]):
                todo = FAILED
                continue
            i = candidates_of[depth][chosen[depth]]
            chosen[depth] += 1
            raised[depth], placed[depth] = count[RAISED], count[PLACED]
            covered[depth] = put(fixed, moving, i)
            rest = member_of[depth][member_of[depth] != i]
            if len(rest) == 0:
                todo = SOLVED
            elif fits(fixed, moving, rest, i):
                arranged_of[depth], ends_of[depth] = groups(fixed, rest)
                group[depth] = 0
                todo = OPEN
            else:
                todo = UNDO
        elif todo == OPEN:
            at = group[depth]
            if at == len(ends_of[depth]):
                todo = SOLVED
                continue
            count[NODE] += 1
            if count[NODE] > count[NODE_LIMIT]:
                return GAVE_UP
            now = arranged_of[depth][ends_of[depth][at - 1] if at else 0 : ends_of[depth][at]]
            i = candidates_of[depth][chosen[depth] - 1]
            least_rank = moving.rank[i]
            if len(ends_of[depth]) > 1:
                ranks_of[depth] = moving.rank[now]
                now = rerank(fixed, moving, now)
                least_rank = -1
            depth += 1
            if depth == len(member_of):
                member_of.append(now)
                candidates_of.append(now)
                arranged_of.append(now)
                ends_of.append(now)
                ranks_of.append(now)
            member_of[depth] = now
            candidates_of[depth] = candidates(fixed, moving, now, moving.place[i], least_rank)
            chosen[depth] = 0
            todo = CHOOSE
        elif todo == UNDO:
            take_back(fixed, moving, raised[depth], placed[depth])
            # With nobody above it, the choice has nothing to do with the failure.
            todo = CHOOSE if covered[depth] else FAILED
        elif depth == 0:
            return todo
        else:
            depth -= 1
            if len(ends_of[depth]) > 1:
                at = group[depth]
                now = arranged_of[depth][ends_of[depth][at - 1] if at else 0 : ends_of[depth][at]]
                moving.rank[now] = ranks_of[depth]
            group[depth] += 1
            todo = OPEN if todo == SOLVED else UNDO


def search(
    problem: Problem, bound: int, best: int, capacity: int | None, deadline: float | None
) -> Iterator[list[int]]:
    """Ever lower plans below `best`, down to `bound` or the first one within `capacity`.

    Heights between the bound and the best plan are tried in turn, with node limits that double from round to round:
    a tight height is often found sooner than a loose one, since it prunes more.

    Args:
        problem: without links; others, and very large ones, are left alone.
        deadline: of `time.monotonic`; looked at between attempts.
    """
    unit = gcd(*problem.size, *problem.alignment)
    if problem.links is not None or len(problem) > LARGEST or sum(problem.size) // unit >= NOWHERE:
        return
    deadline = monotonic() + SECONDS if deadline is None else deadline
    neighbours = problem.neighbours()
    boards = [_Board(problem, neighbours, unit, order) for order in _orders(problem)]
    wanted = bound if capacity is None else max(bound, capacity)
    impossible = bound - unit
    nodes = FIRST_NODES
    for _ in range(ROUNDS):
        for height in _ladder(impossible + unit, best, wanted, unit):
            for board in boards:
                if monotonic() > deadline:
                    return
                if height >= best or height <= impossible:
                    break
                result, places = board.attempt(height, nodes)
                if result == FAILED:
                    impossible = height
                if result == SOLVED:
                    yield places
                    best = max(map(int.__add__, places, problem.size))
                    if best <= wanted or best <= impossible + unit:
                        return
        nodes *= 2


def _ladder(least: int, best: int, wanted: int, unit: int) -> list[int]:
    """Heights to try: what is wanted, then eight steps from the least possible one up to where it stops to help."""
    most = min(best - unit, wanted) if wanted > least else best - unit
    steps = (wanted, *(least + (most - least) * part // 8 for part in range(9)))
    return list(dict.fromkeys(height // unit * unit for height in steps if least <= height < best))


def _orders(problem: Problem) -> list[list[int]]:
    """The static orders: longest life first, largest area first, most moments first."""
    numbers = range(len(problem))
    life = [end - start for start, end in zip(problem.start, problem.end, strict=True)]
    first, last, _ = _moments(problem)
    return [
        sorted(numbers, key=lambda p: (-life[p], -problem.area[p])),
        sorted(numbers, key=lambda p: (-problem.area[p], -life[p])),
        sorted(numbers, key=lambda p: (first[p] - last[p], -problem.area[p])),
    ]


def _moments(problem: Problem) -> tuple[list[int], list[int], int]:
    """The first moment of each life, the one after its last, and the number of moments."""
    births = sorted(set(problem.start))
    first, last = np.searchsorted(births, problem.start), np.searchsorted(births, problem.end)
    return first.tolist(), last.tolist(), len(births)


class _Board:
    """One numbering of the buffers, on which a search can be run at any height."""

    def __init__(self, problem: Problem, neighbours: Sequence[Sequence[int]], unit: int, order: Sequence[int]) -> None:
        self.order = order
        self.unit = unit
        number = [0] * len(order)
        for at, p in enumerate(order):
            number[p] = at
        first, last, self.moments = _moments(problem)
        degrees = [0, *(len(neighbours[p]) for p in order)]
        self.fixed = Fixed(
            0,
            np.array([problem.size[p] // unit for p in order], np.int64),
            np.array([max(problem.alignment[p] // unit, 1) for p in order], np.int64),
            np.array([first[p] for p in order], np.int64),
            np.array([last[p] for p in order], np.int64),
            np.cumsum(degrees, dtype=np.int64),
            np.array([number[q] for p in order for q in neighbours[p]], np.int64),
        )

    def attempt(self, height: int, nodes: int) -> tuple[int, list[int]]:
        """Search a plan of at most `height` bytes in at most `nodes` nodes; (result, places)."""
        count = len(self.order)
        fixed = self.fixed._replace(capacity=height // self.unit)
        moving = Moving(
            place=np.full(count, -1, np.int64),
            floor=np.zeros(count, np.int64),
            remain=np.zeros(self.moments, np.int64),
            rank=np.arange(count),
            raised=np.empty(len(fixed.others) + 1, np.int64),
            former=np.empty(len(fixed.others) + 1, np.int64),
            stack=np.empty(count, np.int64),
            counts=np.array([0, nodes, 0, 0], np.int64),
        )
        for begin, end, size in zip(fixed.first, fixed.end, fixed.size, strict=True):
            moving.remain[begin:end] += size
        members = rerank(fixed, moving, np.arange(count))
        result = descend(fixed, moving, members)
        places = [0] * count
        for at, p in enumerate(self.order):
            places[p] = int(moving.place[at]) * self.unit
        return result, places
