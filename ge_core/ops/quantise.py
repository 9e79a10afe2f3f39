"""Type rules of quantisation.

Scales and zero points are scalars (per tensor), vectors along `axis` (per axis), or of the data's rank with one
number for each block of `block_size` elements along `axis` (blocked).
"""

from __future__ import annotations

from ge_core.ir import dims
from ge_core.ir.dtype import DType, float32, uint8
from ge_core.ir.types import TensorType
from ge_core.ops.infer import Infer
from ge_core.ops.registry import type_rule


def _check_scales(c: Infer) -> None:
    """Shapes of scale and zero point fit the data."""
    x, scale = c.shape(0), c.shape(1)
    block = c.attr("block_size")
    if c.has(2):
        zero = c.shape(2)
        scalars = {scale, zero} <= {(), (1,)}
        fits = len(zero) == len(scale) and all(dims.equal(a, b) is not False for a, b in zip(zero, scale, strict=True))
        if not scalars and not fits:
            raise c.error(f"scale has shape {list(scale)}, zero point {list(zero)}")
    if block < 0:
        raise c.error(f"block_size is {block}, expected 0 or more")
    if not scale or scale == (1,):
        return
    axis = c.axis("axis", len(x))
    if not block:
        if len(scale) != 1:
            raise c.error(f"a scale of rank {len(scale)} needs block_size")
        c.merge(scale[0], x[axis], "the sizes of the scale and of the quantised axis")
        return
    if len(scale) != len(x):
        raise c.error(f"blocked scales have the data's rank {len(x)}, got {len(scale)}")
    for i, (a, b) in enumerate(zip(scale, x, strict=True)):
        c.merge(a, dims.ceildiv(b, block) if i == axis else b, "sizes of scales and blocks")


@type_rule("QuantizeLinear")
def quantize_linear(c: Infer) -> TensorType:
    _check_scales(c)
    wanted: DType | None = c.attr("output_dtype")
    dtype = c.dtype(2) if c.has(2) else wanted or uint8
    if wanted is not None and wanted != dtype:
        raise c.error(f"output_dtype is {wanted}, the zero point {dtype}")
    if not (dtype.is_integer and dtype.bits <= 16) and not (dtype.is_float and dtype.bits <= 8):
        raise c.error(f"does not quantise to {dtype}")
    return TensorType(dtype, c.shape(0))


@type_rule("DequantizeLinear")
def dequantize_linear(c: Infer) -> TensorType:
    _check_scales(c)
    if c.has(2) and c.dtype(2) != c.dtype(0):
        raise c.error(f"zero point is {c.dtype(2)}, the data {c.dtype(0)}")
    dtype: DType = c.attr("output_dtype") or c.dtype(1)
    if not dtype.is_float:
        raise c.error(f"dequantises to floating-point types, not {dtype}")
    return TensorType(dtype, c.shape(0))


@type_rule("DynamicQuantizeLinear")
def dynamic_quantize_linear(c: Infer) -> list[TensorType]:
    return [TensorType(uint8, c.tensor(0).shape), TensorType(float32, ()), TensorType(uint8, ())]
