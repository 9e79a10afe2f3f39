"""The order of least peak by search: exactly while the number of states allows it, else by a beam.

A state is the set of operators that have run; the bytes that live then depend on the set alone. The search takes the
state whose path had the lowest peak so far, among equals the longest path, then the one with the fewest live bytes,
so that the first one that is complete is optimal. Before a state branches, every ready operator that leaves no more
bytes live than before and fits under the path's peak runs at once: moved to the front of any continuation it can only
lower what follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from operator import itemgetter
from typing import Any

from ge_core.plan.order_graph import OrderGraph

Step = tuple[int, int, int]
"""(operator, bytes in use while it runs, bytes live after it)."""


@dataclass(frozen=True)
class Found:
    """What a search has to say.

    Attributes:
        order: a better order than the caller's, if one was found.
        exhausted: nothing better exists than `order`, or than the caller's when there is none.
    """

    order: list[int] | None
    exhausted: bool


STATES = 100_000
"""Waiting states at most, which bounds the memory of the search."""

_State = tuple[int, int, list[int], "tuple[object, int] | None"]
"""(operators that have run, bytes live, ready operators, path: linked back from the last operator)."""


class _Machine:
    """Runs operators of one graph on states: bit masks of the operators that have run."""

    def __init__(self, graph: OrderGraph) -> None:
        before, self.after = graph.precedence()
        self.needs = [sum(1 << first for first in ops) for ops in before]
        self.makes = [0] * graph.ops
        self.keeps = [0] * graph.ops
        self.frees: list[list[tuple[int, int]]] = [[] for _ in range(graph.ops)]
        self.start = 0
        readers = [sum(1 << consumer for consumer in value.consumers) for value in graph.values]
        for value, mask in zip(graph.values, readers, strict=True):
            lasting = value.is_output or bool(value.consumers)
            if value.producer >= 0:
                self.makes[value.producer] += value.size
                self.keeps[value.producer] += value.size if lasting else 0
            elif lasting:
                self.start += value.size
            if not value.is_output and value.size:
                for consumer in value.consumers:
                    self.frees[consumer].append((mask, value.size))
        self.reuses: list[list[tuple[int, int, int, int]]] = [[] for _ in range(graph.ops)]
        for op, pairs in graph.pairs_of().items():
            self.reuses[op] = [(readers[read], graph.values[made].size, made, read) for made, read in pairs]
        self.evaluations = 0

    def run(self, done: int, live: int, op: int) -> Step:
        """The step of running `op` on the state `done` with `live` bytes."""
        self.evaluations += 1
        done |= 1 << op
        during = live + self.makes[op]
        after = live + self.keeps[op]
        for readers, size in self.frees[op]:
            if readers & done == readers:
                after -= size
        reuses = self.reuses[op]
        if len(reuses) == 1:
            if reuses[0][0] & done == reuses[0][0]:
                during -= reuses[0][1]
        elif reuses:
            matched: set[int] = set()
            for readers, size, made, read in reuses:
                if readers & done == readers and made not in matched and read not in matched:
                    matched |= {made, read}
                    during -= size
        return op, during, after

    def release(self, done: int, ready: Sequence[int], op: int) -> list[int]:
        """The ready operators after `op` has run; `done` holds it already."""
        needs = self.needs
        self.evaluations += len(ready) >> 3  # about what copying them costs
        fresh = [later for later in self.after[op] if needs[later] & done == needs[later]]
        return [other for other in ready if other != op] + fresh

    def settle(self, state: _State, roof: int) -> tuple[_State, list[Step]]:
        """Run what costs nothing as long as there is any; also returns the steps that would cost something."""
        done, live, ready, path = state
        while True:
            steps = []
            for op in ready:
                step = self.run(done, live, op)
                if step[2] <= live and step[1] <= roof:
                    done |= 1 << op
                    live = step[2]
                    ready = self.release(done, ready, op)
                    path = (path, op)
                    break
                steps.append(step)
            else:
                return (done, live, ready, path), steps

    def begin(self) -> _State:
        """Nothing has run."""
        return 0, self.start, [op for op, mask in enumerate(self.needs) if not mask], None


def _walk(path: Any) -> Iterator[int]:
    while path is not None:
        path, op = path
        yield op


def exact(graph: OrderGraph, roof: int, floor: int, evaluations: int) -> Found:
    """The order of least peak among those below `roof`.

    Args:
        roof: only orders with a lower peak are of interest.
        floor: lower peaks than this are worth nothing; an order that reaches it ends the search.
        evaluations: operator runs after which the search gives up.
    """
    machine = _Machine(graph)
    complete = (1 << graph.ops) - 1
    heap: list[tuple[int, int, int, int, _State]] = [(floor, 0, 0, 0, machine.begin())]
    best = {0: floor}
    count = 0
    while heap:
        high, _, _, _, state = heappop(heap)
        if best[state[0]] < high:
            continue
        (done, live, ready, path), steps = machine.settle(state, high)
        if done == complete:
            return Found(list(_walk(path))[::-1], True)
        if done != state[0]:
            if best.get(done, roof) <= high:
                continue
            best[done] = high
        for op, during, after in steps:
            top = max(high, during)
            following = done | 1 << op
            if top >= roof or best.get(following, roof) <= top:
                continue
            best[following] = top
            count += 1
            left = len(ready) and -following.bit_count()
            heappush(
                heap, (top, left, after, count, (following, after, machine.release(following, ready, op), (path, op)))
            )
        if machine.evaluations > evaluations or len(heap) > STATES:
            return Found(None, False)
    return Found(None, True)


def widening_beam(graph: OrderGraph, roof: int, floor: int, evaluations: int) -> list[int] | None:
    """Beams of width 1, 4, 16, …, each below the peak of the ones before, as long as the budget lasts.

    Returns the best order found with a peak below `roof`, if any.
    """
    best = None
    width = 1
    while evaluations > 0 and roof > floor:
        found, spent = _beam(graph, roof, floor, width, evaluations)
        if found is not None:
            roof, best = found
        evaluations -= 4 * spent
        width *= 4
    return best


def _beam(
    graph: OrderGraph, roof: int, floor: int, width: int, evaluations: int
) -> tuple[tuple[int, list[int]] | None, int]:
    """Advance the `width` most promising states by one branching at a time.

    Returns (peak, order) of the best order found below `roof`, and the evaluations spent; gives up beyond the budget.
    """
    machine = _Machine(graph)
    complete = (1 << graph.ops) - 1
    layer: list[tuple[int, int, _State]] = [(floor, 0, machine.begin())]
    finished: tuple[int, list[int]] | None = None
    while layer and machine.evaluations <= evaluations:
        successors: dict[int, tuple[int, int, _State]] = {}
        for high, _, state in layer:
            (done, _, ready, path), steps = machine.settle(state, high)
            if done == complete:
                if finished is None or high < finished[0]:
                    finished = high, list(_walk(path))[::-1]
                continue
            for op, during, after in steps:
                top = max(high, during)
                following = done | 1 << op
                known = successors.get(following)
                if top >= roof or (known is not None and known[0] <= top):
                    continue
                state = following, after, machine.release(following, ready, op), (path, op)
                successors[following] = top, after, state
        layer = sorted(successors.values(), key=itemgetter(0, 1))[:width]
        if finished is not None:
            layer = [entry for entry in layer if entry[0] < finished[0]]
    return finished, machine.evaluations
