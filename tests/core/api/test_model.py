"""CompiledModel: files, sessions, entries, threads."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import ge_core
from ge_core import GeError
from ge_core.backend import Artifact
from ge_core.compiler import CompileRequest, EntrySource, compile_entries
from ge_core.errors import IndexRangeError, InputError, OfflineModelError, OutOfMemoryError, PluginError
from ge_core.ir import Builder, Graph, symbol
from ge_core.model_store import load_model, save_model
from ge_core.plugins import host
from ge_core.signature import Signature
from ge_core.trust import is_known, remember

X = np.arange(12, dtype=np.float32).reshape(3, 4) / 10


def counter() -> Graph:
    """total += x; returns the total, twice the total, and a row of x."""
    graph = Graph("counter")
    b = Builder(graph)
    x = b.input("x", "float32", (2,))
    row = b.input("row", "int64", ())
    total = b.state("total", np.zeros(2, np.float32))
    after = b.Add(total.read, x)
    graph.set_state_write(total, after)
    b.outputs(after, b.Mul(after, 2.0), b.Gather(x, row))
    return graph


def test_file_round_trip(toy: ModuleType, tmp_path: Path) -> None:
    compiled = ge_core.compile(toy.Model(), toy.Tensor(X), dynamic_shapes={"x": {0: "rows"}})
    compiled.save(tmp_path / "toy.om")
    loaded = ge_core.load(tmp_path / "toy.om")
    for rows in (3, 1, 20):
        x = np.random.default_rng(rows).standard_normal((rows, 4)).astype(np.float32)
        a, b = compiled(toy.Tensor(x)), loaded(toy.Tensor(x))
        assert isinstance(b, toy.Output) and np.array_equal(a.logits.data, b.logits.data)
    assert loaded.provenance == compiled.provenance and loaded.provenance.framework == "toy"
    assert loaded.report.groups == compiled.report.groups and loaded.inputs == compiled.inputs
    assert loaded.plan is not None and loaded.plan.memory == compiled.plan.memory  # type: ignore[union-attr]
    assert [n.op for n in loaded.graph.nodes] == [n.op for n in compiled.graph.nodes]
    loaded.save(tmp_path / "again.om")
    assert (tmp_path / "again.om").read_bytes() == (tmp_path / "toy.om").read_bytes()


def test_equal_models_give_equal_files(toy: ModuleType, tmp_path: Path) -> None:
    for name in ("a", "b"):
        ge_core.trace(toy.Model(), toy.Tensor(X)).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_file_can_be_compiled_again(toy: ModuleType, tmp_path: Path) -> None:
    compiled = ge_core.trace(toy.Model(), toy.Tensor(X))
    compiled.save(tmp_path / "toy.om")
    for loaded in (
        ge_core.load(tmp_path / "toy.om", rebuild=True),
        ge_core.load(tmp_path / "toy.om", target="reference"),
    ):
        assert np.array_equal(loaded(X).logits, compiled(X).logits)
    with pytest.raises(PluginError, match="'cpu' is not installed"):
        ge_core.load(tmp_path / "toy.om", target="cpu")


def test_files_that_cannot_be_read_or_written(toy: ModuleType, tmp_path: Path) -> None:
    compiled = ge_core.trace(toy.Model(), toy.Tensor(X))
    with pytest.raises(OfflineModelError, match="create the folder"):
        compiled.save(tmp_path / "no" / "toy.om")
    with pytest.raises(OfflineModelError, match="cannot be read"):
        ge_core.load(tmp_path / "missing.om")
    (tmp_path / "text.om").write_text("hello")
    with pytest.raises(OfflineModelError):
        ge_core.load(tmp_path / "text.om")
    compiled.save(tmp_path / "toy.om")
    data = bytearray((tmp_path / "toy.om").read_bytes())
    rng = np.random.default_rng(0)
    for _ in range(60):
        broken = bytearray(data)
        broken[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
        (tmp_path / "broken.om").write_bytes(broken)
        try:
            loaded = ge_core.load(tmp_path / "broken.om")
        except GeError:
            continue
        loaded(X)  # a weight changed: its digest is compared on request


def test_metadata_is_checked(toy: ModuleType, tmp_path: Path) -> None:
    from ge_core.om.model_file import open_model, write_model

    ge_core.trace(toy.Model(), toy.Tensor(X)).save(tmp_path / "toy.om")
    stored = open_model(tmp_path / "toy.om")
    for key, bad in [
        ("target", 3), ("signatures", {}), ("precision", "great"), ("switches", "all"), ("report", 1), ("plans", []),
        ("report", {"memory": {"main": 4}}), ("signatures", {"main": {"args": 1}}),
    ]:  # fmt: skip
        write_model(tmp_path / "bad.om", stored.entries, stored.metadata | {key: bad})
        with pytest.raises(OfflineModelError):
            ge_core.load(tmp_path / "bad.om")
    write_model(tmp_path / "bad.om", stored.entries, stored.metadata | {"backend": "gone"})
    with pytest.raises(PluginError, match="no backend named 'gone'"):
        ge_core.load(tmp_path / "bad.om")


def test_sessions_are_independent_and_states_persist() -> None:
    model = ge_core.compile(counter(), target="reference")
    one = np.ones(2, np.float32)
    assert [model(one, 0)[0][0] for _ in range(3)] == [1, 2, 3]
    session = model.session()
    assert session(one * 5, 0)[0][0] == 5 and model(one, 0)[0][0] == 4
    assert list(session.state) == ["total"] and session.state["total"][0] == 5
    saved = session.save()
    session(one, 0)
    session.restore(saved)
    assert session(one, 0)[1][0] == 12
    session.state["total"] = np.full(2, 7, np.float32)
    assert session(one, 0)[0][1] == 8
    session.reset()
    assert session(one, 0)[0][0] == 1
    with pytest.raises(InputError, match="no state 'sum'"):
        session.state["sum"]
    with pytest.raises(InputError, match=r"given float64"):
        session.state["total"] = np.zeros(2)


def test_failed_call_does_not_leave_a_half_changed_state_unnoticed() -> None:
    model = ge_core.compile(counter(), target="reference")
    session = model.session()
    session(np.ones(2, np.float32), 0)
    with pytest.raises(IndexRangeError):
        session(np.ones(2, np.float32), 9)
    try:
        total = session(np.ones(2, np.float32), 0)[0][0]
    except InputError as error:
        assert "half changed" in str(error)
        session.reset()
        total = session(np.ones(2, np.float32), 0)[0][0] + 1
    assert total == 2


def test_entries_share_weights_and_states(tmp_path: Path) -> None:
    """Two entries over one cache and one weight: the first fills rows, the second reads their sum."""
    weight = np.random.default_rng(0).standard_normal((16, 16)).astype(np.float32)

    def fill() -> Graph:
        graph = Graph("fill")
        b = Builder(graph)
        x = b.input("x", "float32", (symbol("rows", 1, 8), 16))
        cache = b.state("cache", np.zeros((8, 16), np.float32))
        rows = b.MatMul(x, weight)
        padded = b.Pad(rows, b.Concat([b.ints(0, 0), b.ints(8 - x.shape[0], 0)], axis=0))  # type: ignore[operator]
        graph.set_state_write(cache, b.Reshape(padded, np.array([8, 16])))
        b.outputs(b.ReduceSum(rows))
        return graph

    def read() -> Graph:
        graph = Graph("read")
        b = Builder(graph)
        x = b.input("x", "float32", (1, 16))
        cache = b.state("cache", np.zeros((8, 16), np.float32))
        b.outputs(b.Add(b.MatMul(x, weight), b.ReduceSum(cache.read, np.array([0]), keepdims=1)))
        return graph

    sources = {
        name: EntrySource(graph, Signature.flat(["x"], ["y"])) for name, graph in (("fill", fill()), ("read", read()))
    }
    model = compile_entries(sources, CompileRequest(host().backend("reference"), "reference"))
    model.save(tmp_path / "two.om")
    assert (tmp_path / "two.om").stat().st_size < 2 * weight.nbytes + 20_000
    x, y = np.ones((3, 16), np.float32), np.ones((1, 16), np.float32)
    for m in (model, ge_core.load(tmp_path / "two.om")):
        assert list(m.entries) == ["fill", "read"]
        m(x)
        np.testing.assert_allclose(m.entries["read"](y), y @ weight * 4, rtol=1e-5)
        session = m.session()
        np.testing.assert_allclose(session.entry("read", y), y @ weight, rtol=1e-5)
        with pytest.raises(InputError, match="no entry 'write'"):
            session.entry("write", y)
    constants = [c for plan in model.artifact.plans.values() for c in plan.constants if c.type.shape == (16, 16)]
    assert len({id(c.array()) for c in constants}) == 1


def test_threads_share_a_model() -> None:
    graph = Graph()
    b = Builder(graph)
    x = b.input("x", "float32", (symbol("n", 1), 64))
    y = x
    for _ in range(5):
        y = b.Softmax(b.MatMul(b.Exp(y), np.eye(64, dtype=np.float32)))
    b.outputs(y)
    model = ge_core.compile(graph, target="reference")
    wanted = {n: model(np.full((n, 64), 0.1 * n, np.float32)) for n in range(1, 7)}
    wrong: list[int] = []

    def work(n: int) -> None:
        for _ in range(30):
            if not np.array_equal(model(np.full((n, 64), 0.1 * n, np.float32)), wanted[n]):
                wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in wanted]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def test_threads_take_turns_at_the_default_states() -> None:
    model = ge_core.compile(counter(), target="reference")
    threads = [threading.Thread(target=lambda: [model(np.ones(2, np.float32), 0) for _ in range(50)]) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert model(np.zeros(2, np.float32), 0)[0][0] == 200


def test_profile_lists_the_steps(toy: ModuleType) -> None:
    compiled = ge_core.trace(toy.Model(), toy.Tensor(X))
    times = compiled.profile(X)
    assert [t.operator for t in times][0] == "MatMul" and all(t.seconds > 0 for t in times)
    assert any("model.py:44" in str(t.loc) for t in times)


def test_native_code_runs_only_when_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that claims to hold native code is compiled again unless this user wrote it here, or says so."""
    monkeypatch.setenv("GE_CACHE_DIR", str(tmp_path / "cache"))
    model = ge_core.compile(counter(), target="reference")
    model.artifact.native = True
    save_model(model, tmp_path / "mine.om")
    rebuilt = "the file's native code is not trusted here: it was compiled again"
    assert load_model(tmp_path / "mine.om").report.notices == []
    monkeypatch.setenv("GE_CACHE_DIR", str(tmp_path / "empty"))
    assert load_model(tmp_path / "mine.om").report.notices == [rebuilt]
    assert load_model(tmp_path / "mine.om", trusted=True).report.notices == []
    remember(bytes(32))
    assert is_known(bytes(32)) and not is_known(bytes([1]) * 32)
    monkeypatch.setenv("GE_CACHE_DIR", os.devnull)
    remember(bytes(32))  # a cache that cannot be written is no error
    assert isinstance(model.artifact, Artifact)


def test_sizes_that_memory_does_not_hold_are_an_error() -> None:
    """The machine's 47 bits of addresses are not enough for 2^45 floats; the model goes on working."""
    graph = Graph("wide")
    b = Builder(graph)
    x, count = b.input("x", "float32", (1,)), b.input("count", "int64", ())
    b.outputs(b.Exp(b.Expand(x, b.Reshape(count, b.ints(1)))))
    model = ge_core.compile(graph, target="reference")
    for caught in (OutOfMemoryError, MemoryError, GeError):
        with pytest.raises(caught, match=r"not enough memory: .*TiB"):
            model(np.ones(1, np.float32), np.int64(1 << 45))
    assert model(np.zeros(1, np.float32), np.int64(3)).tolist() == [1, 1, 1]
