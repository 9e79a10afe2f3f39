"""Planned execution in a poisoned arena gives what the interpreter gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ge_core.errors import (
    DivisionByZeroError,
    ExecutionError,
    IndexRangeError,
    InputError,
    PlanError,
    SizeBoundError,
)
from ge_core.ir import Builder, DType, Graph, Location, TensorType, Value, symbol
from ge_core.passes.base import SWITCHES
from ge_core.plan.execute import PlanExecutor
from ge_core.plan.plan import AllocStep, BindStep, CopyStep, FreeStep, HostStep, IfStep, KernelStep, LoopStep
from ge_core.plan.states import StateStore
from tests.core.passes.generated import Model, models
from tests.core.plan.running import check, planned

few = settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
    derandomize=True,
    database=None,
)
RNG = np.random.default_rng(7)


def data(*shape: int, dtype: object = np.float32) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)  # type: ignore[arg-type]


def new() -> tuple[Graph, Builder]:
    graph = Graph()
    return graph, Builder(graph)


def kinds(plan: object) -> dict[str, int]:
    return plan.counts()  # type: ignore[attr-defined]


@few
@given(model=models(edges=False), switches=st.sampled_from([SWITCHES, *(SWITCHES - {s} for s in sorted(SWITCHES))]))
def test_generated_graphs(model: Model, switches: frozenset[str]) -> None:
    graph = model.build()
    try:
        model.results(graph)
    except ExecutionError:
        assume(False)
    check(graph, model.inputs, switches=switches, tolerance=1e-5)


def test_chain_runs_in_one_place() -> None:
    g, b = new()
    n = symbol("n", 1)
    x = b.input("x", "float32", (n, 64))
    y = b.Softmax(x)
    for _ in range(4):
        y = b.Softmax(b.Relu(y))
    b.outputs(y)
    plan = check(g, [[data(n, 64)] for n in (1, 3, 2)])
    assert plan.memory is not None
    assert plan.memory.size == 2 * 16 * 64 * 4  # operand and result; Relu runs in place
    assert plan.memory.ratio == 1.0


def test_views_cost_nothing() -> None:
    g, b = new()
    x = b.input("x", "float32", (2, 3, 4))
    y = b.Reshape(b.Exp(x), np.array([6, 4]))
    y = b.Squeeze(b.Unsqueeze(y, np.array([0])), np.array([0]))
    y = b.Transpose(b.Unsqueeze(y, np.array([1])), perm=[1, 0, 2])
    first, second = b.Split(b.Softmax(y), axis=1, num_outputs=2)
    b.outputs(b.Add(first, b.Slice(second, np.array([0]), np.array([3]), np.array([1]))))
    plan = check(g, [[data(2, 3, 4)]])
    assert kinds(plan)["view"] == 8 and kinds(plan)["kernel"] == 3


def test_concat_is_computed_in_its_output() -> None:
    g, b = new()
    n = symbol("n", 1)
    x = b.input("x", "float32", (1, n, 8))
    parts = [b.Softmax(b.Mul(x, float(k))) for k in range(1, 4)]
    whole = b.Concat([*parts, x], axis=1)
    b.outputs(b.ReduceSum(b.Exp(whole), np.array([1])))
    plan = check(g, [[data(1, n, 8)] for n in (1, 5)])
    steps = list(plan.all_steps())
    assert not any(isinstance(s, KernelStep) and s.implementation == "numpy.Concat" for s in steps)
    assert sum(isinstance(s, CopyStep) for s in steps) == 1  # the graph's input


def test_dense_concats_share_one_home() -> None:
    g, b = new()
    x = b.Relu(b.input("x", "float32", (1, 4, 8)))
    for _ in range(4):
        x = b.Concat([x, b.Softmax(b.ReduceMax(x, np.array([1])))], axis=1)
    b.outputs(b.ReduceSum(x))
    plan = check(g, [[data(1, 4, 8)]])
    assert "copy" not in kinds(plan)


def test_operand_read_again_is_not_overwritten() -> None:
    g, b = new()
    x = b.Softmax(b.input("x", "float32", (4, 4)))
    y = b.Relu(b.Sub(x, 0.2))
    turned = b.Reshape(x, np.array([2, 8]))
    z = b.Add(b.Reshape(b.MatMul(b.Transpose(turned, perm=[1, 0]), turned), np.array([16, 4])), 1.0)
    b.outputs(b.Add(b.ReduceSum(z, np.array([0])), y), b.Mul(x, x))
    check(g, [[data(4, 4)]])


def test_result_over_a_reshaped_operand_of_the_same_step() -> None:
    """x and its own reshape meet in one step: neither may be written while the other is read."""
    g, b = new()
    x = b.Softmax(b.input("x", "float32", (2, 2)))
    b.outputs(b.Exp(b.Add(b.Reshape(x, np.array([2, 2, 1])), b.Reshape(x, np.array([1, 2, 2])))))
    check(g, [[data(2, 2)]])


def test_packed_and_sixteen_bit_types() -> None:
    g, b = new()
    x = b.input("x", "float32", (3, 5))
    small = b.Cast(x, to="int4")
    half = b.Cast(x, to="bfloat16")
    b.outputs(b.Cast(b.Reshape(small, np.array([5, 3])), to="float32"), b.Mul(half, half), small)
    plan = check(g, [[np.round(data(3, 5) * 2)]])
    sizes = {v.name: plan.buffers[v.buffer].size for v in plan.values}
    assert sizes["cast"] == 8  # 15 elements of 4 bits


def test_outputs_are_the_callers() -> None:
    g, b = new()
    x = b.input("x", "float32", (4,))
    y = b.Exp(x)
    c = b.constant(np.arange(4, dtype=np.float32))
    b.outputs(y, y, x, c, b.Reshape(y, np.array([2, 2])))
    plan, _ = planned(g)
    executor = PlanExecutor(plan)
    given = data(4)
    first = executor.run([given], StateStore())
    kept = [a.copy() for a in first]
    for array in (given, *first):
        assert not any(np.shares_memory(array, other) for other in (given, *first) if other is not array)
    first[3][:] = 9
    second = executor.run([data(4)], StateStore())
    assert np.array_equal(first[0], kept[0]) and np.array_equal(second[3], kept[3])


# Control flow


@pytest.mark.parametrize("flag", [True, False])
def test_branches_share_bytes(flag: bool) -> None:
    g, b = new()
    n = symbol("n", 1)
    x = b.input("x", "float32", (n, 16))
    c = b.input("c", "bool", ())
    h = b.Softmax(x)

    def branch(op: str):  # type: ignore[no-untyped-def]
        return lambda r: [r.op(op, r.Softmax(r.op(op, h))), r.Add(h, 1.0)]

    a, d = b.If(c, then_branch=branch("Exp"), else_branch=branch("Tanh"))
    b.outputs(b.Softmax(b.Add(a, d)))
    plan = check(g, [[data(n, 16), np.array(flag)] for n in (2, 1)])
    (step,) = [s for s in plan.steps if isinstance(s, IfStep)]
    assert plan.memory is not None and plan.memory.ratio == 1.0
    assert not any(isinstance(s, CopyStep) for s in (*step.then_steps, *step.else_steps))


def test_branch_that_passes_a_captured_value_through() -> None:
    g, b = new()
    x = b.input("x", "float32", (3,))
    h = b.Exp(x)
    k = b.constant(np.ones(3, np.float32))
    y = b.If(b.input("c", "bool", ()), then_branch=lambda r: [h], else_branch=lambda r: [k])
    b.outputs(b.Add(y, h))
    check(g, [[data(3), np.array(flag)] for flag in (True, False)])


@pytest.mark.parametrize("trips", [0, 1, 4])
def test_loop_keeps_its_carried_values_apart(trips: int) -> None:
    g, b = new()
    x = b.input("x", "float32", (2, 3))
    limit = b.input("limit", "int64", ())
    scale = b.Exp(x)

    def body(r: Builder, i: Value, go: Value, a: Value, c: Value) -> list[Value]:
        f = r.Cast(i, to="float32")
        return [go, r.Add(r.Softmax(c), f), r.Mul(a, scale), r.ReduceSum(a, np.array([1]))]

    a, c, stacked = b.Loop(limit, None, [x, b.Neg(x)], body=body)
    b.outputs(a, c, stacked, b.Add(scale, 1.0))
    plan = check(g, [[data(2, 3), np.int64(trips)]])
    (step,) = [s for s in plan.steps if isinstance(s, LoopStep)]
    assert len(step.carried) == 2


def test_loop_swaps_its_values() -> None:
    g, b = new()
    x, y = b.input("x", "float32", (3,)), b.input("y", "float32", (3,))
    a, c = b.Loop(np.int64(3), None, [x, y], body=lambda r, i, go, p, q: [go, q, p])
    b.outputs(a, c)
    plan = check(g, [[data(3), data(3)]])
    assert next(s for s in plan.steps if isinstance(s, LoopStep)).staged


def test_loop_result_that_views_another_param() -> None:
    g, b = new()
    x, y = b.input("x", "float32", (2, 3)), b.input("y", "float32", (2, 3))

    def body(r: Builder, i: Value, go: Value, p: Value, q: Value) -> list[Value]:
        return [go, r.Reshape(r.Reshape(q, np.array([6])), np.array([2, 3])), r.Add(p, q)]

    b.outputs(*b.Loop(np.int64(3), None, [x, y], body=body))
    check(g, [[data(2, 3), data(2, 3)]])


def test_loop_ends_early_and_counts() -> None:
    g, b = new()
    x = b.input("x", "float32", (2,))

    def body(r: Builder, i: Value, go: Value, s: Value) -> list[Value]:
        s = r.Mul(s, 2.0)
        return [r.Less(r.ReduceMax(s, keepdims=0), 40.0), s, s]

    last, all_of_them = b.Loop(None, np.array(True), [x], body=body)
    b.outputs(last, all_of_them, b.Softmax(all_of_them, axis=0))
    plan = check(g, [[np.array([1, 3], np.float32)], [np.array([30, 2], np.float32)]])
    assert any(isinstance(s, BindStep) for s in plan.steps)


def test_loop_whose_carried_value_grows() -> None:
    g, b = new()
    x = b.input("x", "float32", (4,))
    u = g.fresh_symbol("rows", 1)
    wide = TensorType(DType.of("float32"), (symbol(u.name, u.lo, u.hi),))
    scalar, flag = TensorType(DType.of("int64"), ()), TensorType(DType.of("bool"), ())

    def body(r: Builder, i: Value, go: Value, s: Value) -> list[Value]:
        chosen = r.Squeeze(r.NonZero(r.Greater(x, r.Cast(i, to="float32"))), np.array([0]))
        return [go, r.Concat([s, r.Gather(x, chosen)], axis=0)]

    region = b.region([("i", scalar), ("go", flag), ("s", wide)], body)
    grown = b.Loop(b.input("limit", "int64", ()), None, [x], body=region)
    b.outputs(b.Softmax(grown))
    check(g, [[np.array([3.5, 1.5, -1, 7], np.float32), np.int64(k)] for k in (0, 1, 5)])


def test_loops_nest() -> None:
    g, b = new()
    x = b.input("x", "float32", (2, 2))

    def inner(r: Builder, i: Value, go: Value, s: Value) -> list[Value]:
        chosen = r.If(
            r.Less(r.ReduceSum(s, keepdims=0), 3.0),
            then_branch=lambda t: [t.Add(s, x)],
            else_branch=lambda t: [t.Sub(s, t.Exp(x))],
        )
        return [go, chosen, r.ReduceMax(chosen, keepdims=0)]

    def outer(r: Builder, i: Value, go: Value, s: Value) -> list[Value]:
        last, tops = r.Loop(r.Add(i, np.int64(1)), None, [s], body=inner)
        return [go, r.Mul(last, 0.5), r.ReduceSum(tops, keepdims=0)]

    b.outputs(*b.Loop(b.input("k", "int64", ()), None, [x], body=outer))
    check(g, [[data(2, 2), np.int64(k)] for k in (0, 1, 3)])


@pytest.mark.parametrize("backwards", [0, 1])
def test_scan(backwards: int) -> None:
    g, b = new()
    n = symbol("n", 1)
    x = b.input("x", "float32", (3, n))
    start = b.input("start", "float32", (3,))

    def body(r: Builder, s: Value, row: Value) -> list[Value]:
        s = r.Add(r.Mul(s, 0.5), row)
        return [s, r.Exp(s)]

    last, rows = b.Scan(
        start, x, num_scan_inputs=1, scan_input_axes=[1], scan_output_axes=[1],
        scan_input_directions=[backwards], scan_output_directions=[backwards], body=body,
    )  # fmt: skip
    b.outputs(last, b.Softmax(rows))
    check(g, [[data(3, n), data(3)] for n in (1, 4)])


# Sizes that depend on data


def test_bounded_size_lives_in_the_arena() -> None:
    g, b = new()
    x = b.input("x", "float32", (12,))
    found = b.NonZero(b.Greater(x, 0.0))
    picked = b.Gather(x, b.Squeeze(found, np.array([0])))
    b.outputs(b.ReduceSum(b.Exp(picked)), picked)
    plan = check(g, [[data(12)], [np.full(12, -1, np.float32)], [np.full(12, 1, np.float32)]])
    assert "alloc" not in kinds(plan) and kinds(plan)["bind"] == 1


def test_unbounded_size_is_allocated_and_freed() -> None:
    g, b = new()
    x = b.input("x", "float32", (symbol("n", 1),))
    found = b.NonZero(b.Greater(x, 0.0))
    picked = b.Gather(x, b.Squeeze(found, np.array([0])))
    doubled = b.Mul(picked, 2.0)
    b.outputs(b.ReduceSum(b.Exp(doubled)))
    plan = check(g, [[data(n)] for n in (1, 9, 30)])
    steps = list(plan.all_steps())
    assert any(isinstance(s, AllocStep) for s in steps) and any(isinstance(s, FreeStep) for s in steps)
    assert any(isinstance(s, HostStep) and "depends on data" in s.reason for s in steps)


def test_value_becomes_a_size() -> None:
    g, b = new()
    k = b.ge.BindDim(b.input("k", "int64", ()), lo=1, hi=10)
    y = b.Add(b.ConstantOfShape(b.Unsqueeze(k, np.array([0])), value=np.array([2.0], np.float32)), 1.0)
    b.outputs(y)
    check(g, [[np.array(n, np.int64)] for n in (1, 10)])
    plan, _ = planned(g)
    with pytest.raises(SizeBoundError, match="11"):
        PlanExecutor(plan).run([np.array(11, np.int64)], StateStore())


def test_sequences_and_strings_run_on_the_host() -> None:
    g, b = new()
    x = b.input("x", "float32", (4, 3))
    parts = b.SplitToSequence(b.Exp(x), axis=0)
    b.outputs(b.SequenceAt(parts, np.int64(2)), b.ConcatFromSequence(parts, axis=0))
    check(g, [[data(4, 3)]])


def test_sequence_output_holds_arrays_of_its_own() -> None:
    g, b = new()
    x = b.input("x", "float32", (4, 3))
    y = b.Exp(x)
    b.outputs(b.SequenceConstruct(y, b.Neg(y)))
    plan, _ = planned(g)
    executor = PlanExecutor(plan, poison=True)
    first = executor.run([data(4, 3)], StateStore())[0]
    kept = [a.copy() for a in first]
    executor.run([data(4, 3)], StateStore())
    assert all(np.array_equal(a, b) for a, b in zip(first, kept, strict=True))


# States


def cache_graph(batch: int = 1) -> Graph:
    """One step of a key cache: the new row is written at `at`, and attention reads all rows."""
    g, b = new()
    x = b.input("x", "float32", (batch, 1, 4))
    at = b.input("at", "int64", (1,))
    cache = b.state("cache", np.zeros((batch, 8, 4), np.float32))
    updated = b.TensorScatter(cache.read, b.Mul(x, 2.0), at, axis=1)
    g.set_state_write(cache, updated)
    b.outputs(b.Softmax(b.MatMul(x, b.Transpose(updated, perm=[0, 2, 1]))))
    return g


def test_state_is_updated_where_it_is() -> None:
    g = cache_graph()
    plan = check(g, [[data(1, 1, 4), np.array([i])] for i in range(8)], states=True, tolerance=1e-6)
    assert plan.states[0].in_place and "copy" not in kinds(plan)


def test_states_that_swap_and_outputs_of_old_values() -> None:
    g, b = new()
    x = b.input("x", "float32", (3,))
    one, two = b.state("one", np.zeros(3, np.float32)), b.state("two", np.ones(3, np.float32))
    g.set_state_write(one, two.read)
    g.set_state_write(two, b.Add(one.read, x))
    b.outputs(one.read, b.Reshape(two.read, np.array([1, 3])))
    check(g, [[data(3)] for _ in range(4)], states=True)


def test_state_that_is_only_read_keeps_its_value() -> None:
    """A step must not run in place over a state that nothing replaces, though it reads it last."""
    g, b = new()
    x = b.input("x", "float32", (3,))
    kept, swapped = b.state("kept", np.ones(3, np.float32)), b.state("swapped", np.ones(3, np.float32))
    g.set_state_write(swapped, kept.read)
    b.outputs(b.Tanh(kept.read), b.Tanh(b.Add(swapped.read, x)))
    check(g, [[data(3)] for _ in range(3)], states=True)


def test_failed_call_leaves_a_copied_state_and_marks_one_in_place() -> None:
    g, b = new()
    x = b.input("x", "float32", (3,))
    i = b.input("i", "int64", ())
    s = b.state("s", np.zeros(3, np.float32))
    g.set_state_write(s, b.Add(s.read, x))
    b.outputs(b.Gather(x, i))
    plan, _ = planned(g)
    executor, store = PlanExecutor(plan), StateStore(g.states)
    with pytest.raises(IndexRangeError):
        executor.run([np.ones(3, np.float32), np.array(7, np.int64)], store)
    if plan.states[0].in_place:
        with pytest.raises(InputError, match="half changed"):
            executor.run([np.ones(3, np.float32), np.array(0, np.int64)], store)
        store.reset()
    executor.run([np.ones(3, np.float32), np.array(0, np.int64)], store)
    assert np.array_equal(store["s"].array(), np.ones(3))


# Statuses and shapes


def test_status_names_the_node_and_the_users_line() -> None:
    g, b = new()
    x = b.input("x", "int64", (3,))
    with b.at(Location("torch", "blocks.2", "model.py", 41, "aten.div")):
        y = b.Div(np.array([6, 6, 6]), x)
    b.outputs(b.Add(y, 1))
    plan, _ = planned(g)
    with pytest.raises(DivisionByZeroError, match=r"model\.py:41"):
        PlanExecutor(plan).run([np.array([1, 0, 2])], StateStore())


def test_contradicting_sizes_name_input_and_dim() -> None:
    g, b = new()
    n = symbol("batch", 1, 8)
    x, y = b.input("x", "float32", (n, 2)), b.input("y", "float32", (n + 1, 2))
    b.outputs(b.ReduceSum(x), b.ReduceSum(y))
    plan, _ = planned(g)
    executor = PlanExecutor(plan)
    executor.run([data(3, 2), data(4, 2)], StateStore())
    with pytest.raises(InputError, match=r"input 'y' has size 3 in dim 0") as caught:
        executor.run([data(3, 2), data(3, 2)], StateStore())
    assert "batch is 3 in dim 0 of 'x'" in str(caught.value)
    with pytest.raises(InputError, match=r"input 'x' has size 9 in dim 0"):
        executor.run([data(9, 2), data(10, 2)], StateStore())
    with pytest.raises(InputError, match=r"input 'x' has size 3 in dim 1"):
        executor.run([data(3, 3), data(4, 2)], StateStore())


def test_size_that_nothing_defines_is_refused() -> None:
    g, b = new()
    n = symbol("n", 1)
    x = b.input("x", "float32", (n * n,))
    b.outputs(b.Exp(x))
    with pytest.raises(PlanError, match="nothing gives the size n"):
        planned(g)


def test_size_is_solved_from_a_linear_expression() -> None:
    g, b = new()
    n = symbol("n", 1)
    x = b.input("x", "float32", (2 * n + 1,))
    b.outputs(b.Exp(x))
    check(g, [[data(5)], [data(3)]])
    plan, _ = planned(g)
    with pytest.raises(InputError, match="size 4 in dim 0"):
        PlanExecutor(plan).run([data(4)], StateStore())


def test_many_shapes_do_not_grow_memory() -> None:
    g, b = new()
    x = b.input("x", "float32", (symbol("n", 1), 16))
    b.outputs(b.ReduceSum(b.Softmax(b.Softmax(x)), np.array([1])))
    plan, _ = planned(g)
    executor = PlanExecutor(plan)
    for n in range(1, 400):
        executor.run([np.ones((n, 16), np.float32)], StateStore())
    executor.run([np.ones((1, 16), np.float32)], StateStore())
    executor.run([np.ones((2, 16), np.float32)], StateStore())
    assert executor.pool.held() <= 2 * (400 * 16 * 4 * 2)
    assert len(executor.placer._kept) <= 64


def test_the_arena_of_a_large_call_is_given_back() -> None:
    g, b = new()
    b.outputs(b.ReduceSum(b.Softmax(b.Softmax(b.input("x", "float32", (symbol("n", 1), 16)))), np.array([1])))
    executor = PlanExecutor(planned(g)[0])
    executor.run([np.ones((100_000, 16), np.float32)], StateStore())
    assert executor.pool.held() >= 100_000 * 16 * 4
    for n in (1, 2, 3):
        executor.run([np.ones((n, 16), np.float32)], StateStore())
    assert executor.pool.held() < 100_000
