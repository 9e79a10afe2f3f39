"""What the core sees of the backend: the plugin, targets, checks, options."""

from __future__ import annotations

import numpy as np
import pytest

import ge_core
from ge_backend_cpu.backend import CpuBackend
from ge_backend_cpu.isa import host
from ge_core.errors import BackendError, OptionError
from ge_core.ir import Builder, Graph
from ge_core.plugins import host as plugins


def doubled() -> Graph:
    g = Graph()
    b = Builder(g)
    x = b.input("x", "float32", (3,))
    b.outputs(b.Add(x, x))
    return g


def test_it_is_the_default_target() -> None:
    plugin = plugins().resolve_target()
    assert plugin.name == "cpu" and plugin.info.api == 1
    assert {"num_threads", "isa", "workers", "cache", "share_weights"} <= set(plugin.info.options)
    model = ge_core.compile(doubled())
    assert model.target == "cpu"
    assert np.array_equal(model(np.float32([1, 2, 3])), [2, 4, 6])


def test_its_target() -> None:
    (info,) = CpuBackend().targets()
    assert info.name == "cpu" and info.available and info.figures["isa"] == str(host())
    names = {d.name for d in info.dtypes}
    assert {"float32", "bfloat16", "int4", "bool"} <= names and not {"string", "complex64"} & names


def test_all_problems_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ge_backend_cpu.backend.supported_platform", lambda: "not here")
    problems = CpuBackend().check(doubled(), "cpu", {"isa": "x86-64-v9"})
    assert [p.what for p in problems] == ["not here", "unknown instruction set 'x86-64-v9'"]


def test_options_are_checked() -> None:
    with pytest.raises(BackendError, match="x86-64-v9"):
        ge_core.compile(doubled(), target="cpu", options={"isa": "x86-64-v9"})
    with pytest.raises(BackendError, match="num_threads"):
        ge_core.compile(doubled(), target="cpu", options={"num_threads": 0})
    with pytest.raises(BackendError, match="compiling processes"):
        ge_core.compile(doubled(), target="cpu", options={"workers": "many"})
    with pytest.raises(OptionError, match="num_treads"):
        ge_core.compile(doubled(), target="cpu", options={"num_treads": 2})


def test_sequences_through_a_branch_are_left_to_the_host() -> None:
    graph = Graph("sequences")
    b = Builder(graph)
    which, x = b.input("which", "bool", ()), b.input("x", "float32", (3,))
    b.outputs(
        b.If(
            which,
            then_branch=lambda r: r.SequenceConstruct([r.Add(x, 1.0)]),
            else_branch=lambda r: r.SequenceConstruct([x, x]),
        )
    )
    model = ge_core.compile(graph, target="cpu")
    ones = np.ones(3, np.float32)
    (only,) = model(np.array(True), ones)
    assert np.array_equal(only, [2, 2, 2])
    assert len(model(np.array(False), ones)) == 2
