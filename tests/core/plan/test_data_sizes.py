"""Sizes that data decide: bound and allocated in the middle of a call, or reserved at their upper bound."""

from __future__ import annotations

import gc
import resource
import tracemalloc

import numpy as np
import pytest

import ge_core
from ge_core.errors import InputError
from ge_core.ir import Builder, Graph, Size, symbol
from ge_core.plan.plan import AllocStep, BindStep, ExecutionPlan, FreeStep
from tests.core.plan.running import check

RNG = np.random.default_rng(5)


def data(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def kinds(plan: ExecutionPlan) -> set[str]:
    return {b.kind for b in plan.buffers}


def masked(rows: Size) -> Graph:
    """x[mask], the boolean index of every framework."""
    graph = Graph("masked")
    b = Builder(graph)
    x, mask = b.input("x", "float32", (rows, 3)), b.input("mask", "bool", (rows,))
    chosen = b.Compress(b.Tanh(x), mask, axis=0)
    b.outputs(b.Softmax(b.Mul(chosen, 2.0)), b.ReduceSum(chosen, b.ints(0)))
    return graph


def distinct(rows: Size) -> Graph:
    graph = Graph("distinct")
    b = Builder(graph)
    x = b.input("x", "float32", (rows, 3))
    flat = b.Reshape(b.Ceil(x), b.ints(-1))
    values, first, inverse, counts = b.Unique(flat, sorted=1, num_outputs=4)
    b.outputs(b.Exp(values), first, b.Gather(values, inverse), counts)
    return graph


def boxes(rows: Size) -> Graph:
    graph = Graph("boxes")
    b = Builder(graph)
    corners, scores = b.input("corners", "float32", (1, rows, 4)), b.input("scores", "float32", (1, 1, rows))
    kept = b.NonMaxSuppression(corners, scores, np.array([20]), np.array([0.3], np.float32))
    index = b.Squeeze(b.Slice(kept, b.ints(2), b.ints(3), b.ints(1)), b.ints(1))
    b.outputs(b.Gather(b.Relu(corners), index, axis=1), index)
    return graph


def corners(n: int) -> list[np.ndarray]:
    low = RNG.random((1, n, 2)).astype(np.float32)
    return [np.concatenate([low, low + 0.2], 2), RNG.random((1, 1, n)).astype(np.float32)]


INPUTS = {
    masked: lambda n: [data(n, 3), RNG.random(n) < 0.5],
    distinct: lambda n: [data(n, 3)],
    boxes: corners,
}


@pytest.mark.parametrize("build", INPUTS)
@pytest.mark.parametrize("bound", [9, None])
def test_bound_and_allocated(build, bound: int | None) -> None:  # type: ignore[no-untyped-def]
    plan = check(build(symbol("n", 1, bound)), [INPUTS[build](n) for n in (1, 4, 9)], tolerance=1e-6)
    assert any(isinstance(s, BindStep) for s in plan.all_steps())
    assert not any(isinstance(s, AllocStep) for s in plan.all_steps()) or "dynamic" in kinds(plan)


def test_a_lower_bound_alone_is_never_planned_as_a_size() -> None:
    """The size is known to be 3 or more: its bytes must not be reserved for 3."""
    graph = Graph()
    b = Builder(graph)
    count = b.ge.BindDim(b.input("count", "int64", ()), lo=3)
    x = b.Expand(b.input("x", "float32", (1, 4)), b.Concat([b.Unsqueeze(count, b.ints(0)), b.ints(4)], axis=0))
    b.outputs(b.Softmax(b.Mul(x, 2.0)))
    plan = check(graph, [[np.array(n), data(1, 4)] for n in (3, 50, 4)])
    steps = list(plan.all_steps())
    large = {v.name: plan.buffers[v.buffer].kind for v in plan.values if v.type.shape and len(v.type.shape) == 2}  # type: ignore[union-attr]
    assert set(large.values()) <= {"input", "dynamic"} and "dynamic" in large.values()
    assert any(isinstance(s, AllocStep) for s in steps) and any(isinstance(s, FreeStep) for s in steps)


def test_a_thousand_shapes_do_not_grow_memory() -> None:
    graph = Graph()
    b = Builder(graph)
    n, m = symbol("n", 1), symbol("m", 1)
    x = b.Softmax(b.input("x", "float32", (n, m, 8)))
    y = b.Concat([x, b.Softmax(b.Exp(x))], axis=0)
    found = b.NonZero(b.Greater(b.ReduceMax(y, b.ints(2), keepdims=0), 0.2))
    b.outputs(b.ReduceSum(b.MatMul(y, b.Transpose(y, perm=[0, 2, 1])), b.ints(1)), found)
    model = ge_core.compile(graph, target="reference")
    shapes = [(1 + k % 40, 1 + k // 40) for k in range(1000)]
    assert len(set(shapes)) == 1000

    def run(shape: tuple[int, int]) -> None:
        model(np.ones((*shape, 8), np.float32))

    for shape in shapes[-40:] + shapes[:200]:
        run(shape)
    gc.collect()
    tracemalloc.start()
    before, resident = tracemalloc.get_traced_memory()[0], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for shape in shapes:
        run(shape)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 4 << 20  # two arenas and the last placements, of whatever shapes were first and last
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - resident < 64 << 10  # KiB


def test_contradicting_shapes_name_input_and_dim() -> None:
    graph = Graph()
    b = Builder(graph)
    n = symbol("batch", 1)
    b.outputs(b.Add(b.input("left", "float32", (n, 2)), b.input("right", "float32", (n, 2))))
    model = ge_core.compile(graph, target="reference")
    with pytest.raises(InputError, match=r"input 'right' has size 4 in dim 0(.|\n)*batch is 3 in dim 0 of 'left'"):
        model(data(3, 2), data(4, 2))
