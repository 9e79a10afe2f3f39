"""The order of operators that needs the least memory: a portfolio that is never worse than the order given.

Where every operator before a point must be done and none after it can have started, the graph is cut; the parts are
independent. Only the part that holds the peak is worth work: it is improved until its least peak is proven or the
budget is spent, then the next highest one, until the highest part cannot be lowered. A chain has no parts at all, and
costs linear time.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from ge_core.errors import PlanError
from ge_core.plan.order_graph import OrderGraph, OrderValue, is_valid, memory, peak
from ge_core.plan.order_lists import depth_first, last_ready_first, most_freed_first
from ge_core.plan.order_search import exact, widening_beam

__all__ = ["OrderGraph", "OrderValue", "is_valid", "memory", "order", "peak"]

EVALUATIONS = 600_000
"""Operator runs that each of the two searches may try in one part (about 2 microseconds each)."""
SEARCHED = 4000
"""Parts with more operators are not searched as a whole."""
WINDOWS = 400, 200
"""Operators around the peak that are ordered anew where a part as a whole was too much. A smaller window may do what a
larger one cannot, since it leaves a second peak out."""


def order(graph: OrderGraph, *, evaluations: int = EVALUATIONS) -> list[int]:
    """An order of the operators whose peak is as low as the portfolio can make it.

    Args:
        graph: operators numbered in the order in which they came.
        evaluations: the budget for one part of the exact search, and of the beams that follow where it gives up.
            It counts tried operators, so that the result is the same on every machine.

    Returns:
        The operators in order. The given order comes back unchanged when it cannot be improved, and no order with
        a higher peak ever does; parts of the graph that do not hold the peak keep their order.
    """
    result = list(range(graph.ops))
    used = memory(graph, result)
    parts = _parts(graph)
    inside = set().union(*(range(first, last) for first, last in parts)) if parts else set()
    floor = max(_unavoidable(graph), max((size for op, size in enumerate(used) if op not in inside), default=0))
    heights = sorted((-max(used[first:last]), first, last) for first, last in parts)
    extractor = _Extractor(graph)
    for number, (negative, first, last) in enumerate(heights, 1):
        if -negative <= floor:
            break
        part = extractor.part(first, last)
        better = _improve(part, floor, evaluations // number)
        result[first:last] = [first + op for op in better]
        floor = max(floor, peak(part, better))
    if peak(graph, result) > max(used, default=0) or not is_valid(graph, result):
        raise PlanError("the order search went wrong: its result is worse than the order given, or not valid")
    return result


def _parts(graph: OrderGraph) -> list[tuple[int, int]]:
    """Maximal ranges [first, last) of two or more operators between those that are comparable with all others.

    An operator at `i` comes after all earlier ones when each of these has a successor at or before `i` (follow
    it, and again, and `i` is reached), and before all later ones when each of these has a predecessor at or after.
    """
    count = graph.ops
    nearest_after = [count] * count
    nearest_before = [-1] * count
    dependences = [(v.producer, c) for v in graph.values if v.producer >= 0 for c in v.consumers]
    for before, after in (*dependences, *graph.edges):
        nearest_after[before] = min(nearest_after[before], after)
        nearest_before[after] = max(nearest_before[after], before)
    least = [count] * (count + 1)
    for op in reversed(range(count)):
        least[op] = min(least[op + 1], nearest_before[op])
    parts = []
    first = farthest = 0
    for op in range(count):
        if farthest <= op <= least[op + 1]:
            if op - first > 1:
                parts.append((first, op))
            first = op + 1
        farthest = max(farthest, nearest_after[op])
    if count - first > 1:
        parts.append((first, count))
    return parts


def _unavoidable(graph: OrderGraph) -> int:
    """The most bytes that one operator reads and writes, in-place as often as its pairs allow: no order has less."""
    used = [0] * graph.ops
    for value in graph.values:
        for op in (value.producer, *value.consumers):
            if op >= 0:
                used[op] += value.size
    for op, pairs in graph.pairs_of().items():
        used[op] -= sum({made: graph.values[made].size for made, _ in pairs}.values())
    return max(used, default=0)


class _Extractor:
    """Cuts parts out of a graph, each in time that depends on the part alone."""

    def __init__(self, graph: OrderGraph) -> None:
        self.graph = graph
        self.touched: list[list[int]] = [[] for _ in range(graph.ops)]
        self.pairs: list[list[tuple[int, int]]] = [[] for _ in range(graph.ops)]
        self.edges: list[list[tuple[int, int]]] = [[] for _ in range(graph.ops)]
        self.until: list[int] = []  # the last operator during which a value lives
        change = [0] * (graph.ops + 2)
        for index, value in enumerate(graph.values):
            last = graph.ops if value.is_output else max(value.consumers, default=value.producer)
            self.until.append(last)
            change[value.producer + 1] += value.size
            change[last + 1] -= value.size
            for op in (value.producer, *value.consumers):
                if op >= 0:
                    self.touched[op].append(index)
        for made, read in graph.in_place:
            self.pairs[graph.values[made].producer].append((made, read))
        for before, after in graph.edges:
            self.edges[before].append((before, after))
        self.live = list(accumulate(change))  # before each operator, what is made earlier and lives on

    def part(self, first: int, last: int) -> OrderGraph:
        """The operators [first, last) as a graph of its own; what else lives meanwhile is one value that stays."""
        number: dict[int, int] = {}
        values: list[OrderValue] = []
        passing = self.live[first]
        for index in sorted({index for touched in self.touched[first:last] for index in touched}):
            value = self.graph.values[index]
            number[index] = len(values)
            local = tuple(consumer - first for consumer in value.consumers if first <= consumer < last)
            values.append(OrderValue(value.size, max(value.producer - first, -1), local, self.until[index] >= last))
            if value.producer < first:
                passing -= value.size
        values.append(OrderValue(passing, -1, (), True))
        in_place = tuple((number[made], number[read]) for pairs in self.pairs[first:last] for made, read in pairs)
        edges = tuple((a - first, b - first) for edges in self.edges[first:last] for a, b in edges if b < last)
        return OrderGraph(last - first, tuple(values), in_place, edges)


def _improve(graph: OrderGraph, floor: int, evaluations: int) -> list[int]:
    """The best order of one part that the portfolio finds; the given one unless another has a lower peak."""
    best, proven = _search(graph, floor, evaluations)
    return best if proven else _by_windows(graph, best, floor, evaluations // 2)


def _search(graph: OrderGraph, floor: int, evaluations: int) -> tuple[list[int], bool]:
    """The best order by rules and searches, and whether it is certain that there is none better above `floor`."""
    best = list(range(graph.ops))
    height = peak(graph, best)
    rules = (
        depth_first,
        last_ready_first,
        lambda g: most_freed_first(g, recent=True),
        lambda g: most_freed_first(g, recent=False),
    )
    for rule in rules:
        candidate = rule(graph)
        lower = peak(graph, candidate)
        if lower < height:
            best, height = candidate, lower
        if height <= floor:
            return best, True
    if graph.ops > SEARCHED:
        return best, False
    found = exact(graph, height, floor, evaluations)
    if found.order is not None or found.exhausted:
        return found.order or best, True
    return widening_beam(graph, height, floor, evaluations) or best, False


def _by_windows(graph: OrderGraph, best: list[int], floor: int, evaluations: int) -> list[int]:
    """Order the operators around the peak anew, as long as that lowers it: for parts too large to search as a whole."""
    for number in range(1, 2 + 4 * graph.ops // WINDOWS[0]):
        current = _renumbered(graph, best)
        used = memory(current, range(graph.ops))
        height = max(used)
        middle = used.index(height)
        for width in WINDOWS:
            first, last = max(0, middle - width // 2), min(graph.ops, middle + width // 2)
            window = _Extractor(current).part(first, last)
            better, _ = _search(window, floor, evaluations // number)
            if peak(window, better) < height:
                best = [*best[:first], *(best[first + op] for op in better), *best[last:]]
                break
        else:
            break
    return best


def _renumbered(graph: OrderGraph, order: Sequence[int]) -> OrderGraph:
    """The same graph with its operators numbered as they come in `order`."""
    at = {op: position for position, op in enumerate(order)} | {-1: -1}
    values = tuple(
        OrderValue(value.size, at[value.producer], tuple(sorted(at[op] for op in value.consumers)), value.is_output)
        for value in graph.values
    )
    return OrderGraph(graph.ops, values, graph.in_place, tuple((at[a], at[b]) for a, b in graph.edges))
