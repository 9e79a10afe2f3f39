"""Selection by measurement: what wins is taken, once, and only where it can be measured."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ge_backend_cpu import measure
from ge_backend_cpu.backend import CpuBackend
from ge_backend_cpu.cache import Cache
from ge_backend_cpu.isa import Isa, host
from ge_core.backend import Implementation, Measures
from ge_core.ir import Builder, Graph, Node, symbol
from ge_core.passes.base import ALL_SWITCHES
from ge_core.plan.build import PlanRequest, build_plan
from ge_core.plan.states import StateStore
from ge_core.reference.interpret import interpret
from tests.backends.cpu.native import kernels

RNG = np.random.default_rng(3)
OPTIONS: dict[str, object] = {"workers": 0, "num_threads": 1}


def convolution(size: Any = 12) -> Graph:
    g = Graph()
    b = Builder(g)
    x = b.input("x", "float32", (1, 32, size, 12))
    w = RNG.standard_normal((32, 32, 3, 3)).astype(np.float32)
    b.outputs(b.Relu(b.Conv(x, b.constant(w), pads=[1, 1, 1, 1])))
    return g


def first(graph: Graph) -> Node:
    return next(iter(graph.nodes))


def offered(node: Node) -> list[Implementation]:
    return list(CpuBackend().implementations(node, "cpu", OPTIONS))


def measured(node: Node, cache: Cache | None, isa: Isa | None = None) -> Sequence[Implementation]:
    return measure.measured(CpuBackend(), node, offered(node), "cpu", isa or host(), OPTIONS, cache)


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "_known", {})


def no_race(*arguments: object) -> list[float]:
    raise AssertionError("it was measured again")


def test_costs_are_seconds_of_this_machine() -> None:
    node = first(convolution())
    found, before = measured(node, None), offered(node)
    assert len(found) > 2 and [i.name for i in found] == [i.name for i in before]
    assert all(1e-7 < i.cost < 1 for i in found)
    assert [i.cost for i in found] != [i.cost for i in before]


def test_the_choice_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = first(convolution())
    once = [i.cost for i in measured(node, Cache(tmp_path))]
    monkeypatch.setattr(measure._Race, "run", no_race)
    assert [i.cost for i in measured(node, None)] == once  # in this process
    measure._known.clear()
    assert [i.cost for i in measured(node, Cache(tmp_path))] == once  # in another one
    measure._known.clear()
    with pytest.raises(AssertionError, match="again"):
        measured(first(convolution(13)), Cache(tmp_path))  # other sizes


@pytest.mark.parametrize("stored", [b"[1.0]", b"[1.0, 2.0, -1]", b"\xff"])
def test_damaged_entries_are_measured_again(tmp_path: Path, stored: bytes) -> None:
    node, cache = first(convolution()), Cache(tmp_path)
    isa = host()
    key = measure._key(node, offered(node), isa, OPTIONS)
    cache.put(key, stored)
    found = measured(node, cache)
    assert all(i.cost < 1 for i in found)
    assert measure._decoded(cache.get(key), len(found)) == [i.cost for i in found]


def test_what_cannot_be_measured_keeps_its_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure._Race, "run", no_race)
    dynamic = first(convolution(symbol("h", 3)))
    assert measured(dynamic, None) == offered(dynamic)
    fixed = first(convolution())
    assert measured(fixed, None, Isa.of("aarch64")) == offered(fixed)


@pytest.mark.parametrize("winner", ["conv", "winograd4", "winograd2", "winograd4.late"])
def test_the_fastest_is_selected(winner: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(race: Any) -> list[float]:
        names = [next(k for k in kernels(each.plan) if "loops" not in k) for each in entries(race)]
        return [1e-6 if name.startswith(winner) else 1e-3 for name in names]

    def entries(race: Any) -> list[Any]:
        return [executable.entries["main"] for executable, _ in race.runners]

    monkeypatch.setattr(measure._Race, "run", run)
    graph = convolution()
    backend = CpuBackend()
    assert isinstance(backend, Measures)
    options = {**OPTIONS, "cache": False}
    plan = build_plan(graph, PlanRequest(backend, "cpu", options, switches=ALL_SWITCHES))[0]
    assert f"{winner}.fused" in kernels(plan)
    run_it = backend.load(backend.build({"main": plan}, "cpu", options), options)
    x = RNG.standard_normal((1, 32, 12, 12)).astype(np.float32)
    (want,), _ = interpret(graph, [x], {})
    (got,) = run_it.run([x], StateStore(()))
    assert np.abs(got - want).max() < 2e-5 * np.abs(want).max()
