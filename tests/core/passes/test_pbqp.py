"""The solver against trying every combination: exact on trees and series-parallel graphs, never absurd elsewhere."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ge_core.passes.planned.pbqp import Choice

Edges = list[tuple[int, int]]


def problem(seed: int, count: int, edges: Edges) -> Choice:
    rng = np.random.default_rng(seed)
    choice = Choice()
    sizes = rng.integers(1, 4, count)
    for size in sizes:
        choice.add_node(rng.integers(0, 10, size))
    for u, v in edges:
        choice.add_edge(u, v, rng.integers(0, 10, (sizes[u], sizes[v])).astype(float))
    return choice


def least(choice: Choice) -> float:
    return min(choice.total(x) for x in itertools.product(*(range(len(c)) for c in choice._costs)))


def tree(seed: int, count: int) -> Edges:
    rng = np.random.default_rng(seed)
    return [(int(rng.integers(0, v)), v) for v in range(1, count)]


def series_parallel(seed: int, count: int) -> Edges:
    """Grown from one edge by splitting an edge, or by a second path beside one."""
    rng = np.random.default_rng(seed)
    edges = [(0, 1)]
    for w in range(2, count):
        u, v = edges[rng.integers(0, len(edges))]
        if rng.integers(2):
            edges.remove((u, v))
        edges += [(u, w), (w, v)]
    return [(min(e), max(e)) for e in edges]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("grown", [tree, series_parallel])
def test_exact_on_trees_and_series_parallel_graphs(grown: object, seed: int) -> None:
    edges = grown(seed, 8)  # type: ignore[operator]
    choice = problem(seed, 8, edges)
    chosen = problem(seed, 8, edges)
    answer = chosen.solve()
    assert chosen.exact
    assert choice.total(answer) == least(choice)


@pytest.mark.parametrize("seed", range(30))
def test_near_on_dense_graphs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    edges = [(u, v) for u in range(7) for v in range(u) if rng.integers(2)]
    choice, solved = problem(seed, 7, edges), problem(seed, 7, edges)
    value = choice.total(solved.solve())
    assert least(choice) <= value <= 1.6 * least(choice) + 5


def test_edges_add_up_and_ties_go_to_the_first() -> None:
    choice = Choice()
    a, b = choice.add_node([0, 0, 0]), choice.add_node([0, 0])
    choice.add_edge(a, b, np.array([[1.0, 2], [1, 1], [3, 0]]))
    choice.add_edge(b, a, np.array([[0.0, 0, 0], [0, 0, 1]]))
    choice.add_cost(b, [0, 0])
    assert choice.total([2, 1]) == 1
    assert choice.solve() == [0, 0]
    assert Choice().solve() == []


def test_a_long_chain_takes_linear_time() -> None:
    choice = Choice()
    for k in range(20000):
        choice.add_node([k % 3, 1.0])
        if k:
            choice.add_edge(k - 1, k, np.array([[0.0, 2], [2, 0]]))
    answer = choice.solve()
    assert choice.exact and len(answer) == 20000
