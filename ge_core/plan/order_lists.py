"""Orders by simple rules, in about linear time. Each wins on some graphs; none is safe alone."""

from __future__ import annotations

from heapq import heappop, heappush

from ge_core.plan.order_graph import OrderGraph


def depth_first(graph: OrderGraph) -> list[int]:
    """Each operator right after what it needs, walking back from the last operators (post-order)."""
    before, after = graph.precedence()
    done = [False] * graph.ops
    order: list[int] = []
    for root in range(graph.ops):
        if after[root]:
            continue
        stack = [root]
        while stack:
            op = stack[-1]
            missing = next((first for first in before[op] if not done[first]), None)
            if missing is not None:
                stack.append(missing)
                continue
            stack.pop()
            if not done[op]:
                done[op] = True
                order.append(op)
    return order


def last_ready_first(graph: OrderGraph) -> list[int]:
    """Always the operator that became ready last: a branch runs to its end before the next one starts."""
    before, after = graph.precedence()
    missing = [len(ops) for ops in before]
    stack = [op for op in reversed(range(graph.ops)) if not missing[op]]
    order = []
    while stack:
        op = stack.pop()
        order.append(op)
        for later in reversed(after[op]):
            missing[later] -= 1
            if not missing[later]:
                stack.append(later)
    return order


def most_freed_first(graph: OrderGraph, *, recent: bool) -> list[int]:
    """Always the ready operator after which the fewest bytes more are live.

    Among equals the one that became ready last when `recent`, else the one that came first.
    """
    before, after = graph.precedence()
    values = graph.values
    missing = [len(ops) for ops in before]
    left = [len(value.consumers) for value in values]
    grows = [0] * graph.ops
    reads: list[list[int]] = [[] for _ in range(graph.ops)]
    for index, value in enumerate(values):
        if value.producer >= 0 and (value.consumers or value.is_output):
            grows[value.producer] += value.size
        for consumer in value.consumers:
            reads[consumer].append(index)
            if len(value.consumers) == 1 and not value.is_output:
                grows[consumer] -= value.size
    ready: list[tuple[int, int, int]] = []
    order: list[int] = []
    done = [False] * graph.ops

    def offer(op: int) -> None:
        heappush(ready, (grows[op], -len(order) if recent else op, op))

    for op in range(graph.ops):
        if not missing[op]:
            offer(op)
    while ready:
        grown, _, op = heappop(ready)
        if done[op] or grown != grows[op]:
            continue
        done[op] = True
        order.append(op)
        for index in reads[op]:
            left[index] -= 1
            if left[index] == 1 and not values[index].is_output:
                last = next(consumer for consumer in values[index].consumers if not done[consumer])
                grows[last] -= values[index].size
                if not missing[last]:
                    offer(last)
        for later in after[op]:
            missing[later] -= 1
            if not missing[later]:
                offer(later)
    return order
