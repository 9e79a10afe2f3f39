"""Element types: lookups agree with the other worlds' numbers, packing is a bijection."""

from __future__ import annotations

import numpy as np
import pytest

from ge_core.errors import GraphError
from ge_core.ir.dtype import DTYPES, DType, pack, unpack

STORED = [d for d in DTYPES if d.kind != "string"]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_lookups(dtype: DType) -> None:
    assert DType.of(dtype.name) is dtype
    assert DType.of_onnx(dtype.onnx) is dtype
    if dtype.kind != "string":
        assert DType.of(dtype.numpy) is dtype


def test_numbers_agree_with_onnx() -> None:
    onnx = pytest.importorskip("onnx")
    for dtype in STORED:
        assert onnx.helper.tensor_dtype_to_np_dtype(dtype.onnx) == dtype.numpy, dtype


@pytest.mark.parametrize("dtype", STORED, ids=str)
@pytest.mark.parametrize("count", [0, 1, 3, 8, 13])
def test_packing_round_trips(dtype: DType, count: int) -> None:
    values = 1 + np.arange(count) % (1 if dtype.bits < 4 else 6)
    array = values.astype(np.float32).astype(dtype.numpy)
    data = pack(array, dtype)
    assert len(data) == dtype.nbytes(count)
    np.testing.assert_array_equal(unpack(data, dtype, (count,)), array)


def test_the_first_element_is_in_the_low_bits() -> None:
    int4 = DType.of("int4")
    assert pack(np.array([1, -2], int4.numpy), int4) == b"\xe1"


@pytest.mark.parametrize(
    ("name", "low", "high"), [("int4", -8, 7), ("uint2", 0, 3), ("bool", 0, 1), ("int64", -(2**63), 2**63 - 1)]
)
def test_limits(name: str, low: int, high: int) -> None:
    assert (DType.of(name).min, DType.of(name).max) == (low, high)


def test_an_unknown_type_is_an_error() -> None:
    for bad in ("float31", np.dtype("datetime64[s]"), object()):
        with pytest.raises(GraphError, match="unknown element type"):
            DType.of(bad)
