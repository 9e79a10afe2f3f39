"""Artifacts: several instruction sets, packed and prepared weights, files, trust, damage."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import ge_core
from ge_backend_cpu.backend import CpuBackend, best_level
from ge_backend_cpu.isa import Isa, host
from ge_core import trust
from ge_core.backend import Implementation, Options, Storage
from ge_core.errors import BackendError, GeError
from ge_core.ir import Builder, Graph, Layout, symbol
from ge_core.ir.constant import Constant
from ge_core.ir.graph import Node
from ge_core.om.container import PartitionType
from ge_core.om.model_file import open_model
from ge_core.plan.states import StateStore
from ge_core.plan.storage import constant_bytes, stored_constant
from ge_core.reference.interpret import interpret
from tests.backends.cpu.vehicle import OPTIONS, Vehicle, planned

RNG = np.random.default_rng(9)
TURNED = Layout((1, 0))


class Turned(Vehicle):
    """Reads the second operand of Add column by column, whatever it is."""

    def implementations(self, node: Node, target: str, options: Options) -> Sequence[Implementation]:
        found = super().implementations(node, target, options)
        if node.op != "Add":
            return found
        (one,) = found
        turned = Storage(TURNED)
        return [Implementation(name="turned", inputs=(turned, turned), outputs=(turned,), data=one.data)]


def data(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def model() -> Graph:
    g = Graph()
    b = Builder(g)
    x = b.input("x", "float32", (symbol("n", 1), 5))
    w, bias = b.constant(data(5, 7), name="w"), b.constant(data(1, 7), name="bias")
    y = b.MatMul(b.Neg(x), w)
    b.outputs(b.Tanh(b.Add(y, y)), b.MatMul(x, w), b.Add(bias, bias))
    return g


@pytest.fixture
def vehicle(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`target="cpu"` means the vehicle, and the user's cache is empty."""
    monkeypatch.setattr(CpuBackend, "may_join", Vehicle.may_join)
    monkeypatch.setattr(CpuBackend, "implementations", Vehicle.implementations)
    monkeypatch.setattr(CpuBackend, "native", True, raising=False)
    monkeypatch.setenv("GE_CACHE_DIR", str(tmp_path / "cache"))


def test_constants_are_kept_as_kernels_read_them() -> None:
    g = Graph()
    b = Builder(g)
    w = data(3, 4)
    x = b.input("x", "float32", (3, 4))
    b.outputs(b.Neg(b.Add(x, b.constant(w))))
    backend = Turned()
    artifact = backend.build({"main": planned(g, backend)}, "cpu", OPTIONS)
    plan = artifact.plans["main"]
    stored = [c for c in plan.constants if c.stored is not None]
    assert len(stored) == 1 and stored[0].stored is not None
    layout, raw = stored[0].stored
    assert layout == TURNED and np.array_equal(raw.view(np.float32), w.T.ravel())
    assert np.array_equal(stored[0].array(), w)
    run = backend.load(artifact, OPTIONS)
    given = data(3, 4)
    assert np.array_equal(run.run([given], StateStore())[0], -(given + w))


def fail(*_: object) -> None:
    raise AssertionError("nothing is to be compiled")


@pytest.mark.usefixtures("vehicle")
def test_files_run_where_they_were_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = model()
    compiled = ge_core.compile(graph, target="cpu", options=OPTIONS)
    inputs = [data(4, 5)]
    want = interpret(graph, inputs)[0]
    path = tmp_path / "m.om"
    compiled.save(path)

    monkeypatch.setattr("ge_backend_cpu.compile.Coming._made", fail)
    monkeypatch.setattr("ge_backend_cpu.weights.made", fail)
    loaded = ge_core.load(path)
    assert loaded.report.notices == []
    for a, b, c in zip(loaded(*inputs), compiled(*inputs), want, strict=True):
        assert np.array_equal(a, b) and np.allclose(a, c, atol=1e-5)
    loaded.save(tmp_path / "again.om")
    assert (tmp_path / "again.om").read_bytes() == path.read_bytes()


