"""Choosing one alternative per node when the alternatives of neighbours cost something together.

Minimises the sum of c_u[x_u] over nodes and M_uv[x_u, x_v] over edges (a partitioned boolean quadratic problem;
Scholz and Eckstein, "Register allocation for irregular architectures", 2002; used for layouts by Anderson and Gregg,
2018). A node with one neighbour is folded into it, one with two becomes an edge between them: exact, so that trees
and series-parallel graphs are solved exactly. Where only nodes with more neighbours are left, the one with the most
takes its locally best alternative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

import numpy as np


@dataclass(frozen=True)
class _Folded:
    """A node that was taken out: its costs, and towards each neighbour the matrix [own, neighbour's]."""

    node: int
    costs: np.ndarray
    edges: tuple[tuple[int, np.ndarray], ...]


class Choice:
    """The problem; built up, then solved once.

    Attributes:
        exact: after `solve`, whether its answer is the least possible sum.
    """

    def __init__(self) -> None:
        self._costs: list[np.ndarray] = []
        self._edges: list[dict[int, np.ndarray]] = []
        self.exact = True

    def add_node(self, costs: Sequence[float]) -> int:
        """A node with these costs of its alternatives (at least one); returns its number."""
        self._costs.append(np.array(costs, np.float64))
        self._edges.append({})
        return len(self._costs) - 1

    def add_cost(self, node: int, costs: Sequence[float]) -> None:
        """Add to the costs of a node's alternatives."""
        self._costs[node] += costs

    def add_edge(self, u: int, v: int, costs: np.ndarray) -> None:
        """Add costs [alternative of u, alternative of v] to two different nodes."""
        assert u != v and costs.shape == (len(self._costs[u]), len(self._costs[v]))
        if v in self._edges[u]:
            costs = self._edges[u][v] + costs
        self._edges[u][v] = costs
        self._edges[v][u] = costs.T

    def total(self, chosen: Sequence[int]) -> float:
        """The sum for some choice (before `solve`, which takes the problem apart)."""
        found = sum(float(c[x]) for c, x in zip(self._costs, chosen, strict=True))
        for u, edges in enumerate(self._edges):
            found += sum(float(m[chosen[u], chosen[v]]) for v, m in edges.items() if u < v)
        return found

    def solve(self) -> list[int]:
        """An alternative for each node; ties go to the first."""
        folded: list[_Folded] = []
        left = set(range(len(self._costs)))
        ready = [u for u in left if len(self._edges[u]) <= 2]
        busiest = [(-len(edges), u) for u, edges in enumerate(self._edges)]
        heapify(busiest)
        while left:
            if ready:
                u = ready.pop()
                if u not in left or len(self._edges[u]) > 2:
                    continue
            else:
                u = self._busiest(busiest, left)
                self._settle(u)
            left.discard(u)
            folded.append(_Folded(u, self._costs[u], tuple(self._edges[u].items())))
            self._fold(u)
            for v, _ in folded[-1].edges:
                if len(self._edges[v]) <= 2:
                    ready.append(v)
        chosen = [0] * len(self._costs)
        for fold in reversed(folded):
            costs = fold.costs + sum(matrix[:, chosen[v]] for v, matrix in fold.edges)
            chosen[fold.node] = int(np.argmin(costs))
        return chosen

    def _busiest(self, heap: list[tuple[int, int]], left: set[int]) -> int:
        """The node with the most neighbours; the heap's entries may be out of date, since neighbours become fewer."""
        while True:
            degree, u = heappop(heap)
            if u not in left:
                continue
            if -degree == len(self._edges[u]):
                return u
            heappush(heap, (-len(self._edges[u]), u))

    def _settle(self, u: int) -> None:
        """Decide a node with many neighbours by what each of them would answer."""
        costs = self._costs[u].copy()
        for v, matrix in self._edges[u].items():
            costs += (matrix + self._costs[v]).min(axis=1)
        best = int(np.argmin(costs))
        for v, matrix in list(self._edges[u].items()):
            self._costs[v] = self._costs[v] + matrix[best]
            del self._edges[u][v], self._edges[v][u]
        settled = np.full(len(costs), np.inf)
        settled[best] = 0.0
        self._costs[u] = settled
        self.exact = False

    def _fold(self, u: int) -> None:
        """Take a node with at most two neighbours out of the problem."""
        edges = list(self._edges[u].items())
        for v, _ in edges:
            del self._edges[v][u]
        self._edges[u] = {}
        if len(edges) == 1:
            ((v, matrix),) = edges
            self._costs[v] = self._costs[v] + (matrix + self._costs[u][:, None]).min(axis=0)
        elif len(edges) == 2:
            (v, to_v), (w, to_w) = edges
            joint = (self._costs[u][:, None, None] + to_v[:, :, None] + to_w[:, None, :]).min(axis=0)
            self.add_edge(v, w, joint)
