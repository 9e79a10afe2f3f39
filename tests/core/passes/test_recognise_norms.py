"""RMS and layer normalisation as frameworks write them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ge_core.ir import Builder, Graph, Value, symbol
from ge_core.passes import optimise
from ge_core.passes.algebraic import Algebraic
from ge_core.passes.base import PassContext
from ge_core.passes.canonicalise import Canonicalise
from ge_core.passes.recognise import RecogniseNorms
from ge_core.passes.shapes import Shapes
from ge_core.reference.interpret import interpret
from tests.core.passes.compare import assert_close
from tests.core.passes.rewriting import check, normal

N, S = symbol("n", 1, 8), symbol("s", 1, 8)
PASSES = (Canonicalise(), Algebraic(), RecogniseNorms())
LAST = np.array([-1])


def llama(b: Builder, x: Value, w: Value | np.ndarray) -> Value:
    """transformers: weight * (x * rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)).to(dtype)."""
    h = b.Cast(x, to="float32")
    h = b.Mul(h, b.ge.Rsqrt(b.Add(b.ReduceMean(b.Pow(h, 2.0), LAST), 1e-6)))
    return b.Mul(w, b.Cast(h, to=x.dtype))


def by_division(b: Builder, x: Value, w: Value | np.ndarray) -> Value:
    return b.Mul(b.Div(x, b.Sqrt(b.Add(b.ReduceMean(b.Mul(x, x), LAST), 1e-6))), w)


def by_reciprocal(b: Builder, x: Value, w: Value | np.ndarray) -> Value:
    mean = b.ReduceMean(b.Mul(x, x), LAST, keepdims=0)
    return b.Mul(b.Mul(x, b.Reciprocal(b.Sqrt(b.Add(b.Unsqueeze(mean, LAST), 1e-6)))), w)


TOLERANCES = {"float32": 1e-6, "float64": 1e-12, "float16": 2e-3}
RMS = [(form, dtype) for form in (llama, by_division, by_reciprocal) for dtype in TOLERANCES]
RMS.remove((llama, "float64"))  # casting float64 down to normalise it is another computation


@pytest.mark.parametrize("form, dtype", RMS)
def test_rms(form: Callable[[Builder, Value, np.ndarray], Value], dtype: str) -> None:
    def build(b: Builder) -> None:
        x = b.input("x", dtype, (N, S, 32))
        b.outputs(form(b, x, normal(32, seed=1, dtype=dtype)))

    passes = (Canonicalise(), Shapes(), *PASSES)
    check(build, [normal(2, 3, 32, dtype=dtype)], *passes, gives=["RMSNormalization"], tolerance=TOLERANCES[dtype])


def test_rms_without_weight_and_over_two_axes() -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N, 3, 4))
        b.outputs(b.Mul(x, b.ge.Rsqrt(b.Add(b.ReduceMean(b.ge.Square(x), np.array([1, 2])), 1e-5))))

    graph, _ = check(build, [normal(2, 3, 4)], *PASSES, gives=["RMSNormalization"], tolerance=1e-6)
    assert graph.nodes.last.attrs["axis"] == 1  # type: ignore[union-attr]


def layer(b: Builder, x: Value, axes: np.ndarray = LAST) -> Value:
    d = b.Sub(x, b.ReduceMean(x, axes))
    return b.Div(d, b.Sqrt(b.Add(b.ReduceMean(b.Pow(d, 2.0), axes), 1e-5)))


def moments(b: Builder, x: Value, w: np.ndarray, beta: np.ndarray) -> Value:
    """tf.nn.batch_normalization over moments."""
    mean = b.ReduceMean(x, LAST)
    d = b.Sub(x, mean)
    s = b.Mul(b.ge.Rsqrt(b.Add(b.ReduceMean(b.Mul(d, d), LAST), 1e-5)), w)
    return b.Add(b.Mul(x, s), b.Sub(b.constant(beta), b.Mul(mean, s)))


@pytest.mark.parametrize("form", ["plain", "scaled", "biased", "moments"])
def test_layer(form: str) -> None:
    w, beta = normal(16, seed=1), normal(16, seed=2)

    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N, S, 16))
        y = moments(b, x, w, beta) if form == "moments" else layer(b, x)
        y = b.Mul(y, w) if form in ("scaled", "biased") else y
        b.outputs(b.Add(y, beta) if form == "biased" else y)

    check(build, [normal(2, 3, 16)], *PASSES, gives=["LayerNormalization"], tolerance=1e-5)


def test_what_is_no_normalisation() -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N, S, 16))
        y = b.input("y", "float32", (N, S, 16))
        other = b.Mul(y, b.ge.Rsqrt(b.Add(b.ReduceMean(b.Mul(x, x), LAST), 1e-6)))
        first_axis = b.Mul(x, b.ge.Rsqrt(b.Add(b.ReduceMean(b.Mul(x, x), np.array([1])), 1e-6)))
        b.outputs(other, first_axis)

    _, ctx = check(build, [normal(2, 3, 16), normal(2, 3, 16)], *PASSES)
    reasons = " ".join(str(m) for m in ctx.report.misses)
    assert "must be one value (x)" in reasons and "not over the last axes" in reasons


def test_a_scale_per_position_stays_apart() -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N, 4, 16))
        b.outputs(b.Mul(layer(b, x), normal(4, 1)), b.Mul(layer(b, x), normal(1)))

    check(build, [normal(2, 4, 16)], *PASSES, gives=["LayerNormalization", "Mul"] * 2, tolerance=1e-5)


def test_statistics_that_something_else_reads_stay() -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N, 16))
        mean = b.ReduceMean(b.Mul(x, x), LAST)
        b.outputs(b.Mul(x, b.ge.Rsqrt(b.Add(mean, 1e-6))), mean)

    _, ctx = check(build, [normal(2, 16)], *PASSES)
    assert any("read outside the match" in m.reason for m in ctx.report.misses)


def test_in_the_default_pipeline_inside_a_region() -> None:
    def build(b: Builder) -> None:
        x, c = b.input("x", "float32", (N, 16)), b.input("c", "bool", ())
        w = b.constant(normal(16, seed=1))
        b.outputs(b.If(c, then_branch=lambda r: [llama(r, x, w)], else_branch=lambda r: [r.Neg(x)]))

    graph, again = Graph("g"), Graph("g")
    build(Builder(graph))
    build(Builder(again))
    optimise(graph, ctx=PassContext(debug=True))
    node = graph.nodes.last
    assert node is not None and [n.op for n in node.regions["then_branch"].nodes] == ["RMSNormalization"]
    arrays = [normal(2, 16), np.array(True)]
    assert_close(interpret(graph, arrays)[0], interpret(again, arrays)[0], 1e-6)
