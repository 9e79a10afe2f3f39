"""Every element type in registers: all codes in, and floats rounded as numpy and ml_dtypes round them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from ge_backend_cpu.emit import Function
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Kernel, family
from ge_core.ir.dtype import DTYPES, DType, pack
from tests.backends.cpu.calling import call

F32 = DType.of("float32")
ISAS = ["x86-64-v3", "x86-64-v4", "x86-64-v3/4"]
FLOATS = [d for d in DTYPES if d.is_float]
# kernels do not write float8e8m0
WHOLE = [d for d in DTYPES if d.bits >= 8 and d.kind not in ("complex", "string") and d.name != "float8e8m0"]
RNG = np.random.default_rng(11)


@family("convert.test")
def emit(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Elements [0, n) of one type to another: whole vectors, then a part of one (or single elements)."""
    f = Function(module, symbol, isa, 2, ("n",))
    a, b, width = DType.of(parameters["from"]), DType.of(parameters["to"]), isa.lanes
    x, y, n = *f.operands, f.params["n"]
    full = f.mul(f.div(n, width), width)
    with f.loop(0, full, width) as loop:
        f.store(f.load(x, loop.index, a, width), y, loop.index, b)
    if a.bits >= 8:
        rest = f.sub(n, full)
        f.store_part(f.load_part(x, full, a, width, rest), y, full, b, rest)
    else:
        with f.loop(full, n) as loop:
            f.store(f.load(x, loop.index, a), y, loop.index, b)
    f.finish()


def convert(given: np.ndarray, source: DType, target: DType, isa: Isa) -> np.ndarray:
    raw = np.frombuffer(pack(given, source), np.uint8)
    got = np.zeros(given.size + 9, target.numpy)
    kernel = Kernel("convert.test", {"from": source.name, "to": target.name})
    assert call(kernel, isa, [raw, got], (given.size,)) == 0
    assert not got[given.size :].astype(np.float32).any()  # the part of a vector wrote no further
    return got[: given.size]


def bits(array: np.ndarray) -> np.ndarray:
    return array.view(f"u{array.dtype.itemsize}")


def same(got: np.ndarray, want: np.ndarray) -> None:
    nan = np.isnan(want.astype(np.float32))
    assert np.isnan(got.astype(np.float32))[nan].all()
    assert np.array_equal(bits(got)[~nan], bits(want)[~nan])


def usable(name: str) -> Isa:
    isa = Isa.of(name)
    if not isa.runs_here:
        pytest.skip(f"this machine has no {name}")
    return isa


@pytest.mark.parametrize("name", ISAS)
@pytest.mark.parametrize("dtype", [d for d in FLOATS if d.bits < 32], ids=str)
def test_every_code_widens(dtype: DType, name: str) -> None:
    codes = np.arange(1 << dtype.bits).astype(np.uint8 if dtype.bits <= 8 else np.uint16).view(dtype.numpy)
    same(convert(codes, dtype, F32, usable(name)), codes.astype(np.float32))


@pytest.mark.parametrize("name", ISAS)
@pytest.mark.parametrize("dtype", [d for d in FLOATS if 8 <= d.bits < 32 and d.name != "float8e8m0"], ids=str)
def test_floats_round_to_the_nearest(dtype: DType, name: str) -> None:
    codes = np.arange(1 << dtype.bits).astype(np.uint8 if dtype.bits == 8 else np.uint16).view(dtype.numpy)
    with np.errstate(all="ignore"):
        known = codes.astype(np.float32)
        between = ((known[:-1].astype(np.float64) + known[1:]) / 2).astype(np.float32)
        x = np.concatenate(
            [
                RNG.standard_normal(20000).astype(np.float32) * 10.0 ** RNG.integers(-30, 30, 20000),
                RNG.integers(0, 1 << 32, 50000, dtype=np.uint64).astype(np.uint32).view(np.float32),
                known,
                between,
                np.nextafter(known, np.float32(0)),
                np.nextafter(between, np.float32(np.inf)),
                np.float32([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, 3.4e38]),
            ]
        ).astype(np.float32)
        same(convert(x, F32, dtype, usable(name)), x.astype(dtype.numpy))


@pytest.mark.parametrize("dtype", WHOLE, ids=str)
@pytest.mark.parametrize("size", [1, 15, 16, 33])
def test_every_type_passes_through(dtype: DType, size: int) -> None:
    raw = RNG.integers(0, 2 if dtype.kind == "bool" else 256, size * dtype.bits // 8, np.uint8)
    given = raw.view(dtype.numpy)
    for name in ("x86-64-v3", "x86-64-v3/4"):
        got = convert(given, dtype, dtype, usable(name))
        nan = np.isnan(given.astype(np.float64)) if dtype.is_float else np.zeros(size, bool)
        assert np.array_equal(bits(got)[~nan], bits(given)[~nan])
        assert np.isnan(got.astype(np.float64))[nan].all() if nan.any() else True


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d.bits < 8 and d.is_integer], ids=str)
def test_small_integers_unpack(dtype: DType) -> None:
    lo, hi = int(dtype.min), int(dtype.max)
    given = np.array([*range(lo, hi + 1)] * 3 + [lo], np.int8).astype(dtype.numpy)
    wide = DType.of("int8" if dtype.kind == "int" else "uint8")
    got = convert(given, dtype, wide, usable("x86-64-v3"))
    assert np.array_equal(got, given.astype(wide.numpy))
