"""compile, trace, import_model, optimize, coverage, verify and export, with a made-up framework."""

from __future__ import annotations

import re
from types import ModuleType

import numpy as np
import pytest

import ge_core
from ge_core import InputSpec
from ge_core.errors import (
    BackendError,
    InputError,
    ModelImportError,
    OptionError,
    PluginError,
    UnsupportedError,
)
from ge_core.ir import Builder, Graph
from ge_core.passes.base import ALL_SWITCHES, SWITCHES
from ge_core.phases import Phase, listening
from ge_core.report import CompileReport

X = np.arange(12, dtype=np.float32).reshape(3, 4) / 10


def test_tensors_and_structure_of_the_framework_come_back(toy: ModuleType) -> None:
    model = toy.Model()
    compiled = ge_core.trace(model, toy.Tensor(X))
    want, got = model(toy.Tensor(X)), compiled(toy.Tensor(X))
    assert isinstance(got, toy.Output) and isinstance(got.extra[1], toy.Tensor)
    np.testing.assert_allclose(got.logits.data, want.logits.data, rtol=1e-5)
    np.testing.assert_allclose(got.extra[1].data, want.extra[1].data, rtol=1e-5)
    assert isinstance(compiled(X).logits, np.ndarray)  # numpy in, numpy out
    assert np.array_equal(compiled(x=X).logits, got.logits.data)
    assert [spec.name for spec in compiled.inputs] == ["x"] and compiled.target == "reference"


def test_keyword_inputs(toy: ModuleType) -> None:
    model, scale = toy.Model(), toy.Tensor(np.float32(2.0))
    compiled = ge_core.compile(model, (toy.Tensor(X),), {"scale": scale})
    np.testing.assert_allclose(
        compiled(toy.Tensor(X), scale=scale).logits.data, model(toy.Tensor(X), scale=scale).logits.data, rtol=1e-5
    )
    assert np.array_equal(compiled(X, scale=2.0).logits, compiled(X, scale=np.float32(2.0)).logits)
    with pytest.raises(InputError, match="'scale' is missing"):
        compiled(X)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m(), "the argument 'x' is missing"),
        (lambda m: m(X, X), "gives 2 positional arguments"),
        (lambda m: m(X, y=X), "'y' was not given"),
        (lambda m: m(X.astype(np.float64)), "input 'x' has element type float64"),
        (lambda m: m(X[0]), "input 'x' has shape \\[4\\], which is rank 1"),
        (lambda m: m(X[:2]), "input 'x' has size 2 in dim 0"),
        (lambda m: m(X[:, :3]), "input 'x' has size 3 in dim 1"),
        (lambda m: m("text"), "input 'x' is a builtins.str"),
        (lambda m: m(None), "input 'x' is missing"),
        (lambda m: m(1.0), "input 'x' is a builtins.float"),
    ],
)
def test_wrong_calls_name_the_input(toy: ModuleType, call, message: str) -> None:  # type: ignore[no-untyped-def]
    compiled = ge_core.trace(toy.Model(), toy.Tensor(X))
    with pytest.raises(InputError, match=message):
        call(compiled)


def test_inputs_that_are_not_contiguous(toy: ModuleType) -> None:
    compiled = ge_core.trace(toy.Model(), toy.Tensor(X))
    turned = np.asfortranarray(X)
    assert np.array_equal(compiled(turned).logits, compiled(X).logits)


def test_dynamic_sizes_and_their_bounds(toy: ModuleType) -> None:
    compiled = ge_core.compile(toy.Model(), (toy.Tensor(X),), dynamic_shapes={"x": {0: "rows"}})
    assert compiled.report.memory["main"].example == {"rows": 3}
    for rows in (1, 2, 64):
        assert compiled(np.ones((rows, 4), np.float32)).logits.shape == (rows, 4)
    with pytest.raises(InputError, match="size 65 in dim 0"):
        compiled(np.ones((65, 4), np.float32))


