"""Profiles count operations and bytes, and compare with what the machine measures itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from ge_backend_cpu import probe
from ge_backend_cpu.profile import KernelTime, flops_of
from ge_core.ir import Builder, Graph, symbol
from ge_core.plan.states import StateStore
from tests.backends.cpu.vehicle import executable


def test_the_machine_measures_itself_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GE_CACHE_DIR", str(tmp_path))
    probe.machine.cache_clear()
    found = probe.machine()
    assert 1e9 < found.flops < 1e13
    assert found.far > 1e8 and 1e9 < found.near < 1e13
    monkeypatch.setattr(probe, "measure", lambda isa: pytest.fail("measured twice"))
    probe.machine.cache_clear()
    assert probe.machine() == found
    probe.machine.cache_clear()


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Callable[..., probe.Machine]]:
    """What a process at some time knows of a machine that would measure some figures then."""
    monkeypatch.setenv("GE_CACHE_DIR", str(tmp_path))

    def look(hour: float, *figures: float) -> probe.Machine:
        monkeypatch.setattr(probe.time, "time", lambda: 1e9 + 3600 * hour)
        monkeypatch.setattr(probe, "measure", lambda isa: probe.Machine(*figures))
        probe.machine.cache_clear()
        return probe.machine()

    yield look
    probe.machine.cache_clear()


def test_figures_of_a_busy_machine_are_corrected(looked: Callable[..., probe.Machine]) -> None:
    assert looked(0, 4.0, 2.0, 3.0) == probe.Machine(4.0, 2.0, 3.0)
    assert looked(0.5, 9.0, 9.0, 9.0) == probe.Machine(4.0, 2.0, 3.0)
    assert looked(2, 9.0, 2.2, 1.0) == probe.Machine(9.0, 2.0, 3.0)
    assert looked(3.5, 1.0, 1.0, 6.0) == probe.Machine(9.0, 2.0, 6.0)
    assert looked(100, 99.0, 99.0, 99.0) == probe.Machine(9.0, 2.0, 6.0)


def test_figures_from_the_future_are_looked_at_again(looked: Callable[..., probe.Machine]) -> None:
    looked(50, 4.0, 2.0, 3.0)
    assert looked(0, 8.0, 2.0, 3.0).flops == 8.0


def test_the_best_round_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = iter([1.0, 5.0, 3.0, 4.0, 2.0, 9.0, 2.0, 6.0, 1.0, 3.0, 3.0, 3.0])
    monkeypatch.setattr(probe, "works", lambda isa: ((None, 0.0),) * 3)
    monkeypatch.setattr(probe, "_rate", lambda call, amount: next(rates))
    assert probe.measure(probe.host()) == probe.Machine(4.0, 6.0, 9.0)


def test_operations_of_contractions() -> None:
    g = Graph()
    b = Builder(g)
    x, n = b.input("x", "float32", (2, 8, 10, 10)), symbol("n", 1)
    a = b.input("a", "float32", (3, n, 5))
    w = b.constant(np.zeros((6, 4, 3, 3), np.float32))
    conv = b.Conv(x, w, group=2, pads=[1, 1, 1, 1])
    up = b.ConvTranspose(x, b.constant(np.zeros((8, 3, 2, 2), np.float32)), strides=[2, 2])
    product = b.MatMul(a, b.constant(np.zeros((5, 7), np.float32)))
    b.outputs(b.Relu(conv), up, product)
    found = {node.op: flops_of(node, {"n": 11}) for node in g.nodes}
    assert found == {
        "Conv": 2 * (2 * 6 * 10 * 10) * (4 * 3 * 3),
        "ConvTranspose": 2 * (2 * 8 * 10 * 10) * (3 * 2 * 2),
        "MatMul": 2 * (3 * 11 * 7) * 5,
        "Relu": 2 * 6 * 10 * 10,
    }


def test_native_steps_between_host_steps_are_told_too() -> None:
    g = Graph()
    b = Builder(g)
    x = b.input("x", "float32", (symbol("n", 1), 16))
    b.outputs(b.Neg(b.Softmax(b.Add(x, x))))
    run = executable(g, num_threads=1)
    times = run.profile([np.ones((8, 16), np.float32)], StateStore())
    assert [(t.operator, t.kind) for t in times] == [("Add", "kernel"), ("Softmax", "host"), ("Neg", "kernel")]
    assert [t.flops for t in times if isinstance(t, KernelTime)] == [8 * 16, 8 * 16]


def test_every_step_is_told_with_its_figures() -> None:
    g = Graph()
    b = Builder(g)
    x = b.input("x", "float32", (symbol("n", 1), 16))
    b.outputs(b.Neg(b.Add(x, x)))
    run = executable(g, num_threads=2)
    given = [np.ones((64, 16), np.float32)]
    times = run.profile(given, StateStore())
    assert [t.operator for t in times] == ["Add", "Neg"]
    for time in times:
        assert isinstance(time, KernelTime)
        assert time.flops == 64 * 16 and time.bytes == (3 if time.operator == "Add" else 2) * 64 * 16 * 4
        assert time.threads == 2 and time.seconds > 0 and time.share > 0
        assert time.gflops == pytest.approx(time.flops / time.seconds / 1e9)
        assert time.gigabytes == pytest.approx(time.bytes / time.seconds / 1e9)
