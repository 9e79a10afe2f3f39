"""Operators that change shapes, make tensors and move elements: ONNX's cases."""

from __future__ import annotations

import pytest

from tests.core.ops.onnx_cases import Case, cases, check_case


@pytest.mark.parametrize(
    "case",
    cases("Shape", "Size", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand", "Transpose", "Concat", "Split",
          "Slice", "Tile", "Pad", "Trilu", "DepthToSpace", "SpaceToDepth", "ReverseSequence", "CenterCropPad",
          "Range", "ConstantOfShape", "EyeLike", "OneHot", "Gather", "GatherElements"),
)  # fmt: skip
def test_onnx(case: Case) -> None:
    check_case(case)


@pytest.mark.parametrize("case", cases("Compress"))
def test_onnx_data_dependent(case: Case) -> None:
    check_case(case, data_dependent=True)


@pytest.mark.parametrize("case", cases("GatherND"))
def test_onnx_gather_nd(case: Case) -> None:
    check_case(case, symbolic=(0,))  # the last size of indices is part of the operator
