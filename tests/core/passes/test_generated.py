"""Every pass keeps the values of generated graphs: alone, in the default pipeline, with each switch, in any order."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, assume, given, settings

from ge_core.errors import ExecutionError
from ge_core.ir.verifier import verify
from ge_core.passes import PassContext, PassManager
from ge_core.passes.algebraic import Algebraic
from ge_core.passes.base import Pass
from ge_core.passes.canonicalise import Canonicalise, InlineConstantBranches, ShapeArithmetic
from ge_core.passes.cse import CommonSubexpressions
from ge_core.passes.dce import DeadCode
from ge_core.passes.fold import ConstantFolding
from ge_core.passes.infer_types import InferTypes
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
