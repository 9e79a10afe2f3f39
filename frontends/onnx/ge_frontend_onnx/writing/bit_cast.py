"""The bits of numbers as other numbers, by arithmetic, for opsets without BitCast."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ge_core.ir.builder import Builder
from ge_core.ir.dtype import DType, float64, int64
from ge_core.ir.graph import Node, Value
from ge_core.ops.decompositions.precision import cast, operand

from .forms import InexpressibleError
from .lowerings import lowers
from .sizes import Sizes
from .special_functions import is_negative

# Bits of the mantissa that are stored, and of the exponent.
_FORMS = {"float16": (10, 5), "bfloat16": (7, 8), "float32": (23, 8), "float64": (52, 11)}


@lowers("BitCast")
def bit_cast(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """Between integers of one width a cast, which keeps the bits; floats are taken apart and put together."""
    x, dtype = operand(node.inputs, 0), node.output.dtype
    for one in (x.dtype, dtype):
        if one.is_float and one.name not in _FORMS:
            raise InexpressibleError(f"the bits of {one}: this opset has no BitCast")
    bits = _bits(b, x) if x.dtype.is_float else x
    return [_number(b, cast(b, bits, int64), dtype) if dtype.is_float else cast(b, bits, dtype)]


def _powers(fraction: int, exponent: int) -> np.ndarray:
    """The unit in the last place for each stored exponent; that of 0 is that of 1."""
    bias = (1 << (exponent - 1)) - 1
    stored = np.maximum(np.arange((1 << exponent) - 1), 1)
    return np.ldexp(1.0, stored - bias - fraction)


def _number(b: Builder, bits: Value, dtype: DType) -> Value:
    """The float that bits in int64 are, exactly."""
    fraction, exponent = _FORMS[dtype.name]
    top = (1 << exponent) - 1
    rest = b.Mod(bits, np.int64(1 << fraction))
    stored = b.Mod(b.ge.FloorDiv(bits, np.int64(1 << fraction)), np.int64(1 << exponent))
    if dtype == float64:
        negative = b.Less(bits, np.int64(0))
    else:
        negative = b.Equal(b.Mod(b.ge.FloorDiv(bits, np.int64(1 << (dtype.bits - 1))), np.int64(2)), np.int64(1))
    ordinary, special = b.Less(np.int64(0), stored), b.Equal(stored, np.int64(top))
    whole = b.Where(ordinary, b.Add(rest, np.int64(1 << fraction)), rest)
    unit = b.Gather(b.constant(_powers(fraction, exponent)), b.Where(special, np.int64(0), stored), axis=0)
    size = b.Mul(b.Cast(whole, to=float64), unit)
    infinite = b.Where(b.Equal(rest, np.int64(0)), b.constant(np.inf, float64), b.constant(np.nan, float64))
    size = b.Where(special, infinite, size)
    return cast(b, b.Where(negative, b.Neg(size), size), dtype)


def _bits(b: Builder, x: Value) -> Value:
    """The bits of floats in int64; all NaN become the usual one."""
    fraction, exponent = _FORMS[x.dtype.name]
    top = (1 << exponent) - 1
    size, units = b.Abs(cast(b, x, float64)), _powers(fraction, exponent)
    # the stored exponent is how many powers of two, from the least ordinary number on, do not exceed the number
    steps = b.constant(units[1:] * 2.0**fraction)
    reached = b.Not(b.Less(b.Unsqueeze(size, b.ints(-1)), steps))
    stored = b.ReduceSum(b.Cast(reached, to="int64"), b.ints(-1), keepdims=0)
    finite = b.Not(b.Or(b.IsInf(size), b.IsNaN(size)))
    stored = b.Where(finite, stored, np.int64(0))
    whole = b.Div(b.Where(finite, size, b.constant(0.0, float64)), b.Gather(b.constant(units), stored, axis=0))
    rest = b.Sub(b.Cast(whole, to=int64), b.Where(b.Less(np.int64(0), stored), np.int64(1 << fraction), np.int64(0)))
    bits = b.Add(b.Mul(stored, np.int64(1 << fraction)), rest)
    infinite = b.constant(np.int64(top << fraction))
    bits = b.Where(b.IsInf(size), infinite, bits)
    bits = b.Where(b.IsNaN(size), b.Add(infinite, np.int64(1 << (fraction - 1))), bits)
    sign = np.int64(-(1 << 63)) if x.dtype == float64 else np.int64(1 << (x.dtype.bits - 1))
    return b.Where(is_negative(b, cast(b, x, float64)), b.Add(bits, sign), bits)
