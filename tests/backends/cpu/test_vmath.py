"""Vector mathematics: errors in units of the last place, special values, integers, at every width."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from ge_backend_cpu.emit import Function
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import DIVISION_BY_ZERO, OK, Kernel, family
from ge_backend_cpu.vmath import TESTS, Primitives
from ge_core.ir.dtype import DType
from ge_core.reference import special_functions as special
from tests.backends.cpu.calling import call

WIDTHS = ["host", "x86-64-v3", "x86-64-v3/4"]
RNG = np.random.default_rng(0)


@family("vmath_test")
def emit(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """One primitive on whole vectors; the number of elements is a multiple of 64."""
    name, kind, count = parameters["name"], DType.of(parameters["kind"]), parameters["count"]
    f = Function(module, symbol, isa, count + 1, ("n",))

    def check(condition: Any, status: int) -> None:
        word = f.b.bitcast(condition, f.b.trunc(f.i(0), _bits(f.lanes)).type)
        f.fail(f.b.icmp_unsigned("!=", word, f.b.trunc(f.i(0), word.type)), status)

    primitives = Primitives(f, check)
    result = DType.of("bool") if name in TESTS else kind
    with f.loop(0, f.params["n"], f.lanes) as loop:
        values = [f.load(f.operands[k], loop.index, kind, f.lanes) for k in range(count)]
        f.store(primitives.apply(name, kind, values), f.operands[count], loop.index, result)
    f.finish()


def _bits(lanes: int) -> Any:
    from ge_backend_cpu import llvm_ir as ir

    return ir.IntType(lanes)


def apply(name: str, *arrays: np.ndarray, isa: str = "host", status: int = OK) -> np.ndarray:
    """A primitive on arrays of one element type."""
    dtype = arrays[0].dtype
    n = arrays[0].size
    padded = [np.concatenate([a, np.ones(-n % 64, dtype)]) for a in arrays]
    out = np.zeros(padded[0].size, np.bool_ if name in TESTS else dtype)
    kernel = Kernel("vmath_test", {"name": name, "kind": str(DType.of(dtype)), "count": len(arrays)})
    assert call(kernel, Isa.of(isa), [*padded, out], [padded[0].size]) == status
    return out[:n]


def ulps(actual: np.ndarray, exact: np.ndarray) -> float:
    """The largest error in units of the last place of the element type; equal specials count as right."""
    with np.errstate(over="ignore"):
        rounded = exact.astype(actual.dtype)
    same = (actual == rounded) | (np.isnan(actual) & np.isnan(rounded))
    least = np.finfo(actual.dtype).smallest_subnormal
    with np.errstate(invalid="ignore"):
        unit = np.maximum(np.spacing(np.abs(rounded)), least).astype(np.float64)
        error = np.abs(actual.astype(np.float64) - exact.astype(np.float64)) / unit
    error = np.where(same, 0.0, np.where(np.isnan(error), np.inf, error))
    return float(error.max(initial=0.0))


FUNCTIONS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], tuple[float, float]]] = {
    "exp": (np.exp, (-104, 89)), "exp2": (np.exp2, (-150, 128)), "expm1": (np.expm1, (-20, 89)),
    "log": (np.log, (0, 4)), "log2": (np.log2, (0, 4)), "log10": (np.log10, (0, 4)), "log1p": (np.log1p, (-1, 4)),
    "tanh": (np.tanh, (-10, 10)), "sin": (np.sin, (-40, 40)), "cos": (np.cos, (-40, 40)),
    "tan": (np.tan, (-40, 40)), "atan": (np.arctan, (-9, 9)), "asin": (np.arcsin, (-1, 1)),
    "acos": (np.arccos, (-1, 1)), "sinh": (np.sinh, (-89, 89)), "cosh": (np.cosh, (-89, 89)),
    "asinh": (np.arcsinh, (-9, 9)), "acosh": (np.arccosh, (1, 9)), "atanh": (np.arctanh, (-1, 1)),
    "erf": (special.erf, (-4, 4)), "erfc": (special.erfc, (-4, 10)), "erfinv": (special.erfinv, (-1, 1)),
}  # fmt: skip
SPECIALS = np.array(
    [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 1e-39, -1e-39, 1, -1, 2, -2, 88.8, -88.8, -103.5, 1e38, -1e38],
    np.float32,
)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_float32_within_four_units(name: str) -> None:
    function, (low, high) = FUNCTIONS[name]
    anything = np.arange(0, 1 << 32, 8191, dtype=np.uint64).astype(np.uint32).view(np.float32)
    usual = RNG.uniform(low, high, 100_000).astype(np.float32)
    for x in (usual, anything):
        with np.errstate(all="ignore"):
            exact = function(x.astype(np.float64))
        assert ulps(apply(name, x), exact) <= 4


@pytest.mark.parametrize("isa", WIDTHS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values(name: str, isa: str) -> None:
    with np.errstate(all="ignore"):
        exact = FUNCTIONS[name][0](SPECIALS.astype(np.float64)).astype(np.float32)
    found = apply(name, SPECIALS, isa=isa)
    np.testing.assert_allclose(found, exact, rtol=1e-6, atol=0)
    plain = ~np.isnan(exact)
    np.testing.assert_array_equal(np.signbit(found)[plain], np.signbit(exact)[plain])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_float64(name: str) -> None:
    function, (low, high) = FUNCTIONS[name]
    x = RNG.uniform(low, high, 20_000)
    # numpy's and the reference's own errors are a few units
    assert ulps(apply(name, x), function(x)) <= (64 if name in ("erfc", "erfinv") else 6)


@pytest.mark.parametrize("isa", WIDTHS)
@pytest.mark.parametrize(("name", "ends"), [("tanh", 9.02), ("erf", 3.93)])
def test_saturation(name: str, ends: float, isa: str) -> None:
    """From where the exact value rounds to 1 on it is 1, and nowhere more."""
    x = np.concatenate([np.linspace(ends - 1, 40, 100_000), 10 ** RNG.uniform(1, 38, 1000)]).astype(np.float32)
    found = apply(name, np.concatenate([x, -x]), isa=isa).reshape(2, -1)
    np.testing.assert_array_equal(found[0], -found[1])
    assert found.max() == 1
    np.testing.assert_allclose(found[0][x > ends], 1, rtol=0, atol=1.2e-7)
    np.testing.assert_array_equal(found[0][x > ends + 0.1], 1)


@pytest.mark.parametrize("isa", ["x86-64-v4/8", "x86-64-v4/4"])
def test_looked_up_at_every_width(isa: str) -> None:
    """What is looked up in registers of 16 lanes comes out the same for fewer."""
    if not Isa.of(isa).runs_here:
        pytest.skip("no such registers")
    x = RNG.uniform(-9, 9, 1000).astype(np.float32)
    for name in ("tanh", "erf"):
        np.testing.assert_array_equal(apply(name, x, isa=isa), apply(name, x))


def test_widths_agree() -> None:
    x = RNG.uniform(-9, 9, 1000).astype(np.float32)
    for name in ("exp", "sin", "log", "erfc", "erfinv", "atanh"):
        found = [apply(name, x, isa=isa) for isa in WIDTHS]
        for other in found[1:]:
            np.testing.assert_array_equal(found[0], other)


@pytest.mark.parametrize("isa", WIDTHS)
def test_huge_angles(isa: str) -> None:
    x = (10.0 ** RNG.uniform(6, 38, 2000)).astype(np.float32)
    for name, function in (("sin", np.sin), ("cos", np.cos)):
        assert ulps(apply(name, x, isa=isa), function(x.astype(np.float64))) <= 4
    wide = np.array([6381956970095103.0 * 2.0**797, 1e22, 2.0**1023, 1e300])
    np.testing.assert_allclose(apply("sin", wide, isa=isa), [math.sin(v) for v in wide], rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_powers(dtype: type) -> None:
    x, y = RNG.uniform(0, 20, 50_000).astype(dtype), RNG.uniform(-20, 20, 50_000).astype(dtype)
    if dtype is np.float32:
        assert ulps(apply("pow", x, y), x.astype(np.float64) ** y.astype(np.float64)) <= 8
    else:
        np.testing.assert_allclose(apply("pow", x, y), x**y, rtol=1e-13)
    values = np.array([0.0, -0.0, 1, -1, 2, -2, 0.5, -0.5, 3, -3, np.inf, -np.inf, np.nan], dtype)
    a, b = (v.reshape(-1).copy() for v in np.meshgrid(values, values))
    with np.errstate(all="ignore"):
        exact = np.power(a.astype(np.float64), b.astype(np.float64))
    found = apply("pow", a, b)
    assert ulps(found, exact) <= 8
    named = np.isin(np.abs(exact), [0.0, 1.0, np.inf]) | np.isnan(exact)
    np.testing.assert_array_equal(found[named], exact[named].astype(dtype))
    plain = ~np.isnan(exact)
    np.testing.assert_array_equal(np.signbit(found)[plain], np.signbit(exact)[plain])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float_remainders(dtype: type) -> None:
    values = np.array([0.0, -0.0, 1, -1.5, 7, -7, 1e30, -1e-30, np.inf, -np.inf, np.nan, 3e-40], dtype)
    a, b = (v.reshape(-1).copy() for v in np.meshgrid(values, values))
    a = np.concatenate([a, RNG.uniform(-1e4, 1e4, 5000).astype(dtype)])
    b = np.concatenate([b, RNG.uniform(-9, 9, 5000).astype(dtype)])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(apply("fmod", a, b), np.fmod(a, b))
        np.testing.assert_array_equal(apply("floormod", a, b), np.remainder(a, b))
        np.testing.assert_array_equal(apply("floordiv", a, b), np.floor_divide(a, b))


@pytest.mark.parametrize("isa", WIDTHS)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_integer_division(dtype: str, isa: str) -> None:
    info = np.iinfo(dtype)
    ends = np.array([info.min, info.min + 1, 0, 1, 2, 7, info.max - 1, info.max, info.max // 2], dtype)
    ends = np.concatenate([ends, -ends]) if info.min < 0 else ends
    a, b = (v.reshape(-1).copy() for v in np.meshgrid(ends, ends))
    a, b = a[b != 0], b[b != 0]
    quotients = [_truncated(int(x), int(y), info) for x, y in zip(a, b, strict=True)]
    np.testing.assert_array_equal(apply("truncdiv", a, b, isa=isa), np.array(quotients, dtype))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(apply("floormod", a, b, isa=isa), np.remainder(a, b))
    apply("div", a, np.zeros_like(b), isa=isa, status=DIVISION_BY_ZERO)


def _truncated(a: int, b: int, info: np.iinfo) -> int:
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return info.min if quotient > info.max else quotient
