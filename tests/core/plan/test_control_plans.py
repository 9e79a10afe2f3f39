"""If, Loop and Scan in plans: nested, zero trips, early exit, captures, carried values that grow."""

from __future__ import annotations

import numpy as np
import pytest

from ge_core.ir import Builder, Graph, Value, symbol
from ge_core.plan.plan import BindStep, IfStep, LoopStep
from tests.core.plan.running import check

RNG = np.random.default_rng(3)


def data(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def new() -> tuple[Graph, Builder]:
    graph = Graph()
    return graph, Builder(graph)


@pytest.mark.parametrize("trips", [0, 1, 5])
def test_carried_value_that_grows_by_the_same_amount_each_round(trips: int) -> None:
    g, b = new()
    n = symbol("n", 1)
    x = b.input("x", "float32", (n, 4))
    grown = b.Loop(np.int64(trips), None, [x], body=lambda r, i, go, s: [go, r.Concat([r.Exp(s), r.Tanh(x)], axis=0)])
    assert grown.shape == ((trips + 1) * n, 4)
    b.outputs(b.Softmax(grown))
    check(g, [[data(n, 4)] for n in (1, 3)])


def test_growth_whose_rounds_are_only_known_at_a_call() -> None:
    g, b = new()
    x = b.input("x", "float32", (2, 4))
    trips = b.input("trips", "int64", ())
    grown = b.Loop(trips, None, [x], body=lambda r, i, go, s: [go, r.Concat([s, x], axis=0)])
    assert grown.shape[1] == 4 and not isinstance(grown.shape[0], int)
    b.outputs(b.Relu(grown))
    plan = check(g, [[data(2, 4), np.int64(n)] for n in (0, 3)])
    assert any(isinstance(s, BindStep) for s in plan.all_steps())


def test_growth_that_ends_early_has_no_exact_size() -> None:
    g, b = new()
    x = b.input("x", "float32", (2,))

    def body(r: Builder, i: Value, go: Value, s: Value) -> list[Value]:
        s = r.Concat([s, r.Mul(s, 0.5)], axis=0)
        return [r.Less(r.ReduceSum(s, keepdims=0), 10.0), s]

    grown = b.Loop(np.int64(4), np.array(True), [x], body=body)
    assert not isinstance(grown.shape[0], int)
    b.outputs(b.Neg(grown))
    check(g, [[np.array(v, np.float32)] for v in ([1, 1], [4, 4], [9, 9])])


def test_scan_whose_state_grows() -> None:
    g, b = new()
    n = symbol("n", 1)
    x = b.input("x", "float32", (n, 3))
    start = b.input("start", "float32", (1, 3))

    def body(r: Builder, seen: Value, row: Value) -> list[Value]:
        seen = r.Concat([seen, r.Unsqueeze(row, np.array([0]))], axis=0)
        return [seen, r.ReduceMax(seen, np.array([0]), keepdims=0)]

    seen, tops = b.Scan(start, x, num_scan_inputs=1, body=body)
    assert seen.shape == (n + 1, 3)
    b.outputs(b.Exp(seen), tops)
    check(g, [[data(n, 3), data(1, 3)] for n in (1, 4)])


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("trips", [0, 2])
def test_loop_in_a_branch_in_a_scan(flag: bool, trips: int) -> None:
    g, b = new()
    n = symbol("n", 1)
    x = b.input("x", "float32", (n, 2, 3))
    choose, limit = b.input("choose", "bool", ()), b.input("limit", "int64", ())
    scale = b.Exp(b.ReduceMax(x, np.array([0]), keepdims=0))

    def inner(r: Builder, i: Value, go: Value, s: Value) -> list[Value]:
        s = r.Softmax(r.Mul(s, scale))
        return [r.Less(r.ReduceMax(s, keepdims=0), 0.9), s]

    def body(r: Builder, state: Value, part: Value) -> list[Value]:
        chosen = r.If(
            choose,
            then_branch=lambda t: [t.Loop(limit, np.array(True), [t.Add(state, part)], body=inner)],
            else_branch=lambda t: [t.Sub(part, scale)],
        )
        return [r.Tanh(chosen), r.Add(chosen, state)]

    state, rows = b.Scan(b.Neg(scale), x, num_scan_inputs=1, body=body)
    b.outputs(state, b.Softmax(rows), scale)
    plan = check(g, [[data(n, 2, 3), np.array(flag), np.int64(trips)] for n in (1, 3)], tolerance=1e-6)
    kinds = [type(s) for s in plan.all_steps()]
    assert kinds.count(LoopStep) == 2 and kinds.count(IfStep) == 1
    assert plan.memory is not None and plan.memory.ratio == 1.0


def test_two_branches_of_one_arena_keep_what_is_still_read() -> None:
    """The result of the first If is read after the second one."""
    g, b = new()
    x = b.input("x", "float32", (8,))
    first, second = b.input("first", "bool", ()), b.input("second", "bool", ())
    h = b.Softmax(x)
    p = b.If(first, then_branch=lambda r: [r.Softmax(r.Exp(h))], else_branch=lambda r: [r.Softmax(r.Tanh(h))])
    q = b.If(second, then_branch=lambda r: [r.Softmax(r.Mul(p, h))], else_branch=lambda r: [r.Softmax(r.Neg(h))])
    b.outputs(b.Softmax(b.Add(p, q)), b.Softmax(b.Sub(p, q)))
    check(g, [[data(8), np.array(u), np.array(v)] for u in (True, False) for v in (True, False)])
