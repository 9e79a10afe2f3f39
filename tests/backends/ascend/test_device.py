"""Calls on a device: shapes, gears, states, files that are opened again, and what is said where there is none."""

from __future__ import annotations

import gc
import sys
import threading
import types
from pathlib import Path

import numpy as np
import pytest
from ge_ascend.executable import device_in_use

import ge_core
from ge_core.errors import BackendError, InputError
from ge_core.ir import Builder, Graph
from ge_core.ir.constant import Constant
from tests.backends.ascend.roundtrip import graph_of
from tests.backends.ascend.stand_in_acl import StandInAcl

X = np.arange(12, dtype=np.float32).reshape(3, 4)


def doubled(*shape: int | str) -> Graph:
    return graph_of(lambda b, x: b.Add(x, x), ("float32", shape))


def test_a_device_is_called_through_acl(acl: StandInAcl, atc: Path) -> None:
    compiled = ge_core.compile(doubled(3, 4), target="ascend310p", options={"precision_mode": "mixed_float16"})
    for _ in range(2):
        np.testing.assert_array_equal(compiled(X), 2 * X)
    assert acl.memory == {} and acl.gears == [] and len(acl.live) == 2  # the model and its description
    del compiled
    gc.collect()
    assert acl.live == {}


def test_any_size_of_a_range_is_told_to_the_device(acl: StandInAcl, atc: Path) -> None:
    compiled = ge_core.compile(doubled("n", 4), target="ascend310p")
    for rows in (3, 1, 2):
        np.testing.assert_array_equal(compiled(X[:rows]), 2 * X[:rows])
    assert acl.memory == {} and len(acl.live) == 2


def test_the_device_tells_how_large_a_result_is(acl: StandInAcl, atc: Path) -> None:
    compiled = ge_core.compile(graph_of(lambda b, x: b.NonZero(x), ("float32", ("n", 4))), target="ascend310p")
    np.testing.assert_array_equal(compiled(X), np.stack(np.nonzero(X)))
    assert acl.memory == {} and len(acl.live) == 2


def test_the_device_is_told_the_gear_of_a_call(acl: StandInAcl, atc: Path) -> None:
    compiled = ge_core.compile(doubled("n", 4), target="ascend310p", options={"gears": {"n": [1, 3]}})
    np.testing.assert_array_equal(compiled(X), 2 * X)
    assert acl.gears == [3]
    with pytest.raises(InputError, match="no gear"):
        compiled(X[:2])
    compiled = ge_core.compile(doubled("n", "m"), target="ascend310p", options={"gears": {"n": [3], "m": [2, 4]}})
    np.testing.assert_array_equal(compiled(X), 2 * X)
    assert acl.gears[1:] == [{"name": "", "dimCount": 2, "dims": [3, 4]}]
    assert acl.memory == {}


def test_listed_sizes_are_gears_of_the_device(acl: StandInAcl, atc: Path) -> None:
    compiled = ge_core.compile(doubled("n", 4), target="ascend910b", options={"dims": {"n": [1, 2, 3]}})
    for rows in (1, 3):
        np.testing.assert_array_equal(compiled(X[:rows]), 2 * X[:rows])
    assert acl.gears == [1, 3]
    with pytest.raises(InputError, match="has size 0 in dim 0"):
        compiled(X[:0])


def test_several_threads_call_a_device(acl: StandInAcl, atc: Path) -> None:
    compiled = ge_core.compile(doubled(3, 4), target="ascend310p")
    found: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: found.append(compiled(X))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 3 and all(np.array_equal(y, 2 * X) for y in found)


def test_states_come_back_from_the_device(acl: StandInAcl, atc: Path) -> None:
    graph = Graph("net")
    b = Builder(graph)
    x = b.input("x", "float32", (3, 4))
    state = graph.add_state("sum", Constant.of(np.zeros((3, 4), np.float32)))
    total = b.Add(state.read, x)
    graph.set_state_write(state, total)
    b.outputs(b.Neg(total))
    with pytest.raises(BackendError, match="does not write its states in place"):
        ge_core.compile(graph, target="ascend310p", options={"via": "onnx"})(X)
    session = ge_core.compile(graph, target="ascend310p").session()
    for times in (1, 2):
        np.testing.assert_array_equal(session(X), -times * X)
        np.testing.assert_array_equal(session.state["sum"], times * X)


def test_the_device_of_torch_npu_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    assert device_in_use() == 0
    npu = types.SimpleNamespace(current_device=lambda: 2)
    monkeypatch.setitem(sys.modules, "torch_npu", types.ModuleType("torch_npu"))
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(npu=npu))
    assert device_in_use() == 2


def test_a_host_without_acl_or_device_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    compiled = ge_core.compile(doubled(3, 4), target="ascend310p")
    with pytest.raises(BackendError, match="acl is not installed") as caught:
        compiled(X)
    assert "ge verify" in str(caught.value.fix)
    (tmp_path / "acl.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "acl", raising=False)
    with pytest.raises(BackendError, match="no Ascend device"):
        compiled(X)
