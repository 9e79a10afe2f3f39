"""Reductions and cumulative operators: ONNX's cases."""

from __future__ import annotations

import pytest

from tests.core.ops.onnx_cases import Case, cases, check_case

REDUCTIONS = ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin",
              "ReduceProd", "ReduceSum", "ReduceSumSquare")  # fmt: skip


@pytest.mark.parametrize("case", cases(*REDUCTIONS, "ArgMax", "ArgMin", "CumSum", "CumProd", "Hardmax"))
def test_onnx(case: Case) -> None:
    check_case(case)


@pytest.mark.parametrize("case", cases(*REDUCTIONS, expanded=True))
def test_onnx_bodies(case: Case) -> None:
    check_case(case)
