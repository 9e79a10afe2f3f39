"""Cast, CastLike, BitCast: ONNX's cases and the IR's rules at the edges of the types."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from ge_core.errors import ExecutionError, TypeRuleError
from ge_core.ir import DTYPES, DType
from tests.core.ops.onnx_cases import Case, cases, check_case
from tests.core.ops.single_node import run_node

# ONNX leaves out-of-range values undefined and its cases wrap; here they saturate (test_float_to_int_saturates).
_WRAPS = {"FLOAT_to_UINT4", "FLOAT16_to_UINT4", "FLOAT_to_INT4", "FLOAT16_to_INT4", "FLOAT_to_UINT2",
          "FLOAT16_to_UINT2", "FLOAT_to_INT2", "FLOAT16_to_INT2"}  # fmt: skip


@pytest.mark.parametrize(
    "case", [p for p in cases("Cast", "CastLike", "BitCast") if p.id.split("_", 1)[1] not in _WRAPS]
)
def test_onnx(case: Case) -> None:
    check_case(case)


INTEGERS = [d for d in DTYPES if d.is_integer]
FLOATS = ["float64", "float32", "float16", "bfloat16"]


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("to", INTEGERS, ids=str)
def test_float_to_int_saturates(to: DType, source: str) -> None:
    kind = DType.of(source)
    with np.errstate(over="ignore"):
        x = np.array(
            [np.nan, np.inf, -np.inf, 1.9, -1.9, -0.5, float(to.max), float(to.min), 2.0**70, -(2.0**70),
             float(to.max) + 0.5, float(to.min) - 0.5]
        ).astype(kind.numpy)  # fmt: skip
    wanted = []
    for v in x.astype(np.float64):
        whole = 0 if np.isnan(v) else np.inf * np.sign(v) if np.isinf(v) else int(v)
        wanted.append(int(min(max(whole, to.min), to.max)))
    result = run_node("Cast", x, to=to)
    assert result.dtype == to.numpy
    assert [int(v) for v in result] == wanted


@pytest.mark.parametrize("to", INTEGERS, ids=str)
def test_int_to_int_wraps(to: DType) -> None:
    x = np.array([0, 1, -1, 127, 128, -129, 300, 2**31, -(2**33) - 5, 2**63 - 1, 7, -8, 9])
    span = 1 << to.bits
    wanted = [(int(v) - int(to.min)) % span + int(to.min) for v in x]
    assert [int(v) for v in run_node("Cast", x, to=to)] == wanted


def test_bool_is_whatever_is_not_zero() -> None:
    x = np.array([0, -0.0, np.nan, 1e-30, np.inf], np.float32)
    assert run_node("Cast", x, to="bool").tolist() == [False, False, True, True, True]
    assert run_node("Cast", np.array([True, False]), to="bfloat16").astype(np.float32).tolist() == [1, 0]


@pytest.mark.parametrize("to", ["bfloat16", "float16", "float8e4m3fn", "float8e5m2"])
def test_floats_round_once(to: str) -> None:
    """Halfway between two neighbours plus a little that float32 cannot hold must go up."""
    kind = DType.of(to)
    step = float(ml_dtypes.finfo(kind.numpy).eps)
    x = np.array([1 + step / 2 + 2.0**-40, 1 + step / 2, 1 + step / 2 - 2.0**-40])
    assert run_node("Cast", x, to=to).astype(np.float64).tolist() == [1 + step, 1, 1]
    assert run_node("Cast", -x, to=to).astype(np.float64).tolist() == [-1 - step, -1, -1]


def test_small_float_overflow() -> None:
    x = np.array([1e6, -1e6, np.inf, -np.inf, np.nan], np.float32)
    fn = run_node("Cast", x, to="float8e4m3fn").astype(np.float32)
    np.testing.assert_array_equal(fn, [448, -448, 448, -448, np.nan])
    e5 = run_node("Cast", x, to="float8e5m2", saturate=0).astype(np.float32)
    np.testing.assert_array_equal(e5, [np.inf, -np.inf, np.inf, -np.inf, np.nan])
    half = run_node("Cast", x, to="float16").astype(np.float32)
    np.testing.assert_array_equal(half, [np.inf, -np.inf, np.inf, -np.inf, np.nan])


def test_strings() -> None:
    text = np.array(["1.5", "-INF", "nan", "3e2"], object)
    np.testing.assert_array_equal(
        run_node("Cast", text, to="float32"), np.array([1.5, -np.inf, np.nan, 300], np.float32)
    )
    assert run_node("Cast", np.array([1, -2]), to="string").tolist() == ["1", "-2"]
    with pytest.raises(ExecutionError, match="no number"):
        run_node("Cast", np.array(["x"], object), to="int64")


def test_shapes_are_kept() -> None:
    for shape in [(), (0,), (2, 0, 3), (1, 2, 3, 2, 1)]:
        assert run_node("Cast", np.ones(shape, np.float32), to="int4").shape == shape


def test_bit_cast() -> None:
    x = np.array([[-1, 7], [-8, 0]]).astype(ml_dtypes.int4)
    assert run_node("BitCast", x, to="uint4").astype(np.int8).tolist() == [[15, 7], [8, 0]]
    assert run_node("BitCast", np.array([1.0], np.float32), to="uint32").tolist() == [0x3F800000]
    with pytest.raises(TypeRuleError, match="bits"):
        run_node("BitCast", np.array([1.0], np.float32), to="int64")
    with pytest.raises(TypeRuleError, match="complex"):
        run_node("Cast", np.array([1j], np.complex64), to="float32")
