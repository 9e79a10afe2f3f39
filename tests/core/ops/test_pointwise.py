"""Pointwise operators: ONNX's cases, special values, element types, contents."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ge_core.errors import DivisionByZeroError, GraphError
from ge_core.ir import Builder, DType, Graph
from ge_core.ops.expression import Apply, Arg, Number, expression_of, parse
from ge_core.ops.ge_schemas import GE_SCHEMAS
from ge_core.ops.pointwise import GE_POINTWISE, ONNX_POINTWISE, POINTWISE
from ge_core.ops.schema import schema
from tests.core.ops.onnx_cases import Case, cases, check_case
from tests.core.ops.single_node import run_node


@pytest.mark.parametrize("case", cases(*(row.name for row in ONNX_POINTWISE)))
def test_onnx(case: Case) -> None:
    check_case(case)


@pytest.mark.parametrize("case", cases(*(row.name for row in ONNX_POINTWISE), expanded=True))
def test_onnx_bodies(case: Case) -> None:
    check_case(case)


def _elementwise(function: Callable[..., float]) -> Callable[..., np.ndarray]:
    return np.vectorize(function, otypes=[np.float64])


# Every ge row and the float functions against numpy and math in float64.
_UNARY: dict[str, Callable[[Any], Any]] = {
    "Abs": np.abs, "Acos": np.arccos, "Acosh": np.arccosh, "Asin": np.arcsin, "Asinh": np.arcsinh,
    "Atan": np.arctan, "Atanh": np.arctanh, "Ceil": np.ceil, "Cos": np.cos, "Cosh": np.cosh, "Exp": np.exp,
    "Floor": np.floor, "Log": np.log, "Neg": np.negative, "Reciprocal": np.reciprocal, "Round": np.rint,
    "Sign": np.sign, "Sin": np.sin, "Sinh": np.sinh, "Sqrt": np.sqrt, "Tan": np.tan, "Tanh": np.tanh,
    "Erf": _elementwise(math.erf), "Relu": lambda x: np.where(x < 0, 0, x),
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)), "Softplus": lambda x: np.logaddexp(x, 0),
    "Softsign": lambda x: x / (1 + np.abs(x)), "Swish": lambda x: x / (1 + np.exp(-x)),
    "Mish": lambda x: x * np.tanh(np.logaddexp(x, 0)), "HardSwish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "Gelu": lambda x: 0.5 * x * (1 + _elementwise(math.erf)(x / math.sqrt(2))),
    "ge.Expm1": np.expm1, "ge.Log1p": np.log1p, "ge.Log2": np.log2, "ge.Log10": np.log10, "ge.Exp2": np.exp2,
    "ge.Rsqrt": lambda x: 1 / np.sqrt(x), "ge.Square": np.square, "ge.Trunc": np.trunc,
    "ge.Erfc": _elementwise(math.erfc), "ge.Lgamma": _elementwise(lambda v: math.lgamma(v) if v > 0 else math.nan),
    "ge.LogSigmoid": lambda x: -np.logaddexp(-x, 0),
}  # fmt: skip
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Pow": np.power, "Max": np.maximum,
    "Min": np.minimum, "Mod": np.mod, "ge.FloorDiv": np.floor_divide, "ge.FloorMod": np.mod,
    "ge.TruncDiv": lambda a, b: np.trunc(a / b), "ge.Atan2": np.arctan2, "ge.CopySign": np.copysign,
    "ge.FMax": np.fmax, "ge.FMin": np.fmin, "ge.LogAddExp": np.logaddexp,
}  # fmt: skip
# Largest error in units of the last place of the result, or of 1 for results below 1.
_TOLERANCE = {"float64": 1e-12, "float32": 2e-6, "float16": 6e-4, "bfloat16": 5e-3}
_SHAPES = [(), (0,), (7,), (3, 4), (2, 0, 3), (2, 3, 4), (2, 1, 3, 2), (2, 3, 1, 2, 2)]


def _close(actual: np.ndarray, wanted: np.ndarray, dtype: DType) -> None:
    assert actual.dtype == dtype.numpy and actual.shape == wanted.shape
    limit = _TOLERANCE[dtype.name]
    np.testing.assert_allclose(actual.astype(np.float64), wanted.astype(np.float64), limit, limit)


@pytest.mark.parametrize("dtype", _TOLERANCE)
@pytest.mark.parametrize("op", _UNARY)
def test_unary(op: str, dtype: str) -> None:
    rng, kind = np.random.default_rng(0), DType.of(dtype)
    low, high = {"Acos": (-1, 1), "Asin": (-1, 1), "Atanh": (-0.9, 0.9), "Acosh": (1, 9)}.get(op, (-4, 4))
    if op in ("Log", "Sqrt", "ge.Log1p", "ge.Log2", "ge.Log10", "ge.Rsqrt", "ge.Lgamma", "Reciprocal"):
        low = 0.25
    high = 1.2 if op == "Tan" else high
    low = -1.2 if op == "Tan" else low
    for shape in _SHAPES:
        x = rng.uniform(low, high, shape).astype(kind.numpy)
        with np.errstate(all="ignore"):
            wanted = np.asarray(_UNARY[op](x.astype(np.float64))).reshape(shape).astype(kind.numpy)
        _close(run_node(op, x), wanted, kind)


@pytest.mark.parametrize("dtype", _TOLERANCE)
@pytest.mark.parametrize("op", _BINARY)
def test_binary(op: str, dtype: str) -> None:
    rng, kind = np.random.default_rng(1), DType.of(dtype)
    for left, right in [((), ()), ((3, 1), (4,)), ((2, 3, 4), (1, 4)), ((0, 3), (3,)), ((), (2, 2, 2)), ((5,), (5,))]:
        a = rng.uniform(0.5, 4, left).astype(kind.numpy)
        b = rng.uniform(0.5, 3, right).astype(kind.numpy)
        a, b = (
            (np.round(a * 4).astype(kind.numpy), np.round(b * 2).astype(kind.numpy))
            if "Mod" in op or "Div" in op
            else (a, b)
        )
        wanted = _BINARY[op](a.astype(np.float64), b.astype(np.float64))
        _close(run_node(op, a, b), np.asarray(wanted).astype(kind.numpy), kind)


@pytest.mark.parametrize("op", ["Max", "Min"])
def test_extremes_propagate_nan(op: str) -> None:
    for dtype in (np.float32, np.float64, np.float16, ml_dtypes.bfloat16):
        x = np.array([np.nan, 1, -np.inf, np.nan], dtype)
        y = np.array([1, np.nan, np.inf, np.nan], dtype)
        np.testing.assert_array_equal(np.isnan(run_node(op, x, y).astype(np.float32)), [True, True, False, True])


def test_clip_and_relu_propagate_nan() -> None:
    x = np.array([np.nan, -np.inf, np.inf, 2], np.float32)
    one = np.float32(1)
    np.testing.assert_array_equal(run_node("Clip", x, -one, one), np.array([np.nan, -1, 1, 1], np.float32))
    np.testing.assert_array_equal(run_node("Clip", x, None, one), np.array([np.nan, -np.inf, 1, 1], np.float32))
    np.testing.assert_array_equal(run_node("Clip", x, one, -one), np.array([np.nan, -1, -1, -1], np.float32))
    np.testing.assert_array_equal(run_node("Relu", x), np.array([np.nan, 0, np.inf, 2], np.float32))
    np.testing.assert_array_equal(run_node("Clip", x), x)


def test_preferring_extremes_leave_nan() -> None:
    x, y = np.array([np.nan, 1, np.nan], np.float32), np.array([2, np.nan, np.nan], np.float32)
    np.testing.assert_array_equal(run_node("ge.FMax", x, y), np.array([2, 1, np.nan], np.float32))
    np.testing.assert_array_equal(run_node("ge.FMin", x, y), np.array([2, 1, np.nan], np.float32))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_integers_wrap(dtype: str) -> None:
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    edge, one = np.array([low, high], dtype), np.array(1, dtype)

    def wrapped(*exact: int) -> np.ndarray:
        return np.array([(v - low) % (high - low + 1) + low for v in exact], dtype)

    np.testing.assert_array_equal(run_node("Add", edge, one), wrapped(low + 1, high + 1))
    np.testing.assert_array_equal(run_node("Sub", edge, one), wrapped(low - 1, high - 1))
    np.testing.assert_array_equal(run_node("Neg", edge), wrapped(-low, -high))
    np.testing.assert_array_equal(run_node("Mul", edge, edge), wrapped(low * low, high * high))
    if low:
        minus = np.array(-1, dtype)
        for op in ("Div", "ge.FloorDiv", "ge.TruncDiv"):
            np.testing.assert_array_equal(run_node(op, edge, minus), np.array([low, -high], dtype))
        np.testing.assert_array_equal(run_node("Mod", edge, minus), np.array([0, 0], dtype))
        np.testing.assert_array_equal(run_node("Abs", edge), np.array([low, high], dtype))


@pytest.mark.parametrize("op", ["Div", "Mod", "ge.FloorDiv", "ge.FloorMod", "ge.TruncDiv"])
def test_integer_division_by_zero_is_an_error(op: str) -> None:
    with pytest.raises(DivisionByZeroError, match=op):
        run_node(op, np.array([1, 2], np.int32), np.array([1, 0], np.int32))
    assert run_node(op, np.zeros(0, np.int32), np.zeros(0, np.int32)).shape == (0,)


def test_division_and_remainder_of_signs() -> None:
    a, b = np.array([7, -7, 7, -7, 6]), np.array([2, 2, -2, -2, 3])
    assert run_node("Div", a, b).tolist() == [3, -3, -3, 3, 2]
    assert run_node("ge.FloorDiv", a, b).tolist() == [3, -4, -4, 3, 2]
    assert run_node("Mod", a, b).tolist() == [1, 1, -1, -1, 0]
    assert run_node("Mod", a, b, fmod=1).tolist() == [1, -1, 1, -1, 0]
    x, y = a.astype(np.float32), b.astype(np.float32)
    assert run_node("Mod", x, y, fmod=1).tolist() == [1, -1, 1, -1, 0]
    assert run_node("ge.FloorMod", x, y).tolist() == [1, 1, -1, -1, 0]
    assert run_node("ge.TruncDiv", x, y).tolist() == [3, -3, -3, 3, 2]


def test_shifts_beyond_the_width() -> None:
    a, by = np.array([-8, 8, -1, 1], np.int8), np.array([1, 8, 100, -1], np.int8)
    assert run_node("BitShift", a, by, direction="LEFT").tolist() == [-16, 0, 0, 0]
    assert run_node("BitShift", a, by, direction="RIGHT").tolist() == [-4, 0, -1, 0]
    assert run_node("ge.ArithmeticShift", a, by).tolist() == [-4, 0, -1, 0]
    u = np.array([200, 200, 3], np.uint8)
    assert run_node("BitShift", u, np.array([3, 8, 255], np.uint8), direction="RIGHT").tolist() == [25, 0, 0]


def test_power_of_mixed_types() -> None:
    assert run_node("Pow", np.array([2, -1, 0, 3]), np.array([-1, -3, -2, 2])).tolist() == [0, -1, 0, 9]
    assert run_node("Pow", np.array([3, 3], np.int8), np.array([4, 5], np.int64)).tolist() == [81, 243 - 256]
    assert run_node("Pow", np.array([3, -2]), np.array([4, 3], np.int32)).tolist() == [81, -8]
    assert run_node("Pow", np.array([1, -1]), np.array([2**64 - 1, 3], np.uint64)).tolist() == [1, -1]
    assert run_node("Pow", np.array([2, 9], np.int32), np.array([0.5, 0.5], np.float32)).tolist() == [1, 3]
    assert run_node("Pow", np.array([2, 4], np.float32), np.array([3, -1])).tolist() == [8, 0.25]


def test_small_floats_round_once() -> None:
    """bfloat16 1 + 2^-9 + 2^-9 is 1 when each step rounds, and 1 + 2^-8 + ... of the exact sum when only the last."""
    x = np.array([1.0], ml_dtypes.bfloat16)
    tiny = np.array([2.0**-8], ml_dtypes.bfloat16)
    assert run_node("Sum", x, tiny, tiny).astype(np.float32).tolist() == [1 + 2.0**-7]
    half = np.array([60000], np.float16)
    assert run_node("Mean", half, half).tolist() == [60000]


def test_neighbours_are_those_of_the_type() -> None:
    for dtype, step in ((np.float32, 2.0**-23), (np.float16, 2.0**-10), (ml_dtypes.bfloat16, 2.0**-7)):
        result = run_node("ge.NextAfter", np.array([1], dtype), np.array([2], dtype))
        assert result.astype(np.float64).tolist() == [1 + step]


def test_where_moves_any_type() -> None:
    condition = np.array([True, False])
    for dtype in ("bool", "int64", "bfloat16", "int4", "float8e4m3fn", "complex64"):
        kind = DType.of(dtype).numpy
        a, b = np.array([1, 1]).astype(kind), np.array([0, 0]).astype(kind)
        result = run_node("Where", condition, a, b)
        assert result.dtype == kind and result.astype(
            np.complex64 if dtype == "complex64" else np.float32
        ).tolist() == [1, 0]
    text = run_node("Where", condition, np.array(["a", "b"], object), np.array(["c", "d"], object))
    assert text.tolist() == ["a", "d"]


def test_inputs_are_never_written() -> None:
    x = np.linspace(-2, 2, 5, dtype=np.float32)
    kept = x.copy()
    for op in _UNARY:
        run_node(op, x)
    np.testing.assert_array_equal(x, kept)


def test_expressions_name_known_things() -> None:
    b = Builder(Graph())
    for row in (*ONNX_POINTWISE, *GE_POINTWISE):
        for text in (row.expression, *row.variants.values(), *([row.fold] if row.fold else [])):
            parse(text)
        declared = GE_SCHEMAS[row.name] if row.name.startswith("ge.") else schema(row.name)
        assert set(row.attributes) == set(declared.attributes)
        assert row.fold or len(row.inputs) == len(declared.inputs)
    x = b.input("x", "float32", (2,))
    clip = b.Clip(x, None, 1.0).producer
    assert expression_of(clip) == Apply("min", (Arg(0), Arg(2)))
    leaky = b.LeakyRelu(x, alpha=0.5).producer
    assert expression_of(leaky) == Apply(
        "select", (Apply("lt", (Arg(0), Number(0))), Apply("mul", (Number(0.5), Arg(0))), Arg(0))
    )
    assert expression_of(b.Mean(x, x, x).producer) == Apply(
        "div", (Apply("add", (Apply("add", (Arg(0), Arg(1))), Arg(2))), Number(3))
    )
    assert len(POINTWISE) == len(ONNX_POINTWISE) + len(GE_POINTWISE)
    for bad in ("add(x)", "nope(x)", "add(x, y", "x y", "x + y", ""):
        with pytest.raises(GraphError):
            parse(bad)


def test_infinite_attributes() -> None:
    x = np.array([-2, 3], np.float32)
    assert run_node("ThresholdedRelu", x, alpha=math.inf).tolist() == [0, 0]
    assert run_node("Shrink", np.array([-2, 3, 0]), lambd=0.5).tolist() == [-2, 3, 0]
