"""Operators whose results' sizes only the run knows: written as others, without a host step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from ge_core.errors import GeError, IndexRangeError
from ge_core.ir import Builder, DType, Graph, symbol
from ge_core.plan.plan import HostStep
from ge_core.plan.states import StateStore
from ge_core.reference.interpret import interpret
from tests.backends.cpu.native import executable, plan_of


def run_all(
    make: Callable[..., Any],
    calls: Sequence[Sequence[np.ndarray]],
    refused: Sequence[Sequence[np.ndarray]],
    tolerance: float = 0,
) -> None:
    """Calls end in the interpreter's results, up to a part of their scale; refused ones in errors on both sides."""
    graph = Graph()
    b = Builder(graph)
    b.outputs(make(b, *(b.input(f"x{i}", DType.of(a.dtype), a.shape) for i, a in enumerate(calls[0]))))
    plan = plan_of(graph)
    assert not [step.name for step in plan.all_steps() if isinstance(step, HostStep)]
    run = executable(plan)
    for arrays in calls:
        (wanted,), _ = interpret(graph, list(arrays))
        (found,) = run.run(list(arrays), StateStore(graph.states))
        assert found.dtype == wanted.dtype
        assert found.shape == wanted.shape
        if tolerance:
            scale = np.abs(wanted).max(initial=0, where=np.isfinite(wanted))
            np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance * scale)
        else:
            np.testing.assert_array_equal(found, wanted)
    for arrays in refused:
        with pytest.raises(GeError):
            interpret(graph, list(arrays))
        with pytest.raises(GeError):
            run.run(list(arrays), StateStore(graph.states))


def scalars(dtype: str, *values: float) -> list[np.ndarray]:
    return [np.array(v, dtype) for v in values]


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_range(dtype: str) -> None:
    triples: list[tuple[float, float, float]] = [(0, 5, 1), (5, 0, -2), (3, 3, 1), (0, -5, 1), (-7, 8, 3)]
    refused: list[tuple[float, float, float]] = [(0, 5, 0)]
    if dtype.startswith("float"):
        triples += [(0.1, 1.0, 0.3), (1.0, -0.5, -0.25)]
        refused += [(0, np.inf, 1), (0, np.nan, 1)]
    if dtype == "int32":
        triples.append((-(2**31), 2**31 - 1, 2**30))
    run_all(lambda b, *v: b.Range(*v), [scalars(dtype, *t) for t in triples], [scalars(dtype, *t) for t in refused])


def test_range_of_ends_too_far_apart() -> None:
    """Their difference wraps: refused, not a wrong length."""
    graph = Graph()
    b = Builder(graph)
    b.outputs(b.Range(*(b.input(f"x{i}", "int64", ()) for i in range(3))))
    run = executable(plan_of(graph))
    with pytest.raises(GeError, match="too far apart"):
        run.run(scalars("int64", -(2**63), 2**63 - 1, 2**62), StateStore(graph.states))


@pytest.mark.parametrize("axis", [0, -1])
def test_repeats(axis: int) -> None:
    x = np.arange(9, dtype=np.float32).reshape(3, 3)

    def make(b: Builder, v: Any, counts: Any) -> Any:
        return b.ge.RepeatInterleave(v, counts, axis=axis)

    each = [[x, np.array(counts)] for counts in ([1, 0, 2], [0, 0, 0], [3, 3, 3])]
    run_all(make, each, [[x, np.array([1, -1, 2])]])
    run_all(make, [[x, np.array([n])] for n in (2, 0, 1)], [[x, np.array([-1])]])


EMPTY: dict[str, tuple[Callable[..., Any], tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = {
    "Gather": (lambda b, x, i, u: b.Gather(x, i, axis=1), (0, 4), (2,), (1,)),
    "Gather between": (lambda b, x, i, u: b.Gather(x, i, axis=0), (4, 3, 0), (2,), (1,)),
    "GatherND": (lambda b, x, i, u: b.GatherND(x, i), (4, 0), (3, 1), (1,)),
    "ScatterND": (lambda b, x, i, u: b.ScatterND(x, i, u), (4, 0), (3, 1), (3, 0)),
    "ScatterND, maxima": (lambda b, x, i, u: b.ScatterND(x, i, u, reduction="max"), (4, 0), (3, 1), (3, 0)),
    "SegmentReduce": (
        lambda b, x, i, u: b.ge.SegmentReduce(x, i, b.constant(4, "int64"), reduction="sum"), (3, 0), (3,), (1,)),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", EMPTY)
def test_indices_are_checked_where_the_result_is_empty(name: str, dtype: str) -> None:
    """As the reference kernels do; sizes that are 0 in a call alone, too."""
    make, shape, indices, updates = EMPTY[name]
    for symbolic in (False, True):
        graph = Graph()
        b = Builder(graph)
        sizes = tuple(symbol("n", 0) if n == 0 and symbolic else n for n in shape)
        rest = tuple(symbol("n", 0) if n == 0 and symbolic else n for n in updates)
        b.outputs(make(b, b.input("x", dtype, sizes), b.input("i", "int64", indices), b.input("u", dtype, rest)))
        plan = plan_of(graph)
        assert not [step.name for step in plan.all_steps() if isinstance(step, HostStep)]
        run = executable(plan)
        for value, fine in ((0, True), (3, True), (4, False), (-5, False)):
            given = [np.zeros(shape, dtype), np.full(indices, value), np.zeros(updates, dtype)]
            if fine:
                (found,) = run.run(given, StateStore(graph.states))
                assert not found.size
                continue
            with pytest.raises(IndexRangeError):
                interpret(graph, given)
            with pytest.raises(IndexRangeError):
                run.run(given, StateStore(graph.states))
