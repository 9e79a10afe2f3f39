"""Plans on the native runtime give what the interpreter gives: static, dynamic, with host steps, regions, states."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

from ge_core.errors import DivisionByZeroError, ExecutionError, IndexRangeError, InputError
from ge_core.ir import Builder, Graph, Location, Value, symbol
from ge_core.plan.states import StateStore
from ge_core.reference.interpret import interpret
from tests.backends.cpu.vehicle import Vehicle, executable, planned
from tests.core.passes.compare import assert_close
from tests.core.passes.generated import Model, models

RNG = np.random.default_rng(3)
N = symbol("n", 1)


@pytest.fixture(autouse=True)
def poison(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GE_POISON", "1")


def data(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def new() -> tuple[Graph, Builder]:
    graph = Graph()
    return graph, Builder(graph)


def check(graph: Graph, calls: list[list[Any]], **options: object) -> Any:
    """Run a graph natively and by the interpreter on some inputs, states carried along."""
    run = executable(graph, **options)
    store, oracle = StateStore(graph.states), {s.name: s.initial.array() for s in graph.states}
    for inputs in calls:
        want, oracle = interpret(graph, inputs, oracle)
        got = run.run(inputs, store)
        assert_close(got, want, 1e-5)
        assert_close([store[name].array() for name in oracle], list(oracle.values()), 1e-5)
        profile = run.profile(inputs, StateStore(graph.states))
        assert profile and all(step.seconds >= 0 for step in profile)
    return run


def chain(b: Builder, x: Value, y: Value) -> Value:
    z = b.Sub(b.Mul(b.Add(x, y), y), x)
    return b.Neg(b.Sub(b.Neg(b.Neg(z)), y))


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_static(threads: int, size: int) -> None:
    g, b = new()
    x, y = b.input("x", "float32", (3, size)), b.input("y", "float32", (3, size))
    b.outputs(chain(b, x, y))
    run = check(g, [[data(3, size), data(3, size)] for _ in range(3)], num_threads=threads)
    assert run.entries["main"].straight is not None


def test_dynamic_shapes_share_the_code() -> None:
    g, b = new()
    x, y = b.input("x", "float32", (N, 4)), b.input("y", "float32", (N, 4))
    b.outputs(chain(b, x, y))
    run = check(g, [[data(n, 4), data(n, 4)] for n in (1, 9, 300, 9, 2)])
    assert run.entries["main"].straight is not None
    with pytest.raises(InputError, match="'y'"):
        run.run([data(3, 4), data(2, 4)], StateStore())


def test_many_shapes_are_forgotten_again() -> None:
    g, b = new()
    x, y = b.input("x", "float32", (N,)), b.input("y", "float32", (N,))
    b.outputs(b.Add(x, y))
    run = executable(g)
    for n in range(1, 150):
        a, c = data(n), data(n)
        assert np.array_equal(run.run([a, c], StateStore())[0], a + c)
    assert len(run.entries["main"].straight.series._kept) <= 64
    assert run.entries["main"].straight.held() < 1 << 20


def test_host_steps_in_the_same_arena() -> None:
    g, b = new()
    x, y = b.input("x", "float32", (N, 6)), b.input("y", "float32", (N, 6))
    z = b.Softmax(chain(b, x, y))
    b.outputs(chain(b, b.Tanh(b.Add(z, x)), y), z)
    run = check(g, [[data(n, 6), data(n, 6)] for n in (2, 50, 3)])
    assert run.entries["main"].straight is None


def test_everything_on_the_host() -> None:
    g, b = new()
    x, y = b.input("x", "float32", (N, 6)), b.input("y", "float32", (N, 6))
    b.outputs(chain(b, x, y))
    backend = Vehicle(native=False)
    plan = planned(g, backend)
    assert set(plan.counts()) <= {"host", "view", "copy"}
    run = executable(g, backend)
    inputs = [data(2, 6), data(2, 6)]
    assert_close(run.run(inputs, StateStore()), interpret(g, inputs)[0], 0.0)


def test_outputs_that_no_kernel_writes() -> None:
    g, b = new()
    x, y = b.input("x", "float32", (2, 3)), b.input("y", "float32", (2, 3))
    z = b.Add(x, y)
    b.outputs(x, b.Reshape(x, np.array([3, 2])), b.constant(data(4)), z, z, b.Reshape(z, np.array([-1])))
    run = executable(g)
    inputs = [data(2, 3), data(2, 3)]
    kept = [i.copy() for i in inputs]
    first = run.run(inputs, StateStore())
    assert_close(first, interpret(g, inputs)[0], 0.0)
    for i, a in enumerate(first):
        a[...] = i  # belongs to the caller: neither inputs nor other outputs change
    assert all(np.array_equal(a, i) for a, i in zip(inputs, kept, strict=True))
    assert all((a == i).all() for i, a in enumerate(first))
    assert_close(run.run(inputs, StateStore()), interpret(g, inputs)[0], 0.0)


def test_concats_and_splits() -> None:
    g, b = new()
    x, y = b.input("x", "float32", (N, 4)), b.input("y", "float32", (N, 4))
    z = b.Concat(b.Add(x, y), x, b.Sub(x, y), axis=0)
    b.outputs(z, b.Neg(z), b.Concat(x, x, axis=0))
    check(g, [[data(n, 4), data(n, 4)] for n in (1, 5)])


def test_prepared_constants() -> None:
    g, b = new()
    x, w = b.input("x", "float32", (N, 5)), b.constant(data(5, 7))
    b.outputs(b.MatMul(x, w), b.MatMul(b.Add(x, x), w))
    run = check(g, [[data(n, 5)] for n in (1, 40)])
    (constant,) = run.entries["main"].plan.constants  # both products read the same bytes, and there are no others
    assert constant.stored is not None and constant.stored[0].order == (1, 0)


def test_prepared_constants_that_others_read_too() -> None:
    g, b = new()
    x, w = b.input("x", "float32", (N, 5)), b.constant(data(5, 7))
    b.outputs(b.MatMul(x, w), b.Add(w, w), b.MatMul(x, b.constant(data(5, 7))))
    run = check(g, [[data(n, 5)] for n in (1, 40)])
    kept = [c.stored is not None for c in run.entries["main"].plan.constants]
    assert kept == [False, True, False]  # w as it is, the other one turned, w turned beside it


def test_states() -> None:
    g, b = new()
    x = b.input("x", "float32", (2, 3))
    total, last = b.state("total", data(2, 3)), b.state("last", data(2, 3))
    after = b.Add(total.read, x)
    g.set_state_write(total, after)
    g.set_state_write(last, b.Neg(b.Sub(x, last.read)))
    b.outputs(b.Mul(after, x), last.read)
    run = check(g, [[data(2, 3)] for _ in range(4)])
    assert run.entries["main"].straight is not None


def test_branches_and_loops() -> None:
    g, b = new()
    x, y = b.input("x", "float32", (N, 4)), b.input("y", "float32", (N, 4))
    c, trips = b.input("c", "bool", ()), b.input("trips", "int64", ())
    z = b.If(c, then_branch=lambda r: [chain(r, x, y)], else_branch=lambda r: [r.Neg(r.Add(x, x))])
    out = b.Loop(trips, True, [z], body=lambda r, i, cond, s: [cond, r.Add(r.Neg(s), y), r.Mul(s, y)])
    b.outputs(*out)
    calls = []
    for n, condition, count in ((3, True, 4), (30, False, 1), (3, False, 0), (2, True, 7)):
        calls.append([data(n, 4), data(n, 4), np.array(condition), np.array(count, np.int64)])
    check(g, calls)


@pytest.mark.parametrize("threads", [1, 2])
def test_branches_alone_are_native_calls(threads: int) -> None:
    g, b = new()
    x, y = b.input("x", "float32", (N, 4)), b.input("y", "float32", (N, 4))
    c, d = b.input("c", "bool", ()), b.input("d", "bool", ())
    total = b.state("total", data(4, 4))

    def inner(r: Builder) -> Value:
        return r.If(d, then_branch=lambda q: [chain(q, x, y)], else_branch=lambda q: [q.Neg(q.Add(x, x))])

    z = b.If(c, then_branch=lambda r: [inner(r)], else_branch=lambda r: [r.Add(y, y)])
    after = b.If(d, then_branch=lambda r: [r.Add(total.read, total.read)], else_branch=lambda r: [r.Neg(total.read)])
    g.set_state_write(total, after)
    b.outputs(b.Neg(z), b.Add(z, x), after)
    calls = []
    for n, first, second in ((3, 1, 1), (3, 1, 0), (40, 0, 1), (3, 0, 0), (1, 1, 0), (40, 1, 1)):
        calls.append([data(n, 4), data(n, 4), np.array(bool(first)), np.array(bool(second))])
    run = check(g, calls, num_threads=threads)
    assert run.entries["main"].straight is not None


def test_a_status_in_a_branch_becomes_an_error() -> None:
    g, b = new()
    x, i, c = b.input("x", "float32", (4, 2)), b.input("i", "int64", (3,)), b.input("c", "bool", ())
    row = b.input("row", "float32", (3, 2))
    b.outputs(b.If(c, then_branch=lambda r: [r.Gather(x, i, axis=0)], else_branch=lambda r: [r.Neg(row)]))
    run, table, rows = executable(g), data(4, 2), data(3, 2)
    assert run.entries["main"].straight is not None
    for _ in range(2):
        with pytest.raises(IndexRangeError, match="Gather"):
            run.run([table, np.array([0, 1, 4]), np.array(True), rows], StateStore())
        assert np.array_equal(run.run([table, np.array([0, 1, 4]), np.array(False), rows], StateStore())[0], -rows)


def test_data_dependent_sizes() -> None:
    g, b = new()
    x, table = b.input("x", "float32", (N,)), b.input("table", "float32", (N, 3))
    rows = b.Gather(table, b.Squeeze(b.NonZero(x), np.array([0])), axis=0)
    b.outputs(b.Neg(b.Add(rows, rows)))
    calls = []
    for n, zero in ((5, 2), (5, 0), (40, 39), (1, 0)):
        x0 = np.ones(n, np.float32)
        x0[:zero] = 0
        calls.append([x0, data(n, 3)])
    check(g, calls)


def test_statuses_become_errors_with_the_users_line() -> None:
    g, b = new()
    x, i = b.input("x", "float32", (4, 2)), b.input("i", "int64", (N,))
    with b.at(Location("torch", "encoder.embed", "model.py", 17)):
        rows = b.Gather(x, i, axis=0)
    b.outputs(b.Neg(rows))
    for options in ({"num_threads": 1}, {"num_threads": 3}):
        run = executable(g, **options)
        good, bad = np.array([0, 3, -4, 1]), np.array([0, 1, 2, 4, 0])
        for _ in range(3):
            with pytest.raises(IndexRangeError, match="index") as caught:
                run.run([data(4, 2), bad], StateStore())
            assert "model.py" in str(caught.value) and "Gather" in str(caught.value)
            a = data(4, 2)
            assert np.array_equal(run.run([a, good], StateStore())[0], -a[good])
    g, b = new()
    x, y = b.input("x", "int64", (N,)), b.input("y", "int64", (N,))
    b.outputs(b.Div(x, y))
    run = executable(g)
    with pytest.raises(DivisionByZeroError):
        run.run([np.arange(4), np.array([1, 2, 0, 3])], StateStore())


def test_many_threads_call_at_once() -> None:
    g, b = new()
    x, y = b.input("x", "float32", (N, 16)), b.input("y", "float32", (N, 16))
    b.outputs(chain(b, x, y), b.Softmax(chain(b, y, x)))
    run, straight = executable(g), None
    g2, b = new()
    x, y = b.input("x", "float32", (N, 16)), b.input("y", "float32", (N, 16))
    b.outputs(chain(b, x, y))
    straight = executable(g2)
    wrong: list[object] = []

    def caller(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for k in range(60):
            n = int(rng.integers(1, 5)) * 8
            inputs = [rng.standard_normal((n, 16)).astype(np.float32) for _ in range(2)]
            one, model = (run, g) if k % 2 else (straight, g2)
            got = one.run(inputs, StateStore())
            want = ((inputs[0] + inputs[1]) * inputs[1] - inputs[0]) - inputs[1]
            if not np.allclose(got[0], -want, atol=1e-5):
                wrong.append((seed, k, model))

    threads = [threading.Thread(target=caller, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(model=models(edges=False))
def test_generated_graphs(model: Model) -> None:
    graph = model.build()
    try:
        wanted = model.results(graph)
    except ExecutionError:
        assume(False)
    run = executable(graph)
    for inputs, want in zip(model.inputs, wanted, strict=True):
        assert_close(run.run(inputs, StateStore(graph.states)), want, 1e-5)
