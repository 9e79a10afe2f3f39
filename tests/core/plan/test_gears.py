"""One memory plan for each listed size, in one arena; sizes between two gears take the next one's plan."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ge_core
from ge_core.errors import InputError, OptionError
from ge_core.ir import Builder, Graph, symbol
from ge_core.ir.dims import symbols
from ge_core.memory import CompoundBuffer, Rect, validate
from ge_core.plan.build import PlanRequest, build_plan
from ge_core.plan.execute import PlanExecutor
from ge_core.plan.gears import GearBox, narrow, reach
from ge_core.plan.placement import Placer
from ge_core.plan.plan import ExecutionPlan
from ge_core.plan.states import StateStore
from ge_core.reference.backend import ReferenceBackend
from ge_core.reference.interpret import interpret
from tests.core.plan.running import Forgetful

GEARS = {"n": (2, 5, 12)}
SYMBOLS = [symbol("n", 1), symbol("m", 1)]


def staircase() -> Graph:
    """A concat of parts that live at different times, split again, among values of a fixed size."""
    graph = Graph()
    b = Builder(graph)
    n = symbol("n", 1)
    x = b.input("x", "float32", (1, n, 8))
    fixed = b.Softmax(b.input("y", "float32", (1, 6, 8)))
    parts = [b.Softmax(b.Mul(x, 0.5)), fixed, b.Softmax(b.Exp(x))]
    whole = b.Concat(parts, axis=1)
    first, second = b.Split(b.Softmax(whole), b.ints(n, n + 6), axis=1, num_outputs=2)
    b.outputs(b.ReduceSum(b.Mul(b.Softmax(first), x)), b.ReduceSum(b.Softmax(b.Concat([second, first], axis=1))))
    return graph


def planned(graph: Graph, gears: dict[str, tuple[int, ...]]) -> ExecutionPlan:
    narrow(graph, gears)
    return build_plan(graph, PlanRequest(ReferenceBackend(), "reference", gears=gears))[0]


def test_every_size_runs_in_one_arena() -> None:
    graph = staircase()
    plan = planned(graph, GEARS)
    executor = PlanExecutor(plan, poison=True)
    rng = np.random.default_rng(0)
    sizes, starts = set(), {}
    for n in (*range(1, 13), 3, 12, 1):
        inputs = [rng.standard_normal((1, n, 8), np.float32), rng.standard_normal((1, 6, 8), np.float32)]
        want, _ = interpret(plan.graph, inputs, {})
        for got in (
            executor.run(inputs, StateStore()),
            executor.observe(inputs, StateStore(), Forgetful(executor, inputs)),
        ):
            assert all(np.allclose(a, b, rtol=1e-5) for a, b in zip(got, want, strict=True))
        placement = executor.placement(inputs)
        sizes.add(placement.arena)
        starts.setdefault(next(g for g in GEARS["n"] if g >= n), set()).add(placement.starts)
        assert executor.pool.held() == placement.arena
    assert len(sizes) == 1
    assert [len(found) for found in starts.values()] == [1, 1, 1]


def test_size_above_the_largest_gear_is_refused() -> None:
    executor = PlanExecutor(planned(staircase(), GEARS))
    with pytest.raises(InputError, match=r"input 'x' has size 13 in dim 1.*(\n.*)*12"):
        executor.run([np.zeros((1, 13, 8), np.float32), np.zeros((1, 6, 8), np.float32)], StateStore())


@settings(max_examples=100, deadline=None, derandomize=True, database=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=4, unique=True), st.integers(1, 40), st.integers(1, 9))
def test_a_gear_is_the_least_that_fits(steps: list[int], n: int, m: int) -> None:
    box = GearBox([n for s in SYMBOLS for n in symbols(s)], {"n": tuple(sorted(steps))})
    if n > max(steps):
        return
    gear = box.of([n, m])
    assert gear == (min(s for s in steps if s >= n), m)
    low, high = reach(symbol("n", 1) * 4, symbol("n", 1) * m, box.ranges(gear)) or (-1, -1)
    assert low <= 4 * n and 4 * n + n * m <= high == gear[0] * (4 + m)


@pytest.mark.parametrize("n", range(1, 13))
def test_exact_extents_lie_inside_those_of_the_gear(n: int) -> None:
    placer = Placer(planned(staircase(), GEARS))
    placement = placer.at([n])
    assert validate(placer.compound([n]), placement.memory) == []


def test_extents_of_a_gear_cover_the_smaller_sizes() -> None:
    """A part behind one that has died moves down with the size: what lies below it must know."""
    box = GearBox(list(symbols(SYMBOLS[0])), {"n": (4, 10)})
    low, high = reach(SYMBOLS[0] * 8, 64, box.ranges((10,))) or (0, 0)
    assert (low, high) == (40, 144)
    part = CompoundBuffer("part", (Rect(low, high - low, 0, 1),))
    assert part.rects[0].size == 104


def test_gears_through_the_public_functions(tmp_path: Path) -> None:
    gears = {"n": [12, 2]}
    model = ge_core.compile(staircase(), target="reference", options={"gears": gears})
    assert model.plan is not None and model.plan.gears == {"n": (2, 12)}
    model.save(tmp_path / "net.om")
    again = ge_core.load(tmp_path / "net.om")
    rebuilt = ge_core.load(tmp_path / "net.om", rebuild=True)
    x, y = np.ones((1, 7, 8), np.float32), np.ones((1, 6, 8), np.float32)
    for loaded in (again, rebuilt):
        assert loaded.plan is not None and loaded.plan.gears == model.plan.gears
        assert all(np.array_equal(a, b) for a, b in zip(loaded(x, y), model(x, y), strict=True))


@pytest.mark.parametrize(
    ("gears", "message"),
    [
        ({"k": [1]}, "'k', which no input has"),
        ({"n": []}, "a list of whole numbers"),
        ({"n": ["a"]}, "a list of whole numbers"),
        ({"n": [0, 4]}, "sizes from 1"),
        ([1, 2], "a table"),
        ({"n": list(range(1, 400))}, "combinations"),
    ],
)
def test_gears_that_mean_nothing_are_refused(gears: object, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        ge_core.compile(staircase(), target="reference", options={"gears": gears})
