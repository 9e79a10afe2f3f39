"""Counted loops that read tensors slice by slice, and those that have to stay loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import ge_core
from ge_core.ir import Builder, Graph, Node, Value, symbol
from ge_core.ir.dims import Size
from ge_core.ir.traverse import walk
from ge_core.ir.verifier import verify
from ge_core.passes import optimise
from ge_core.reference.interpret import interpret

from .compare import assert_close, assert_same_bits

N = symbol("n", 0)
Body = Callable[..., Sequence[Value]]
Build = Callable[[Builder, Value], Any]


def _graph(build: Build, shape: Sequence[Size] = (N, 3)) -> Graph:
    b = Builder(Graph("g"))
    made = build(b, b.input("x", "float32", tuple(shape)))
    b.outputs(*([made] if isinstance(made, Value) else made))
    return b.graph


def _loops(graph: Graph) -> list[Node]:
    return [node for node in walk(graph) if node.op in ("Loop", "Scan")]


def _optimised(build: Build, shape: Sequence[Size] = (N, 3)) -> tuple[Graph, list[str]]:
    graph = _graph(build, shape)
    optimise(graph)
    verify(graph)
    return graph, [node.op for node in _loops(graph)]


def _values(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def _check(
    build: Build, kinds: Sequence[str], shape: Sequence[Size] = (N, 3), lengths: Sequence[int] = (4, 1, 0)
) -> None:
    """The kinds of loops that are left, and the same bits as before for each length; scans on the CPU target too."""
    graph, found = _optimised(build, shape)
    assert found == list(kinds)
    compiled = ge_core.compile(_graph(build, shape), target="cpu") if "Scan" in kinds else None
    for length in lengths:
        x = _values(*(size if isinstance(size, int) else length for size in shape))
        want = interpret(_graph(build, shape), [x], {})[0]
        assert_same_bits(interpret(graph, [x], {})[0], want)
        if compiled is None:
            continue
        got = compiled(x)
        assert_close([np.asarray(y) for y in (got if isinstance(got, (tuple, list)) else [got])], want, 1e-6)


def _counted(b: Builder, body: Body, initial: Sequence[Value], rounds: Value | None = None, cond: Any = None) -> Any:
    return b.Loop(b.scalar(N) if rounds is None else rounds, cond, list(initial), body=body)


def _sums(read: Callable[[Builder, Value, Value], Value]) -> Build:
    """Running sums of what is read in each round, and their last."""

    def build(b: Builder, x: Value) -> Any:
        def body(r: Builder, i: Value, go: Value, s: Value) -> Sequence[Value]:
            total = r.Add(s, read(r, x, i))
            return [r.constant(True), total, r.Mul(total, 0.5)]

        return _counted(b, body, [b.constant(np.zeros(3, np.float32))])

    return build


def test_a_loop_over_rows_becomes_a_scan() -> None:
    _check(_sums(lambda r, x, i: r.Gather(x, i, axis=0)), ["Scan"])


def test_a_counter_of_another_integer_type_is_seen_through() -> None:
    def read(r: Builder, x: Value, i: Value) -> Value:
        return r.Gather(x, r.Cast(r.Cast(i, to="int32"), to="int64"), axis=0)

    _check(_sums(read), ["Scan"])


def test_a_counter_that_may_wrap_is_not() -> None:
    def read(r: Builder, x: Value, i: Value) -> Value:
        return r.Gather(x, r.Cast(r.Cast(i, to="int8"), to="int64"), axis=0)

    _check(_sums(read), ["Loop"], lengths=(130,))


@pytest.mark.parametrize(("rounds", "kind"), [(128, "Scan"), (129, "Loop")])
def test_a_narrow_counter_holds_few_rounds(rounds: int, kind: str) -> None:
    def build(b: Builder, x: Value) -> Any:
        def body(r: Builder, i: Value, go: Value, s: Value) -> Sequence[Value]:
            narrow = r.Cast(r.Cast(i, to="int8"), to="int64")
            return [r.constant(True), r.Add(s, r.Gather(x, narrow, axis=0))]

        return _counted(b, body, [b.constant(np.zeros(3, np.float32))], b.constant(np.int64(rounds)))

    _check(build, [kind], (rounds, 3), (0,))


def test_slices_along_other_axes_and_of_several_tensors() -> None:
    def build(b: Builder, x: Value) -> Any:
        wide, line = b.Transpose(x, perm=[1, 0]), b.ReduceSum(x, b.ints(1), keepdims=0)

        def body(r: Builder, i: Value, go: Value, s: Value) -> Sequence[Value]:
            first, again = r.Gather(wide, i, axis=-1), r.Gather(wide, i, axis=1)
            total = r.Add(r.Mul(s, r.Gather(line, i, axis=0)), r.Mul(first, again))
            return [r.constant(True), total, r.Gather(line, i, axis=0)]

        return _counted(b, body, [b.constant(np.ones(3, np.float32))])

    _check(build, ["Scan"])
    scan = _loops(_optimised(build)[0])[0]
    assert scan.attrs["num_scan_inputs"] == 2 and len(scan.inputs) == 3 and not scan.regions["body"].captures[1:]


def test_a_known_number_of_rounds() -> None:
    def build(b: Builder, x: Value) -> Any:
        def body(r: Builder, i: Value, go: Value, s: Value) -> Sequence[Value]:
            return [go, r.Add(s, r.Gather(x, i, axis=0))]

        return _counted(b, body, [b.constant(np.zeros(3, np.float32))], b.constant(np.int64(4)), b.constant(True))

    _check(build, ["Scan"], (4, 3), (4,))
    _check(build, ["Loop"], (5, 3), (5,))


def test_states_that_grow() -> None:
    def build(b: Builder, x: Value) -> Any:
        def body(r: Builder, i: Value, go: Value, s: Value) -> Sequence[Value]:
            return [r.constant(True), r.Concat([s, r.Unsqueeze(r.Gather(x, i, axis=0), r.ints(0))], axis=0)]

        return _counted(b, body, [b.constant(np.zeros((1, 3), np.float32))])

    _check(build, ["Scan"])


def test_a_loop_in_a_loop() -> None:
    def build(b: Builder, x: Value) -> Any:
        def outer(r: Builder, i: Value, go: Value, s: Value) -> Sequence[Value]:
            row = r.Gather(x, i, axis=0)

            def inner(q: Builder, j: Value, go: Value, t: Value) -> Sequence[Value]:
                return [q.constant(True), q.Add(q.Mul(t, 0.5), q.Gather(row, j, axis=0))]

            return [r.constant(True), r.Loop(r.constant(np.int64(3)), None, [s], body=inner)]

        return _counted(b, outer, [b.constant(np.float32(1))])

    _check(build, ["Scan", "Scan"])


def _early(r: Builder, x: Value, i: Value, go: Value, s: Value) -> Sequence[Value]:
    total = r.Add(s, r.Gather(x, i, axis=0))
    return [r.Less(r.ReduceSum(total, keepdims=0), 1.0), total]


def _counts(r: Builder, x: Value, i: Value, go: Value, s: Value) -> Sequence[Value]:
    return [r.constant(True), r.Add(s, r.Mul(r.Gather(x, i, axis=0), r.Cast(i, to="float32")))]


def _next_row(r: Builder, x: Value, i: Value, go: Value, s: Value) -> Sequence[Value]:
    return [r.constant(True), r.Add(r.Gather(x, r.Sub(i, 1), axis=0), r.Gather(x, i, axis=0))]


def _several(r: Builder, x: Value, i: Value, go: Value, s: Value) -> Sequence[Value]:
    return [r.constant(True), r.Add(s, r.Squeeze(r.Gather(x, r.Reshape(i, r.ints(1)), axis=0), r.ints(0)))]


def _in_a_branch(r: Builder, x: Value, i: Value, go: Value, s: Value) -> Sequence[Value]:
    positive = r.Greater(r.ReduceSum(s, keepdims=0), 0.0)
    row = r.If(positive, then_branch=lambda q: [q.Gather(x, i, axis=0)], else_branch=lambda q: [q.Neg(s)])
    return [r.constant(True), r.Add(s, row)]


def _own_tensor(r: Builder, x: Value, i: Value, go: Value, s: Value) -> Sequence[Value]:
    return [r.constant(True), r.Add(s, r.Gather(r.Add(x, s), i, axis=0))]


@pytest.mark.parametrize("body", [_early, _counts, _next_row, _in_a_branch, _own_tensor, _several])
def test_what_has_to_stay_a_loop(body: Callable[..., Sequence[Value]]) -> None:
    def build(b: Builder, x: Value) -> Any:
        return _counted(b, lambda r, i, go, s: body(r, x, i, go, s), [b.constant(np.ones(3, np.float32))])

    _check(build, ["Loop"])


def test_fewer_rounds_than_rows_stay_a_loop() -> None:
    def build(b: Builder, x: Value) -> Any:
        def body(r: Builder, i: Value, go: Value, s: Value) -> Sequence[Value]:
            return [r.constant(True), r.Add(s, r.Gather(x, i, axis=0))]

        return _counted(b, body, [b.constant(np.zeros(3, np.float32))], b.Sub(b.scalar(N), np.int64(1)))

    _check(build, ["Loop"])


def test_rounds_that_only_the_data_tell_stay_a_loop() -> None:
    def build(b: Builder, x: Value) -> Any:
        def body(r: Builder, i: Value, go: Value, s: Value) -> Sequence[Value]:
            return [r.constant(True), r.Add(s, r.Gather(x, i, axis=0))]

        rounds = b.Min([b.Cast(b.ReduceMax(x, keepdims=0), to="int64"), b.scalar(N)])
        return _counted(b, body, [b.constant(np.zeros(3, np.float32))], rounds)

    _check(build, ["Loop"], lengths=(4,))


def test_a_condition_that_is_false_from_the_start() -> None:
    def build(b: Builder, x: Value) -> Any:
        def body(r: Builder, i: Value, go: Value, s: Value) -> Sequence[Value]:
            return [r.constant(True), r.Add(s, r.Gather(x, i, axis=0))]

        return _counted(b, body, [b.constant(np.zeros(3, np.float32))], cond=b.constant(False))

    _check(build, ["Loop"])
