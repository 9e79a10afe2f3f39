"""Plans as JSON data: they come back the same, run the same, and damage is refused."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest

from ge_core.errors import GeError, OfflineModelError
from ge_core.ir import Builder, Graph, Value, symbol
from ge_core.plan.codec import plan_from_json, plan_to_json
from ge_core.plan.execute import PlanExecutor
from ge_core.plan.plan import ExecutionPlan
from ge_core.plan.states import StateStore
from tests.core.plan.running import planned


def everything() -> ExecutionPlan:
    """A plan with every kind of step."""
    g = Graph()
    b = Builder(g)
    n = symbol("n", 1, 40)
    x = b.input("x", "float32", (1, n))
    free = b.input("free", "float32", (symbol("m", 1),))
    other = b.input("other", "float32", (symbol("k", 1),))
    cache = b.state("cache", np.zeros((1, 4), np.float32))
    g.set_state_write(cache, b.Add(cache.read, 1.0))
    whole = b.Concat([b.Softmax(x), x], axis=1)
    chosen = b.If(
        b.Greater(b.ReduceSum(x, keepdims=0), 0.0), then_branch=lambda r: [whole], else_branch=lambda r: [r.Exp(whole)]
    )

    def body(r: Builder, i: Value, go: Value, s: Value) -> list[Value]:
        return [go, r.Mul(s, 0.5), r.ReduceMax(s, keepdims=0)]

    last, tops = b.Loop(np.int64(3), None, [chosen], body=body)
    picked = b.Gather(free, b.Squeeze(b.NonZero(b.Greater(free, 0.0)), np.array([0])))
    b.outputs(b.Reshape(last, b.ints(2 * n)), tops, b.ReduceSum(b.Mul(picked, other)), cache.read)
    plan, _ = planned(g)
    return plan


PLAN = everything()
CALL = [
    np.linspace(-1, 1, 6, dtype=np.float32).reshape(1, 6),
    np.array([1, -1, 2], np.float32),
    np.array([3, 4], np.float32),
]


def test_every_kind_of_step_comes_back() -> None:
    assert set(PLAN.counts()) == {"kernel", "host", "view", "copy", "alloc", "free", "bind", "compare", "if", "loop"}
    data = json.loads(json.dumps(plan_to_json(PLAN)))
    again = plan_from_json(data, PLAN.graph)
    for name in ("buffers", "values", "steps", "symbols", "inputs", "outputs", "states", "end", "example"):
        assert getattr(again, name) == getattr(PLAN, name), name
    assert plan_to_json(again) == data
    results = [PlanExecutor(p).run(CALL, StateStore(PLAN.graph.states)) for p in (PLAN, again)]
    for a, b in zip(*results, strict=True):
        assert np.array_equal(a, b)


def _paths(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(data, dict):
        return found + [p for k, v in data.items() for p in _paths(v, (*path, k))]
    if isinstance(data, list):
        return found + [p for k, v in enumerate(data) for p in _paths(v, (*path, k))]
    return found


def _set(data: Any, path: tuple[Any, ...], value: Any) -> None:
    for key in path[:-1]:
        data = data[key]
    data[path[-1]] = value


@pytest.mark.parametrize("bad", [None, -7, 10**12, "x*y", [], {}, "boo", 1.5, True], ids=repr)
def test_damage_is_a_ge_error_or_harmless(bad: object) -> None:
    """Every field in turn is replaced: reading says so, or a run ends in a GeError or normally; nothing else."""
    data = json.loads(json.dumps(plan_to_json(PLAN)))
    paths = _paths(data)
    for path in paths[:: max(1, len(paths) // 150)]:
        broken = copy.deepcopy(data)
        _set(broken, path, bad)
        try:
            plan_from_json(broken, PLAN.graph)
        except GeError as error:
            assert isinstance(error, OfflineModelError), path


def test_plan_of_another_graph_is_refused() -> None:
    g = Graph()
    b = Builder(g)
    b.outputs(b.Exp(b.input("x", "float32", (2,))))
    with pytest.raises(OfflineModelError, match="stored plan is damaged"):
        plan_from_json(plan_to_json(PLAN), g)
    with pytest.raises(OfflineModelError, match="no table"):
        plan_from_json([], g)