@pytest.mark.usefixtures("vehicle")
def test_files_of_others_are_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = model()
    path = tmp_path / "m.om"
    ge_core.compile(graph, target="cpu", options=OPTIONS).save(path)
    monkeypatch.setenv("GE_CACHE_DIR", str(tmp_path / "other"))
    inputs = [data(3, 5)]
    want = interpret(graph, inputs)[0]
    loaded = ge_core.load(path)
    assert "not trusted" in str(loaded.report.notices)
    trusted = ge_core.load(path, trust=True)
    assert trusted.report.notices == []
    reference = ge_core.load(path, target="reference")
    for found in (loaded, trusted, reference):
        assert all(np.allclose(a, b, atol=1e-5) for a, b in zip(found(*inputs), want, strict=True))
    with monkeypatch.context() as once:
        once.setattr("ge_backend_cpu.compile.Coming._made", fail)  # they were compiled here before
        again = ge_core.load(path)
        assert "not trusted" in str(again.report.notices)
        assert all(np.array_equal(a, b) for a, b in zip(again(*inputs), loaded(*inputs), strict=True))
    loaded.save(path)
    assert trust.is_known(open_model(path).digests[PartitionType.MODEL_DEF])
    rebuilt = ge_core.load(path, rebuild=True)
    assert len(rebuilt.artifact.graphs["main"].constants) == len(loaded.artifact.graphs["main"].constants)


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_weights_that_are_kept_in_blocks_are_compiled_again(target: str) -> None:
    """Their arrays are made anew each time: one must not pass for that of another constant of the same shape."""
    g = Graph()
    b = Builder(g)
    y = b.input("x", "float32", (2, 6))
    for _ in range(8):
        w, layout = data(6, 6) / 2, Layout((1, 0), blocks=((1, 4),))
        kept = stored_constant(Constant.of(w).type, layout, constant_bytes(Constant.of(w), layout))
        y = b.Tanh(b.MatMul(y, b.constant(kept)))
    b.outputs(y)
    options = {**OPTIONS} if target == "cpu" else {}
    given = data(2, 6)
    want = interpret(g, [given])[0][0]
    assert np.allclose(ge_core.compile(g, target=target, options=options)(given), want, atol=1e-6)


