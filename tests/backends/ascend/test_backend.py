"""The targets as a person meets them: options, reports, checks, predictions, estimates, the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ge_ascend.chips import CHIPS
from ge_ascend.device import estimate, figures
from typer.testing import CliRunner, Result

import ge_core
from ge_core.cli.app import build
from ge_core.cli.exit_codes import ExitCode
from ge_core.errors import BackendError, OptionError
from ge_core.ir import Builder, Graph, Location, Value, symbol
from tests.backends.ascend.roundtrip import graph_of, lowered

MODULE = """
import numpy as np
from ge_core.ir import Builder, Graph, symbol

def net():
    graph = Graph("net")
    b = Builder(graph)
    x = b.input("x", "float32", (symbol("batch", 1), 8))
    b.outputs(b.Softmax(b.MatMul(x, b.constant(np.eye(8, dtype=np.float32) * 3)), axis=-1))
    return graph
"""


def ge(*arguments: object) -> Result:
    return CliRunner().invoke(build(), [str(a) for a in arguments])


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "ascendnet.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    sys.modules.pop("ascendnet", None)
    return "ascendnet:net"


def net() -> Graph:
    graph = Graph("net")
    b = Builder(graph)
    x = b.input("x", "float32", (symbol("batch", 1), 16))
    rng = np.random.default_rng(0)
    for index, name in enumerate(("first", "second", "third")):
        with b.at(Location("torch", name, "model.py", 10 + index, "linear")):
            w = rng.standard_normal((16, 16)).astype(np.float32) * (30.0 if name == "second" else 0.3)
            x = b.Tanh(b.MatMul(x, b.constant(w)))
    b.outputs(x)
    return graph


def test_every_target_says_what_it_is() -> None:
    from ge_core.plugins import host

    names = {
        info.name: info for plugin in ("ascend910", "ascend310p") for info in host().backend(plugin).backend().targets()
    }
    assert set(names) == set(CHIPS)
    assert "bfloat16" in {str(d) for d in names["ascend910b"].dtypes}
    assert "bfloat16" not in {str(d) for d in names["ascend310p"].dtypes}
    assert not names["ascend310p"].available and "acl" in names["ascend310p"].reason
    assert names["ascend310p"].figures["peak_float16"] == 69e12


def test_the_entry_modules_import_nothing_heavy() -> None:
    code = (
        "import sys, ge_backend_ascend910, ge_backend_ascend310p, ge_ascend.air_frontend as a;"
        "ge_backend_ascend910.ge_plugin_info(); a.ge_plugin_info();"
        "bad = [m for m in ('torch', 'onnx', 'google.protobuf', 'ge_ascend.lower') if m in sys.modules]; print(bad)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_options_are_checked() -> None:
    graph = net()
    with pytest.raises(BackendError, match="force_fp16"):
        ge_core.compile(graph, target="ascend310p", options={"precision_mode": "force_fp61"})
    with pytest.raises(OptionError, match="precision_mode"):
        ge_core.compile(graph, target="ascend310p", options={"precision_mod": "force_fp16"})
    with pytest.raises(BackendError, match="via"):
        ge_core.compile(graph, target="ascend310p", options={"via": "paper"})
    with pytest.raises(OptionError, match="no target 'ascend910x'"):
        ge_core.compile(graph, target="ascend910x")


def test_choices_are_in_the_report() -> None:
    notices = ge_core.compile(net(), target="ascend310p").report.notices
    assert any("MatMul in float16" in line for line in notices)


def test_all_problems_come_at_once() -> None:
    graph = Graph("net")
    b = Builder(graph)
    x = b.input("x", "float32", (4,))
    b.outputs(b.ge.Digamma(b.ge.Lgamma(x)))
    with pytest.raises(BackendError) as caught:
        ge_core.compile(graph, target="ascend310p")
    assert len(caught.value.details) == 2


def test_the_prediction_names_the_operators_that_contribute_most() -> None:
    compiled = ge_core.compile(net(), target="ascend310p", options={"precision_mode": "force_fp16"})
    from ge_core.plugins import host

    backend = host().backend("ascend310p").backend()
    x = np.random.default_rng(1).standard_normal((4, 16)).astype(np.float32)
    found = backend.predict(compiled.artifact, [x])
    (got,) = backend.emulate(compiled.artifact, [x])
    exact = ge_core.compile(net(), target="reference")(x)
    assert found.outputs[0] == pytest.approx(np.abs(got - exact).max() / np.abs(exact).max(), rel=0.2)
    assert 1e-5 < found.outputs[0] < 0.1
    assert 1 <= len(found.operators) <= 10
    errors = [error for _, _, error in found.operators]
    assert errors == sorted(errors, reverse=True)
    # the second layer saturates: what is rounded before it does not show in the result
    assert found.operators[0][0] == "MatMul" and "third" in found.operators[0][1]
    assert all(error < 1e-5 for _, where, error in found.operators if "first" in where)


def test_without_rounding_nothing_is_predicted() -> None:
    compiled = ge_core.compile(net(), target="ascend910b")
    from ge_core.plugins import host

    found = host().backend("ascend910").backend().predict(compiled.artifact, [np.ones((2, 16), np.float32)])
    assert found.outputs[0] < 1e-6 and found.operators == ()


def test_the_command_line_checks_and_reports(module: str, tmp_path: Path) -> None:
    done = ge(
        "compile", module, "-o", "net.air", "--target", "ascend310p", "--precision-mode", "force_fp16", "--allow-unsure"
    )
    assert done.exit_code == ExitCode.OK, done.output
    good = ge("check", "net.air", "--target", "ascend310p")
    assert good.exit_code == ExitCode.OK and "0 errors" in good.output
    (tmp_path / "bad.air").write_bytes((tmp_path / "net.air").read_bytes()[:-7])
    assert ge("check", "bad.air", "--target", "ascend310p").exit_code == ExitCode.TARGET
    told = ge("report", module, "--target", "ascend910b")
    assert told.exit_code == ExitCode.OK, told.output
    assert "estimate for ascend910b from public figures (not measured)" in told.output
    assert "static plan of its operators" in told.output and "mixed_bfloat16" in told.output
    refused = ge("compile", module, "-o", "net.air", "--target", "ascend310p", "--precision-mode", "mixed_bfloat16")
    assert refused.exit_code == ExitCode.TARGET and "needs bfloat16, which ascend310p has not" in refused.output
    missing = ge("compile", module, "-o", "net.om", "--target", "ascend310p", "--via", "onnx")
    assert missing.exit_code == ExitCode.TARGET and "--framework=5" in missing.output
    assert not (tmp_path / "net.om").exists() and (tmp_path / "net.onnx").exists()


def test_a_product_is_bound_by_compute_when_large_and_by_its_start_when_small() -> None:
    def product(n: int, dtype: str = "float16") -> object:
        return graph_of(lambda b, x, y: b.MatMul(x, y), (dtype, (n, n)), (dtype, (n, n)))

    big = estimate(lowered(product(8192)).program, figures("ascend910b"))
    (row,) = big.rows
    assert row.bound == "compute" and row.operations == 2 * 8192**3
    assert row.seconds == pytest.approx(2 * 8192**3 / 303e12)
    assert estimate(lowered(product(64)).program, figures("ascend910b")).bound == "launch"
    wide = graph_of(lambda b, x, y: b.Add(x, y), *[("float16", (4096, 4096))] * 2)
    found = estimate(lowered(wide).program, figures("ascend310p"))
    assert found.rows[0].bound == "memory"
    assert found.seconds == pytest.approx(3 * 2 * 4096**2 / 1.44e11)
    assert found.activations == 2 * 4096**2


def test_fusion_saves_what_a_pointwise_operator_would_move() -> None:
    graph = graph_of(lambda b, x, w: b.Relu(b.Conv(x, w)), ("float16", (1, 64, 56, 56)), ("float16", (64, 64, 3, 3)))
    found = estimate(lowered(graph).program, figures("ascend910b"))
    assert [row.fused for row in found.rows] == [False, True]
    assert found.seconds < found.unfused


def test_the_cube_unit_works_on_blocks_of_16() -> None:
    def conv(inputs: int, outputs: int, group: int) -> float:
        shapes = (1, inputs, 8, 8), (outputs, inputs // group, 1, 1)
        graph = graph_of(lambda b, x, w: b.Conv(x, w, group=group), *[("float16", shape) for shape in shapes])
        return estimate(lowered(graph).program, figures("ascend910b")).rows[0].operations

    assert conv(3, 8, 1) == conv(16, 16, 1) == 2 * 64 * 16 * 16
    assert conv(32, 32, 32) == 2 * 64 * 16 * 32  # sixteen channels share a block, of which the diagonal counts
    assert conv(32, 64, 2) == 2 * 64 * 16 * 64
    product = graph_of(lambda b, x, y: b.MatMul(x, y), ("float16", (1, 17)), ("float16", (17, 33)))
    assert estimate(lowered(product).program, figures("ascend910b")).rows[0].operations == 2 * 16 * 32 * 48


def test_the_costlier_branch_counts() -> None:
    def build(b: Builder, take: object, x: object) -> object:
        return b.If(take, then_branch=lambda r: [r.Neg(x)], else_branch=lambda r: [r.Exp(r.Softmax(r.Tanh(x)))])

    graph = graph_of(build, ("bool", ()), ("float16", (4, 4)))
    found = estimate(lowered(graph).program, figures("ascend910b"), fusion=False)
    types = [row.op.type for row in found.rows]
    assert {"Exp", "Tanh", "SoftmaxV2"} <= set(types) and "Neg" not in types


@pytest.mark.parametrize("trip", [7, None, "n"])
def test_the_rounds_of_a_loop_count(trip: int | str | None) -> None:
    def build(b: Builder, x: Value) -> object:
        def body(r: Builder, i: Value, go: Value, y: Value) -> list[Value]:
            total = r.ReduceSum(y, keepdims=0)
            return [r.Less(total, np.float32(9)) if trip is None else go, r.Exp(y)]

        size = b.Reshape(b.Shape(x), b.constant(np.zeros(0, np.int64)))
        rounds = None if trip is None else size if trip == "n" else b.constant(np.int64(7))
        return b.Loop(rounds, True, [x], body=body)

    graph = graph_of(build, ("float32", ("n",)))
    found = estimate(lowered(graph).program, figures("ascend910b"), {"n": 40})
    exp = next(row for row in found.rows if row.op.type == "Exp")
    assert exp.runs == {7: 7, "n": 40, None: 1}[trip] and found.open_loops == (trip is None)
    assert exp.seconds == pytest.approx(exp.runs * figures("ascend910b").launch)


def test_results_inside_of_a_branch_live_beside_those_around_it() -> None:
    def build(b: Builder, take: Value, x: Value) -> object:
        wide = b.Exp(x)
        found = b.If(take, then_branch=lambda r: [r.Tanh(r.Neg(wide))], else_branch=lambda r: [r.Neg(wide)])
        return b.Add(found, wide)

    graph = graph_of(build, ("bool", ()), ("float32", (1000,)))
    assert estimate(lowered(graph).program, figures("ascend910b")).activations == 4 * 4000


def test_activations_that_fit_stay_in_the_cache() -> None:
    wide = graph_of(lambda b, x: b.Exp(b.Neg(x)), ("float16", (1024, 8192)))
    program = lowered(wide).program
    near, far = (estimate(program, figures("ascend910b"), reuse=reuse) for reuse in (True, False))
    assert near.cached and not far.cached and near.seconds < far.seconds
    assert not estimate(program, figures("ascend310p")).cached


def test_sizes_of_a_call_are_used() -> None:
    graph = graph_of(lambda b, x, y: b.MatMul(x, y), ("float16", ("n", 512)), ("float16", (512, 512)))
    program = lowered(graph).program
    small, large = (estimate(program, figures("ascend910b"), {"n": n}) for n in (1, 100000))
    assert large.seconds > 10 * small.seconds


def test_verify_prints_the_prediction_of_a_model_of_another_framework(tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    graph = graph_of(
        lambda b, x: b.Tanh(b.MatMul(x, b.constant(np.full((4, 3), 0.3, np.float32)))), ("float32", (2, 4))
    )
    path = tmp_path / "net.onnx"
    ge_core.export(graph, path)
    assert onnx.load(str(path)).graph.node
    told = ge("verify", path, "-i", "x0=float32[2,4]", "--target", "ascend310p", "--precision-mode", "force_fp16")
    assert told.exit_code == ExitCode.OK, told.output
    assert "predicted error (every stored tensor rounded as force_fp16 stores it):" in told.output
    assert "operators that contribute most:" in told.output and "MatMul" in told.output
