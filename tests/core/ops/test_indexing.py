"""Scattering, sorting, searching and counting: ONNX's cases."""

from __future__ import annotations

import pytest

from tests.core.ops.onnx_cases import Case, cases, check_case


@pytest.mark.parametrize("case", cases("ScatterElements", "TensorScatter", "TopK"))
def test_onnx(case: Case) -> None:
    check_case(case)


@pytest.mark.parametrize("case", cases("ScatterND"))
def test_onnx_scatter_nd(case: Case) -> None:
    check_case(case, symbolic=(0,))  # the last size of indices is part of the operator


@pytest.mark.parametrize("case", cases("NonZero", "Unique", "NonMaxSuppression"))
def test_onnx_data_dependent(case: Case) -> None:
    check_case(case, data_dependent=True)
