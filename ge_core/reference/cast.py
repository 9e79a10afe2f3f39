"""Conversion of element types, and the kernels Cast, CastLike and BitCast.

Float to integer truncates and saturates, NaN becomes 0; integer to integer wraps; anything but zero (NaN too) is
true. Floats round to even, straight from the source's value. 8-bit floats saturate as ONNX's table says.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

from ge_core.errors import ExecutionError
from ge_core.ir.dtype import DType, float32, float64, pack, unpack
from ge_core.ops.registry import kernel
from ge_core.reference.call import Call

Array = np.ndarray


def convert(x: Array, to: DType, *, saturate: bool = True, round_mode: str = "up") -> Array:
    """`x` with element type `to`; `x` itself when it has that type.

    Args:
        saturate: whether 8-bit floats saturate, see ONNX's Cast.
        round_mode: rounding to float8e8m0: up, down or nearest.

    Raises:
        ValueError: a string is no number.
    """
    source = DType.of(x.dtype)
    if source == to:
        return x
    if source.kind == "string":
        return convert(_parsed(x, to), to, saturate=saturate, round_mode=round_mode)
    if to.kind == "string":
        return _printed(x)
    if to.kind == "bool":
        return np.not_equal(widened(x), 0)
    if to.is_integer:
        return _to_integer(widened(x), to) if source.is_float else _wrapped(x, to)
    if to.is_float and source.kind != "complex":
        return _to_float(x, source, to, saturate, round_mode)
    return x.astype(to.numpy)


def widened(x: Array) -> Array:
    """`x` in a type that numpy computes in: floats of 16 bits and less as float32, integers under a byte as int8."""
    dtype = DType.of(x.dtype)
    if dtype.is_float and dtype.bits <= 16:
        return x.astype(np.float32)
    if dtype.is_integer and dtype.bits < 8:
        return x.astype(np.int8)
    return x


def _to_integer(x: Array, to: DType) -> Array:
    storage = np.dtype(np.int8) if to.bits < 8 else to.numpy
    low, limit = x.dtype.type(to.min), x.dtype.type(2.0 ** (to.bits - (to.kind == "int")))
    fits = (x > low - 1) & (x < limit) if to.bits < 32 else (x >= low) & (x < limit)
    if fits.all():
        return x.astype(storage).astype(to.numpy, copy=False)
    out = np.where(fits, x, 0).astype(storage)
    out[x >= limit] = to.max
    out[(x < low) & ~fits] = to.min
    return out.astype(to.numpy, copy=False)


def _wrapped(x: Array, to: DType) -> Array:
    x = widened(x)
    if to.bits >= 8:
        return x.astype(to.numpy)
    bits = x.astype(np.int8)
    unused = np.int8(8 - to.bits)
    kept = (bits << unused) >> unused if to.kind == "int" else bits & np.int8(to.max)
    return kept.astype(to.numpy)


def _to_float(x: Array, source: DType, to: DType, saturate: bool, round_mode: str) -> Array:
    if to in (float32, float64) or (to.name == "float16" and x.dtype.kind in "fiub"):
        return x.astype(to.numpy)
    exact = widened(x)
    if exact.dtype != np.float32:
        exact = _odd_float32(exact)
    if to.name == "float8e8m0":
        return _to_scale(exact, saturate, round_mode)
    if to.bits == 8 and saturate:
        top = np.float32(to.max)
        exact = np.where(np.isnan(exact), exact, np.clip(exact, -top, top))
    return exact.astype(to.numpy)


def _odd_float32(x: Array) -> Array:
    """x rounded to float32 so that rounding again to at most 22 bits gives what rounding x at once would give.

    Round to odd: truncate, and set the last bit when anything was lost (S. Boldo, G. Melquiond, 2008).
    """
    wide = x.astype(np.float64) if x.dtype.kind in "iub" else x
    near = wide.astype(np.float32)
    back = near.astype(np.float64)
    bits = near.view(np.uint32).copy()
    bits -= (np.abs(back) > np.abs(wide)).astype(np.uint32)
    bits |= ((back != wide) & np.isfinite(wide)).astype(np.uint32)
    return bits.view(np.float32)


def _to_scale(x: Array, saturate: bool, round_mode: str) -> Array:
    """Powers of two (float8e8m0): the byte is the biased exponent, 255 is NaN; the sign is ignored."""
    bits = x.view(np.uint32)
    exponent = ((bits >> np.uint32(23)) & np.uint32(255)).astype(np.int32)
    fraction = bits & np.uint32(0x7FFFFF)
    if round_mode == "up":
        step = fraction > 0
    elif round_mode == "nearest":
        step = (fraction > 0x400000) | ((fraction == 0x400000) & (exponent > 0))
    else:
        step = np.zeros(x.shape, np.bool_)
    special = exponent == 255
    exponent = exponent + (step & ~special)
    if saturate:
        exponent = np.where(special, 255, np.minimum(exponent, 254))
    return exponent.astype(np.uint8).view(ml_dtypes.float8_e8m0fnu)


def _parsed(x: Array, to: DType) -> Array:
    """Numbers from strings: decimal, scientific, INF, NaN in any case."""
    number = np.float64 if to.is_float or to.kind == "bool" else np.int64
    texts = [t.decode() if isinstance(t, bytes) else str(t) for t in x.reshape(-1).tolist()]
    if number is np.int64:
        return np.array([int(t) for t in texts], np.int64).reshape(x.shape)
    return np.array([float(t) for t in texts], np.float64).reshape(x.shape)


def _printed(x: Array) -> Array:
    """The shortest decimal text of each element."""
    wide = widened(x)
    out = np.empty(x.shape, np.object_)
    out.reshape(-1)[:] = [str(v) for v in wide.reshape(-1).astype(np.str_).tolist()]
    return out


@kernel("Cast", "CastLike")
def cast(call: Call, x: Array, like: Array | None = None) -> Array:
    try:
        return convert(x, call.dtype(), saturate=bool(call.attr("saturate")), round_mode=call.attr("round_mode", "up"))
    except ValueError as e:
        raise call.error(ExecutionError, f"a string is no number: {e}") from e


@kernel("BitCast")
def bit_cast(call: Call, x: Array) -> Array:
    source, to = DType.of(x.dtype), call.dtype()
    if to.bits < 8:
        return unpack(pack(x, source), to, x.shape)
    return np.ascontiguousarray(x).view(to.numpy).reshape(x.shape)
