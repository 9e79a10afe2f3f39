"""Files whose writer is trusted: run without their graphs, which are there when somebody asks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ge_core
from ge_backend_cpu import isa
from ge_core.errors import GeError, OfflineModelError
from ge_core.ir import Builder, Graph, Layout, symbol
from ge_core.ir.printer import print_graph
from ge_core.model import CompiledModel
from ge_core.om import outline, vocabulary
from ge_core.om.model_file import SealedModel, open_model
from ge_core.om.outline import LazyGraphs
from ge_core.plan.codec import plan_to_json
from ge_core.plan.stored import StoredPlan, has_outline, plan_of_outline

OPTIONS: dict[str, object] = {"num_threads": 1, "workers": 0}
X = np.arange(12, dtype=np.float32).reshape(3, 4)


def graph(has_state: bool = True) -> Graph:
    g = Graph()
    b = Builder(g)
    n = symbol("n", 1, 9)
    x = b.input("x", "float32", (n, 4))
    w = b.constant(np.linspace(-1, 1, 20, dtype=np.float32).reshape(4, 5), name="w")
    if not has_state:
        b.outputs(b.MatMul(x, w))
        return g
    total = b.state("total", np.full((1, 5), 2, np.float32))
    y = b.MatMul(x, w)
    b.outputs(b.Add(y, total.read), b.Reshape(y, b.constant(np.array([-1, 1, 5], np.int64))))
    g.set_state_write(total, b.Add(total.read, b.constant(np.ones((1, 5), np.float32))))
    return g


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "m.om"
    ge_core.compile(graph(), target="cpu", options=OPTIONS).save(path)
    return path


def outlined(path: Path) -> Any:
    stored = SealedModel.of(path).outlined()
    assert stored is not None and stored.constants is not None
    return stored


def test_plan_of_the_outline_is_the_plan(file: Path) -> None:
    whole, light = open_model(file), outlined(file)
    data = whole.metadata["plans"]["main"]
    assert light.metadata == whole.metadata and has_outline(data)
    plan = plan_of_outline(data, lambda: light.entries["main"], light.constants["main"])
    assert isinstance(plan, StoredPlan)
    loaded = ge_core.load(file, rebuild=False)
    assert loaded.plan is not None
    for name in ("name", "buffers", "values", "steps", "symbols", "inputs", "outputs", "states", "layouts", "end"):
        assert getattr(plan, name) == getattr(loaded.plan, name)
    assert not light.entries.is_decoded
    assert plan_to_json(plan) == data  # which reads the graph
    assert light.entries.is_decoded
    assert print_graph(plan.graph) == print_graph(whole.entries["main"])
    stored = whole.entries["main"].constants
    for (constant, layout), value in zip(light.constants["main"], stored, strict=True):
        assert value.constant is not None and constant.type == value.type and layout == value.layout
        assert constant.array().tobytes() == value.constant.array().tobytes()
    assert any(layout is not None for _, layout in light.constants["main"])


def test_a_trusted_model_is_the_same_as_a_checked_one(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    light = ge_core.load(file)
    assert isinstance(light.plan, StoredPlan)
    monkeypatch.setattr("ge_core.model_store._outlined", lambda sealed: None)
    checked = ge_core.load(file)
    assert not isinstance(checked.plan, StoredPlan)
    for _ in range(2):  # the state goes on
        for a, b in zip(light(X), checked(X), strict=True):
            assert a.tobytes() == b.tobytes()
    assert light.inputs == checked.inputs and light.outputs == checked.outputs
    assert print_graph(light.graph) == print_graph(checked.graph)
    assert light.report == checked.report


def test_models_without_an_outline_are_decoded(tmp_path: Path) -> None:
    g = Graph()
    b = Builder(g)
    x = b.input("x", "float32", (2,))
    words = b.constant(np.array(["a", "b"], object))
    b.outputs(b.Add(x, x), words)
    model = ge_core.compile(g, target="cpu", options=OPTIONS)
    model.save(tmp_path / "m.om")
    assert SealedModel.of(tmp_path / "m.om").outlined() is None
    loaded = ge_core.load(tmp_path / "m.om")
    assert loaded.plan is not None and not isinstance(loaded.plan, StoredPlan)
    y, text = loaded(np.ones(2, np.float32))
    assert y.tolist() == [2.0, 2.0] and list(text) == ["a", "b"]


def _metadata_changed(file: Path, monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
    read = outline._attributes

    def changed(model_def: memoryview) -> dict[str, Any]:
        found = read(model_def)
        parts = {name: json.loads(bytes(found[name])) for name in (vocabulary.METADATA, vocabulary.OUTLINE)}
        change(parts)
        return found | {name: json.dumps(part).encode() for name, part in parts.items()}

    monkeypatch.setattr(outline, "_attributes", changed)
    with pytest.raises(OfflineModelError, match="damaged|constant"):
        ge_core.load(file)


def _set(*path: Any, to: Any) -> Any:
    def change(parts: Any) -> None:
        for key in path[:-1]:
            parts = parts[key]
        parts[path[-1]] = to

    return change


_ROW = (vocabulary.OUTLINE, 0, 1, 0)
_PLAN = (vocabulary.METADATA, "plans", "main")


@pytest.mark.parametrize(
    "change",
    [
        _set(vocabulary.OUTLINE, to=[]),
        _set(vocabulary.OUTLINE, to=[["main"]]),
        _set(*_ROW, 0, to="float33"),
        _set(*_ROW, 1, to=[1 << 40, 1 << 40]),
        _set(*_ROW, 1, to=["n"]),
        _set(*_ROW, 3, to=[0, 1 << 40]),
        _set(*_ROW, 3, to=[-64, 80]),
        _set(*_ROW, 3, to=[3, 80]),
        _set(*_ROW, 3, to="zz"),
        _set(*_ROW, 2, to={"order": [0]}),
        _set(*_PLAN, "kinds", "types", 0, to=["float33", []]),
        _set(*_PLAN, "kinds", "values", 0, to=[999, -1]),
        _set(*_PLAN, "kinds", "values", 0, to=[0, 7]),
        _set(*_PLAN, "kinds", "values", to=[]),
        _set(*_PLAN, "kinds", "symbols", to=[]),
        _set(*_PLAN, "buffers", to=[]),
        _set(*_PLAN, "memory", to=[-1, {}, 0, 0]),
    ],
)
def test_damage_is_told(file: Path, monkeypatch: pytest.MonkeyPatch, change: Any) -> None:
    _metadata_changed(file, monkeypatch, change)


def test_graphs_are_decoded_once_and_again_after_a_failure() -> None:
    calls: list[int] = []

    def decode() -> dict[str, Graph]:
        calls.append(1)
        if len(calls) == 1:
            raise GeError("not yet")
        return {"a": Graph("a"), "b": Graph("b")}

    graphs = LazyGraphs(("a", "b"), decode)
    assert list(graphs) == ["a", "b"] and len(graphs) == 2 and not calls
    with pytest.raises(GeError, match="not yet"):
        graphs["a"]
    assert graphs["a"].name == "a" and graphs["b"].name == "b" and len(calls) == 2
    with pytest.raises(KeyError):
        graphs["c"]


def test_layouts_survive() -> None:
    layout = Layout((1, 0), ((0, 8),), ((1, 1), (0, 2)), float("-inf"))
    assert Layout.from_json(json.loads(json.dumps(layout.to_json()))) == layout


def test_saving_a_loaded_model_gives_the_same_file(file: Path, tmp_path: Path) -> None:
    loaded = ge_core.load(file)
    assert isinstance(loaded, CompiledModel)
    loaded.save(tmp_path / "again.om")
    assert (tmp_path / "again.om").read_bytes() == file.read_bytes()


def test_opening_imports_neither_protobuf_nor_llvm(tmp_path: Path) -> None:
    path = tmp_path / "m.om"
    ge_core.compile(graph(has_state=False), target="cpu", options=OPTIONS).save(path)
    program = f"""
import sys, ge_core, numpy as np
model = ge_core.load({str(path)!r}, trust=True)
y = model(np.ones((2, 4), np.float32))
print(y.shape, {{"google.protobuf", "llvmlite", "ge_core.om.graph_decoder"}} & set(sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(2, 5) set()"


def test_the_system_tells_the_features_that_llvm_finds() -> None:
    told = isa.host()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(isa, "_told", dict)
        isa.host.cache_clear()
        found = isa.host()
    isa.host.cache_clear()
    assert told == found
