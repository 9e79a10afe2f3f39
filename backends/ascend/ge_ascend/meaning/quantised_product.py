"""Products of quantised operands."""

from __future__ import annotations

import numpy as np

from ge_ascend.meaning.call import Call, Result, meaning
from ge_core.ir.dtype import float32, int32
from ge_core.ir.graph import Value, constant_of


def integer_product(c: Call, a: Value, b: Value) -> Value:
    """The int32 product of 8-bit operands."""
    if a.dtype.bits != 8 or b.dtype.bits != 8:
        raise c.error(f"integer operands {a.dtype}, {b.dtype} are not supported")
    result: Value = c.b.MatMulInteger(a, b)
    return result


def swapped(c: Call, x: Value, name: str) -> Value:
    """x with its last axes exchanged where an attribute says so."""
    if not c.attr(name):
        return x
    result: Value = c.b.Transpose(x, perm=[*range(x.rank - 2), x.rank - 1, x.rank - 2])
    return result


@meaning("QuantBatchMatmulV3")
def quant_batch_matmul(c: Call) -> Result:
    """QuantBatchMatmulV3(x1, x2, scale, offset, bias, pertoken_scale; dtype, transpose_x1, transpose_x2)

    An int32 bias is added to the sums, one of another type to the scaled result. Integer scales hold the bits of a
    float32 in their low half.
    """
    if c.get("offset") is not None or c.get("pertoken_scale") is not None:
        raise c.error("an offset or a scale per row is not supported")
    y = integer_product(c, swapped(c, c["x1"], "transpose_x1"), swapped(c, c["x2"], "transpose_x2"))
    bias = c.get("bias")
    if bias is not None and bias.dtype == int32:
        y = c.b.Add(y, bias)
    y = c.b.Mul(c.cast(y, float32), _scale(c))
    if bias is not None and bias.dtype != int32:
        y = c.b.Add(y, c.cast(bias, float32))
    wanted = c.dtype_attr("dtype")
    if not wanted.is_float:
        raise c.error(f"a result of {wanted} is not supported")
    return c.cast(y, wanted)


def _scale(c: Call) -> Value:
    given = c["scale"]
    if given.dtype.is_float:
        return c.cast(given, float32)
    stored = constant_of(given)
    if stored is None:
        raise c.error("a computed integer scale is not supported")
    bits = (stored.array().astype(np.uint64) & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    return c.b.constant(bits.view(np.float32))


@meaning("WeightQuantBatchMatmulV2")
def weight_quant_batch_matmul(c: Call) -> Result:
    """WeightQuantBatchMatmulV2(x, weight, antiquant_scale, antiquant_offset, ..., bias): x times
    (weight + offset) * scale, which is rounded to the type of x"""
    if c.attr("antiquant_group_size") or c.get("quant_scale") is not None or c.get("quant_offset") is not None:
        raise c.error("groups and quantised results are not supported")
    x, scale = c["x"], c["antiquant_scale"]
    wide = c.cast(c["weight"], float32)
    offset = c.get("antiquant_offset")
    if offset is not None:
        wide = c.b.Add(wide, c.cast(offset, float32))
    weight = c.cast(c.b.Mul(wide, c.cast(scale, float32)), x.dtype)
    y = c.b.MatMul(swapped(c, x, "transpose_x"), swapped(c, weight, "transpose_weight"))
    bias = c.get("bias")
    if bias is not None:
        y = c.b.Add(y, c.cast(bias, y.dtype))
    return c.as_stated(y)