@pytest.mark.usefixtures("vehicle")
def test_a_damaged_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "m.om"
    ge_core.compile(model(), target="cpu", options=OPTIONS).save(path)
    raw = path.read_bytes()
    step = max(len(raw) // 60, 1)
    for at in range(0, len(raw), step):
        path.write_bytes(raw[:at] + bytes([raw[at] ^ 0xFF]) + raw[at + 1 :])
        try:
            found = ge_core.load(path, trust=True)
        except GeError:
            continue
        found(data(2, 5))  # the damage lies in the weights, whose digest is compared on request
    path.write_bytes(raw[: len(raw) // 2])
    with pytest.raises(GeError):
        ge_core.load(path, trust=True)


def test_several_instruction_sets_in_one_artifact() -> None:
    backend = Vehicle()
    levels = ["x86-64-v3", "x86-64-v4", "aarch64", "x86-64-v3/4"]
    options = {**OPTIONS, "isa": levels}
    graph = model()
    artifact = backend.build({"main": planned(graph, backend)}, "cpu", options)
    assert set(artifact.items) == {f"kernels/{name}" for name in levels}
    inputs = [data(2, 5)]
    want = interpret(graph, inputs)[0]
    for name in levels:
        alone = {f"kernels/{name}": artifact.items[f"kernels/{name}"]}
        artifact_alone = type(artifact)("cpu", alone, artifact.metadata, artifact.graphs, artifact.plans)
        if Isa.of(name).runs_here:
            got = backend.load(artifact_alone, OPTIONS).run(inputs, StateStore())
            assert all(np.allclose(a, b, atol=1e-5) for a, b in zip(got, want, strict=True))
        else:
            with pytest.raises(BackendError, match="executes none"):
                backend.load(artifact_alone, OPTIONS)
    assert best_level(artifact).level == host().level


def test_one_file_for_three_levels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made here whatever this machine is; each level that it runs gives the interpreter's numbers from the file."""
    monkeypatch.setenv("GE_CACHE_DIR", str(tmp_path / "cache"))
    g = Graph()
    b = Builder(g)
    x = b.input("x", "float32", (symbol("n", 1), 3, 6, 6))
    y = b.Relu(b.Conv(x, b.constant(data(20, 3, 3, 3)), b.constant(data(20)), pads=[1, 1, 1, 1]))
    b.outputs(b.Softmax(b.MatMul(b.Reshape(y, b.ints(0, -1)), b.constant(data(720, 10)))))
    levels = ["x86-64-v3", "x86-64-v4", "aarch64"]
    path, given = tmp_path / "m.om", data(2, 3, 6, 6)
    ge_core.compile(g, target="cpu", options={"workers": 0, "isa": levels}).save(path)
    want = interpret(g, [given])[0][0]
    stored = open_model(path)
    assert set(stored.items) == {f"kernels/{level}" for level in levels}
    ran = []
    for isa in map(Isa.of, levels):
        if not isa.runs_here:
            continue
        monkeypatch.setattr("ge_backend_cpu.backend.best_level", lambda _, isa=isa: isa)
        ran.append(isa)
        assert np.allclose(ge_core.load(path, trust=True)(given), want, atol=1e-5)
    assert ran


def test_an_artifact_of_another_target_is_refused() -> None:
    backend = Vehicle()
    artifact = backend.build({"main": planned(model(), backend)}, "cpu", OPTIONS)
    artifact.target = "reference"
    with pytest.raises(BackendError, match="'reference'"):
        backend.load(artifact, OPTIONS)
    artifact.target = "cpu"
    name = next(iter(artifact.items))
    raw = bytearray(artifact.items[name])
    raw[-1] ^= 1
    artifact.items[name] = bytes(raw)
    with pytest.raises(BackendError, match="damaged"):
        backend.load(artifact, OPTIONS)
    artifact.metadata["prepared"] = {"main": [[[0], "x", 99]]}
    artifact.items[name] = b""
    with pytest.raises(BackendError, match="damaged"):
        backend.load(artifact, OPTIONS)


@pytest.mark.usefixtures("vehicle")
@pytest.mark.parametrize("share", [False, True])
def test_later_changes_of_the_original_model(share: bool) -> None:
    w, bias, total = data(5, 7), data(1, 7), data(1, 7)
    g = Graph()
    b = Builder(g)
    x = b.input("x", "float32", (1, 5))
    state = b.state("total", total)
    y = b.Add(b.MatMul(x, b.constant(w)), b.constant(bias))
    g.set_state_write(state, b.Add(state.read, y))
    b.outputs(y, state.read)
    given = data(1, 5)
    compiled = ge_core.compile(g, target="cpu", options={**OPTIONS, "share_weights": share})
    want = [np.array(a) for a in compiled(given)]
    w[:], bias[:], total[:] = 0, 0, 0
    got = compiled.session()(given)
    if share:
        assert want[1].any() and not got[1].any()
    else:
        assert all(np.array_equal(a, c) for a, c in zip(got, want, strict=True))


SAVED = """
import sys
import numpy as np
import ge_core
from ge_core.ir import Builder, Graph, symbol

graph = Graph("net")
b = Builder(graph)
x = b.input("x", "float32", (symbol("n", 1), 3, 8, 8))
weight = np.arange(4 * 27, dtype=np.float32).reshape(4, 3, 3, 3) / 100
h = b.Relu(b.Conv(x, weight, np.zeros(4, np.float32), pads=[1, 1, 1, 1]))
left, right = b.MaxPool(h, kernel_shape=[2, 2], strides=[2, 2]), b.AveragePool(h, kernel_shape=[2, 2], strides=[2, 2])
flat = b.Reshape(b.Concat([left, right], axis=1), b.ints(0, -1))
b.outputs(b.Softmax(b.MatMul(flat, np.ones((128, 10), np.float32))), b.ReduceMax(flat))
ge_core.compile(graph, target="cpu", options={"workers": 0}).save(sys.argv[1])
"""


def test_equal_models_give_equal_files_in_every_process(tmp_path: Path) -> None:
    """Whatever the hash seed, and what the cache holds beside the machine's measured figures."""
    files = []
    for seed, cache in (("1", "a"), ("2", "b")):
        for figures in tmp_path.glob("a/**/*machine*"):
            copy = tmp_path / cache / figures.relative_to(tmp_path / "a")
            for folder in reversed([f for f in copy.parents if f != tmp_path and tmp_path in f.parents]):
                folder.mkdir(mode=0o700, exist_ok=True)
            if not copy.exists():
                shutil.copy(figures, copy)
        files.append(tmp_path / f"{seed}.om")
        env = os.environ | {"PYTHONHASHSEED": seed, "GE_CACHE_DIR": str(tmp_path / cache)}
        subprocess.run([sys.executable, "-c", SAVED, os.fspath(files[-1])], env=env, check=True)
    assert len({file.read_bytes() for file in files}) == 1
