"""Cast, CastLike, BitCast: ONNX's cases and the IR's rules at the edges of the types."""

from __future__ import annotations

import pytest

from tests.core.ops.onnx_cases import Case, cases, check_case

# ONNX leaves out-of-range values undefined and its cases wrap; here they saturate (test_float_to_int_saturates).
_WRAPS = {"FLOAT_to_UINT4", "FLOAT16_to_UINT4", "FLOAT_to_INT4", "FLOAT16_to_INT4", "FLOAT_to_UINT2",
          "FLOAT16_to_UINT2", "FLOAT_to_INT2", "FLOAT16_to_INT2"}  # fmt: skip


@pytest.mark.parametrize(
    "case", [p for p in cases("Cast", "CastLike", "BitCast") if p.id.split("_", 1)[1] not in _WRAPS]
)
def test_onnx(case: Case) -> None:
    check_case(case)
