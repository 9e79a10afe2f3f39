"""Pointwise operators: ONNX's cases, special values, element types, contents."""

from __future__ import annotations

import pytest

from ge_core.ops.pointwise import ONNX_POINTWISE
from tests.core.ops.onnx_cases import Case, cases, check_case


@pytest.mark.parametrize("case", cases(*(row.name for row in ONNX_POINTWISE)))
def test_onnx(case: Case) -> None:
    check_case(case)


@pytest.mark.parametrize("case", cases(*(row.name for row in ONNX_POINTWISE), expanded=True))
def test_onnx_bodies(case: Case) -> None:
    check_case(case)
