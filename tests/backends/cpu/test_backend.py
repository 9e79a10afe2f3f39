"""What the core sees of the backend: the plugin, targets, checks, options."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import ge_core
from ge_backend_cpu.backend import CpuBackend
from ge_backend_cpu.isa import host
from ge_core.errors import BackendError, IndexRangeError, InputError, OptionError
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


def test_direct_calls_take_plain_arrays_alone_and_all_others_go_the_long_way() -> None:
    g = Graph()
    b = Builder(g)
    x, i = b.input("x", "float32", (3, 4)), b.input("i", "int64", (2,))
    b.outputs(b.Gather(x, i, axis=0), b.Neg(x))
    model = ge_core.compile(g, options={"num_threads": 1})
    direct = model.entries["main"].direct
    assert direct is not None
    table = np.arange(12, dtype=np.float32).reshape(3, 4)
    rows = np.array([2, 0])
    for _ in range(3):
        found = direct((table, rows))
        assert found is not None
        assert np.array_equal(found[0], table[rows]) and np.array_equal(found[1], -table)
    wide = np.repeat(table, 2, axis=1)[:, ::2]
    for args in ((table,), (wide, rows), (table.tolist(), rows), (table, rows.astype(np.int32)), (table[:2], rows)):
        assert direct(args) is None
    for given in (wide, table.T.copy().T):
        assert np.array_equal(model(given, rows)[0], table[rows])
    for _ in range(2):
        with pytest.raises(IndexRangeError, match="Gather"):
            model(table, np.array([2, 3]))
    with pytest.raises(InputError):
        model(table[:2], rows)
    results = [direct((table, rows)) for _ in range(2)]
    assert results[0] is not None and results[1] is not None
    assert not np.shares_memory(results[0][0], results[1][0]), "every call has its own results"


def test_direct_calls_from_many_threads() -> None:
    model = ge_core.compile(doubled(), options={"num_threads": 2})
    assert model.entries["main"].direct is not None

    def call(k: int) -> bool:
        x = np.full(3, k, np.float32)
        return all(np.array_equal(model(x), x + x) for _ in range(200))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(call, range(8)))


def test_direct_calls_after_a_fork() -> None:
    model, x = ge_core.compile(doubled(), options={"num_threads": 2}), np.float32([1, 2, 3])
    assert np.array_equal(model(x), x + x)
    child = os.fork()
    if child == 0:
        right = all(np.array_equal(model(x), x + x) for _ in range(20))
        os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("size", [3, 576, 5000])
@pytest.mark.parametrize("sign", [1, -1])
def test_calls_of_fixed_shapes_take_the_branch(size: int, sign: int) -> None:
    g = Graph()
    b = Builder(g)
    x, y = b.input("x", "float32", (size,)), b.input("y", "float32", (size,))
    held = b.Mul(x, y)
    condition = b.Greater(b.ReduceSum(x, keepdims=0), 0.0)
    b.outputs(b.If(condition, then_branch=lambda t: [t.Mul(held, 2.0)], else_branch=lambda t: [held]), b.Neg(held))
    model = ge_core.compile(g, options={"num_threads": 1})
    rng = np.random.default_rng(size)
    for _ in range(3):
        one, two = np.abs(rng.standard_normal(size, np.float32)) * sign, rng.standard_normal(size, np.float32)
        chosen, negative = model(one, two)
        np.testing.assert_array_equal(chosen, one * two * (2 if sign > 0 else 1))
        np.testing.assert_array_equal(negative, -(one * two))


def test_arrays_that_begin_anywhere_are_taken() -> None:
    model = ge_core.compile(doubled(), options={"num_threads": 1})
    given = np.frombuffer(b"\0" + np.float32([1, 2, 3]).tobytes(), np.float32, offset=1)
    assert not given.flags.aligned
    np.testing.assert_array_equal(model(given), [2, 4, 6])
