"""What the order of operators needs to know of a graph, and the memory that an order takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ge_core.errors import PlanError


@dataclass(frozen=True, slots=True)
class OrderValue:
    """Bytes that an operator makes and others read.

    Args:
        size: bytes.
        producer: the operator that makes it; -1 for what is there from the start (and freed after its last use).
        consumers: the operators that read it, each once.
        is_output: it stays until the end.
    """

    size: int
    producer: int
    consumers: tuple[int, ...] = ()
    is_output: bool = False


@dataclass(frozen=True)
class OrderGraph:
    """Operators 0 … ops - 1, numbered in the order in which they came (which is a valid one).

    Views are left out: a value stands for its whole alias class, and is read by the readers of its views.

    Args:
        ops: the number of operators.
        values: all values whose bytes count.
        in_place: pairs (made, read) of indices into `values`: the producer of `made` can write it over `read`. It
            does so when it is the last to read `read`, which is no output and not smaller. Each value takes or
            gives bytes once; earlier pairs go first.
        edges: pairs (before, after) of operators that must keep this order besides what values demand.

    Raises:
        PlanError: an operator would run before what it needs, a number is out of range, or a pair does not fit.
    """

    ops: int
    values: tuple[OrderValue, ...]
    in_place: tuple[tuple[int, int], ...] = ()
    edges: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        ops = self.ops
        for index, value in enumerate(self.values):
            if value.size < 0 or not -1 <= value.producer < ops:
                raise PlanError(f"value {index} is not valid: {value}")
            for consumer in value.consumers:
                if not value.producer < consumer < ops:
                    raise PlanError(
                        f"operator {consumer} reads value {index} of operator {value.producer}, which is later"
                    )
            if len(set(value.consumers)) < len(value.consumers):
                raise PlanError(f"value {index} names a consumer twice: {value.consumers}")
        for before, after in self.edges:
            if not 0 <= before < after < ops:
                raise PlanError(f"edge {before} -> {after} is not in the order of the {ops} operators")
        for made, read in self.in_place:
            if self.values[made].producer not in self.values[read].consumers:
                raise PlanError(f"value {made} cannot take over value {read}: its producer does not read it")

    def pairs_of(self) -> dict[int, list[tuple[int, int]]]:
        """Operator -> its in-place pairs that can ever happen: the read value is no output and large enough."""
        pairs: dict[int, list[tuple[int, int]]] = {}
        for made, read in self.in_place:
            source = self.values[read]
            if not source.is_output and self.values[made].size <= source.size:
                pairs.setdefault(self.values[made].producer, []).append((made, read))
        return pairs

    def precedence(self) -> tuple[list[list[int]], list[list[int]]]:
        """For each operator those that must come before it, and those that must come after it; each once, sorted."""
        before: list[set[int]] = [set() for _ in range(self.ops)]
        for value in self.values:
            if value.producer >= 0:
                for consumer in value.consumers:
                    before[consumer].add(value.producer)
        for first, second in self.edges:
            before[second].add(first)
        after: list[list[int]] = [[] for _ in range(self.ops)]
        for op, ops_before in enumerate(before):
            for first in ops_before:
                after[first].append(op)
        return [sorted(ops) for ops in before], after


def memory(graph: OrderGraph, order: Sequence[int]) -> list[int]:
    """Bytes in use while each operator of `order` runs: what lives before it and its outputs, in-place counted."""
    values = graph.values
    reads: list[list[int]] = [[] for _ in range(graph.ops)]
    makes: list[list[int]] = [[] for _ in range(graph.ops)]
    for index, value in enumerate(values):
        if value.producer >= 0:
            makes[value.producer].append(index)
        for consumer in value.consumers:
            reads[consumer].append(index)
    pairs = graph.pairs_of()
    left = [len(value.consumers) for value in values]
    live = sum(value.size for value in values if value.producer < 0 and (value.consumers or value.is_output))
    used = []
    for op in order:
        during = live + sum(values[index].size for index in makes[op])
        matched: set[int] = set()
        for made, read in pairs.get(op, ()):
            if left[read] == 1 and made not in matched and read not in matched:
                matched |= {made, read}
                during -= values[made].size
        used.append(during)
        for index in makes[op]:
            if left[index] or values[index].is_output:
                live += values[index].size
        for index in reads[op]:
            left[index] -= 1
            if not left[index] and not values[index].is_output:
                live -= values[index].size
    return used


def peak(graph: OrderGraph, order: Sequence[int]) -> int:
    """The most bytes in use at once when the operators run in `order`."""
    return max(memory(graph, order), default=0)


def is_valid(graph: OrderGraph, order: Sequence[int]) -> bool:
    """Whether `order` holds each operator once, none before what it needs."""
    if sorted(order) != list(range(graph.ops)):
        return False
    position = [0] * graph.ops
    for at, op in enumerate(order):
        position[op] = at
    before, _ = graph.precedence()
    return all(position[first] < position[op] for op in range(graph.ops) for first in before[op])
