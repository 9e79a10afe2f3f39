"""Every pass keeps the values of generated graphs: alone, in the default pipeline, with each switch, in any order."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ge_core.errors import ExecutionError
from ge_core.ir.verifier import verify
from ge_core.passes import PassContext, PassManager, optimise
from ge_core.passes.algebraic import Algebraic
from ge_core.passes.base import SWITCHES, Pass
from ge_core.passes.batchnorm import FoldBatchNorm
from ge_core.passes.canonicalise import Canonicalise, InlineConstantBranches, ShapeArithmetic
from ge_core.passes.cse import CommonSubexpressions
from ge_core.passes.dce import DeadCode
from ge_core.passes.fold import ConstantFolding
from ge_core.passes.infer_types import InferTypes
from ge_core.passes.recognise import RECOGNISERS
from ge_core.passes.scales import FoldScales
from ge_core.passes.shapes import Shapes
from ge_core.passes.transposes import MergeTransposes, SinkTransposes
from tests.core.passes.compare import assert_close, assert_same_bits
from tests.core.passes.generated import Model, models

few = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
    derandomize=True,
    database=None,
)
EXACT = [
    InferTypes(), ShapeArithmetic(), InlineConstantBranches(), ConstantFolding(), Shapes(), MergeTransposes(),
    CommonSubexpressions(), DeadCode(),
]  # fmt: skip
# Canonicalise rewrites Gemm, Algebraic rewrites Pow(x, 2), SinkTransposes renames reduced axes: another order of the
# same sum, or one rounding less.
ROUNDING = [Canonicalise(), Algebraic(), SinkTransposes()]
ALL = [*EXACT, *ROUNDING, *RECOGNISERS, FoldBatchNorm(), FoldScales()]


def _reference(model: Model) -> list[list]:
    try:
        return model.results(model.build())
    except ExecutionError:
        assume(False)
        raise


@pytest.mark.parametrize("p", EXACT, ids=lambda p: p.name)
@few
@given(model=models())
def test_pass_keeps_every_bit(p: Pass, model: Model) -> None:
    want = _reference(model)
    graph = model.build()
    PassManager((p,), "test")(graph, PassContext(debug=True))
    verify(graph)
    for got, expected in zip(model.results(graph), want, strict=True):
        assert_same_bits(got, expected)


@pytest.mark.parametrize("p", ROUNDING, ids=lambda p: p.name)
@few
@given(model=models(edges=False))
def test_pass_keeps_values(p: Pass, model: Model) -> None:
    want = _reference(model)
    graph = model.build()
    PassManager((p,), "test")(graph, PassContext(debug=True))
    for got, expected in zip(model.results(graph), want, strict=True):
        assert_close(got, expected, 1e-5)


@few
@given(model=models())
def test_default_pipeline_on_edges(model: Model) -> None:
    """NaN, infinities and zeros of both signs, without the passes that change rounding."""
    want = _reference(model)
    graph = model.build()
    optimise(graph, {"fold", "dce"}, PassContext(debug=True))
    assert graph.stage == "optimised"
    for got, expected in zip(model.results(graph), want, strict=True):
        assert_close(got, expected, 1e-5)


@few
@given(model=models(edges=False), switches=st.sets(st.sampled_from(sorted(SWITCHES))), precision=st.booleans())
def test_any_switches_keep_values(model: Model, switches: set[str], precision: bool) -> None:
    want = _reference(model)
    graph = model.build()
    ctx = PassContext(debug=True, precision="speed" if precision else "balanced")
    optimise(graph, switches, ctx)
    for got, expected in zip(model.results(graph), want, strict=True):
        assert_close(got, expected, 2e-5)


@few
@given(
    model=models(edges=False), order=st.permutations([*EXACT, *ROUNDING, *RECOGNISERS, FoldBatchNorm(), FoldScales()])
)
def test_passes_in_any_order_keep_values(model: Model, order: list[Pass]) -> None:
    """Two correct rules in the wrong company must stay correct."""
    want = _reference(model)
    graph = model.build()
    PassManager(tuple(order) * 2, "any order")(graph, PassContext(debug=True))
    for got, expected in zip(model.results(graph), want, strict=True):
        assert_close(got, expected, 2e-5)


@few
@given(model=models(edges=False), stop=st.integers(0, 40))
def test_stopping_anywhere_leaves_a_right_graph(model: Model, stop: int) -> None:
    want = _reference(model)
    graph = model.build()
    ctx = PassContext(debug=True, stop_after=stop)
    optimise(graph, ctx=ctx)
    assert ctx.rewrites <= stop
    for got, expected in zip(model.results(graph), want, strict=True):
        assert_close(got, expected, 2e-5)


@few
@given(model=models())
def test_optimising_twice_changes_nothing_more(model: Model) -> None:
    graph = model.build()
    optimise(graph, ctx=PassContext(debug=True))
    again = PassContext(debug=True)
    optimise(graph, ctx=again)
    assert not again.report.trail, [str(r) for r in again.report.trail]