def test_weights_are_copied_unless_shared(toy: ModuleType) -> None:
    model, x = toy.Model(16), np.ones((2, 16), np.float32)
    copied = ge_core.trace(model, toy.Tensor(x))
    shared = ge_core.compile(model, toy.Tensor(x), options={"share_weights": True})
    before = copied(x).extra[0].copy()
    model.w *= 2
    assert np.array_equal(copied(x).extra[0], before)
    assert np.array_equal(shared(x).extra[0], 2 * before)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"options": {"share_weight": True}}, "did you mean 'share_weights', read by the core"),
        ({"options": {"dept": 1}}, "did you mean 'depth', read by the frontend toy"),
        ({"optimize": "defualt"}, "did you mean 'default'"),
        ({"optimize": {"fuse"}}, "unknown optimisation 'fuse'"),
        ({"precision": "balance"}, "did you mean 'balanced'"),
    ],
)
def test_wrong_options_tell_the_nearest(toy: ModuleType, arguments: dict, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        ge_core.compile(toy.Model(), toy.Tensor(X), **arguments)


def test_models_and_targets_that_are_not_there(toy: ModuleType) -> None:
    with pytest.raises(ModelImportError, match="no installed frontend recognises"):
        ge_core.compile(object())
    with pytest.raises(ModelImportError, match="no model at"):
        ge_core.compile("nothing.toy")
    with pytest.raises(PluginError, match="'cpu' is not installed"):
        ge_core.compile(toy.Model(), toy.Tensor(X), target="cpu")


def test_slow_default_target_is_told_once(toy: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(ge_core.api, "_notices", set())
    for _ in range(2):
        ge_core.trace(toy.Model(), toy.Tensor(X))
    assert capsys.readouterr().err.count("the reference target, which is slow") == 1
    ge_core.trace(toy.Model(), toy.Tensor(X), target="reference")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("switches", ["none", "default", "max", *({s} for s in sorted(ALL_SWITCHES))])
def test_every_switch_gives_the_same_results(toy: ModuleType, switches: object) -> None:
    model = toy.Model()
    compiled = ge_core.compile(model, toy.Tensor(X), optimize=switches)  # type: ignore[arg-type]
    np.testing.assert_allclose(compiled(X).logits, model(toy.Tensor(X)).logits.data, rtol=1e-5)


def test_memory_switch_is_real(toy: ModuleType) -> None:
    graph = Graph()
    b = Builder(graph)
    x = b.input("x", "float32", (64, 64))
    for _ in range(6):
        x = b.Softmax(b.Exp(x))
    b.outputs(b.ReduceSum(x))
    without = ge_core.compile(graph, optimize=SWITCHES - {"memory"}).report.memory["main"]
    with_it = ge_core.compile(graph, optimize=SWITCHES).report.memory["main"]
    assert without.arena == 12 * 64 * 64 * 4 and with_it.arena == 2 * 64 * 64 * 4


def test_import_optimize_compile_keep_the_signature(toy: ModuleType) -> None:
    model = toy.Model()
    graph = ge_core.import_model(model, (toy.Tensor(X),))
    better = ge_core.optimize(graph)
    assert better is not graph and graph.stage == "imported" and better.stage == "optimised"
    for g in (graph, better):
        assert isinstance(ge_core.compile(g)(toy.Tensor(X)), toy.Output)


def test_unsupported_models(toy: ModuleType) -> None:
    with pytest.raises(UnsupportedError, match=r"toy\.fft"):
        ge_core.trace(toy.Model(unsupported=True), toy.Tensor(X))
    report = ge_core.coverage(toy.Model(unsupported=True), toy.Tensor(X))
    assert not report.complete and report.unsupported == ["toy.fft (3 times)", "toy.eig"]
    report = ge_core.coverage(toy.Model(), toy.Tensor(X))
    assert report.complete and report.operators["MatMul"] == 1 and "all" in report.summary()


def test_verify(toy: ModuleType) -> None:
    report = ge_core.verify(toy.Model(), toy.Tensor(X))
    assert report.passed and bool(report) and len(report.outputs) == 3
    assert "the outputs agree" in report.summary()
    report = ge_core.verify(toy.Model(wrong=True), toy.Tensor(X))
    assert not report.passed
    assert [d.passed for d in report.outputs] == [False, True, True]


def test_verify_names_the_first_node_that_diverges(toy: ModuleType) -> None:
    """The compiled model of one import is compared with the original and import of another."""
    good = ge_core.trace(toy.Model(), toy.Tensor(X), optimize="none")
    report = ge_core.verify(toy.Model(wrong=True), toy.Tensor(X), compiled=good)
    assert report.passed  # the original itself is right
    bad = ge_core.trace(toy.Model(wrong=True), toy.Tensor(X), optimize="none")
    report = ge_core.verify(toy.Model(), toy.Tensor(X), compiled=bad)
    assert re.match(r"the core passes changed the result of Softmax .*model\.py:44", report.first_divergence)


def test_verify_blames_the_target(toy: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    from ge_core.plan import execute
    from ge_core.reference import host

    def host_function(plan, step):  # type: ignore[no-untyped-def]
        run = host.host_function(plan, step)

        def spoilt(frame) -> None:  # type: ignore[no-untyped-def]
            run(frame)
            if plan.node(step.node).op == "Softmax":
                frame.slots[step.outputs[0]][...] *= 2

        return spoilt

    monkeypatch.setattr(execute, "host_function", host_function)
    report = ge_core.verify(toy.Model(), toy.Tensor(X))
    assert not report.passed
    assert re.match(r"the target 'reference' computes another result of Softmax", report.first_divergence)


def test_export_needs_a_frontend_that_writes(toy: ModuleType, tmp_path) -> None:  # type: ignore[no-untyped-def]
    graph = ge_core.import_model(toy.Model(), (toy.Tensor(X),))
    with pytest.raises(PluginError, match="'onnx' is not installed"):
        ge_core.export(graph, tmp_path / "net.onnx")
    with pytest.raises(InputError, match=r"no frontend writes \.txt"):
        ge_core.export(graph, tmp_path / "net.txt")


def test_operators_without_a_kernel_are_reported_together(toy: ModuleType, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    from ge_core.ops.registry import DECOMPOSITIONS, KERNELS

    real, real_expand = KERNELS.get, DECOMPOSITIONS.get
    gone = {"Softmax", "MatMul"}
    monkeypatch.setattr(KERNELS, "get", lambda op: None if op in gone else real(op))
    monkeypatch.setattr(DECOMPOSITIONS, "get", lambda op: None if op in gone else real_expand(op))
    with pytest.raises(BackendError, match="2 problems") as caught:
        ge_core.trace(toy.Model(), toy.Tensor(X))
    assert any("Softmax" in d and "model.py:44" in d for d in caught.value.details)


def test_report_and_phases(toy: ModuleType) -> None:
    told: list[Phase] = []
    with listening(told.append):
        report = ge_core.trace(toy.Model(), toy.Tensor(X)).report
    assert [p.name for p in told if p.state == "begin"] == ["import", "optimise", "copy weights", "plan", "build"]
    assert set(report.seconds) == {p.name for p in told} and all(p.seconds >= 0 for p in told)
    assert CompileReport.from_json(report.to_json()) == report
    assert "operators" in report.summary() and "arena" in report.summary()


def test_dynamic_shapes_of_a_graph_are_its_own(toy: ModuleType) -> None:
    graph = ge_core.import_model(toy.Model(), (toy.Tensor(X),))
    with pytest.raises(OptionError, match="dynamic_shapes is given for a Graph"):
        ge_core.compile(graph, dynamic_shapes={"x": {0: "n"}})


def test_input_spec() -> None:
    spec = InputSpec([2, None, "rows"], np.float16, "x")
    assert spec.shape == (2, None, "rows") and str(spec) == "x: float16[2, ?, rows]"
    with pytest.raises(InputError, match="size -1 in dim 0"):
        InputSpec([-1])
