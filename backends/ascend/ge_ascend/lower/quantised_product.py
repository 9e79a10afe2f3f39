"""Products of integers: on the chip's integer operators where they may be used, else exact in floating point.

| form | default | with unconfirmed mappings |
|---|---|---|
| 8-bit weights, float operand, half precision | WeightQuantBatchMatmulV2 | the same |
| both quantised, half-precision result | that, or dequantised factors | QuantBatchMatmulV3, one scale |
| MatMulInteger | pieces short enough to be exact in float32 | MatMulV2 of int8, int32 result |
| ConvInteger | the same | Conv2D of int8, int32 result |
| products of int32, int64 | Mul and ReduceSum | the same |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ge_ascend.lower.call import LowerCall
from ge_ascend.lower.product import matrices
from ge_ascend.lower.registry import lowering
from ge_ascend.net import Out
from ge_ascend.prototypes import prototype
from ge_core.ir.dims import Size
from ge_core.ir.dtype import float16, float32, int8, int32, int64
from ge_core.ir.graph import Node, Value, constant_of

_EXACT = 1 << 24
"""Whole numbers below this are exact in float32."""


def fused_product(c: LowerCall) -> Out | None:
    """MatMul of quantised operands by one operator; None where none says the same."""
    weight = _factor(c.input(1))
    if weight is None or weight.data.rank != 2 or weight.data.dtype != int8:
        return None
    if constant_of(weight.data) is None or c.output_type().bits != 16 or c.rank() < 2:
        return None
    columns = weight.data.shape[1]
    if weight.scale.size not in (1, columns) or (weight.scale.size > 1 and weight.axis != 1):
        return None
    activation = _factor(c.input(0))
    if activation is not None and c.may_use("QLinearMatMul"):
        found = _both_quantised(c, activation, weight)
        if found is not None:
            return found
    return _weight_only(c, weight)


@dataclass(frozen=True)
class _Factor:
    """A dequantised operand: (data - zero) * scale, with constant scale and zero."""

    data: Value
    scale: np.ndarray
    zero: np.ndarray
    axis: int


def _factor(value: Value) -> _Factor | None:
    node: Node | None = value.producer
    if node is None or node.op != "DequantizeLinear" or node.attrs.get("block_size"):
        return None
    data, scale = node.input(0), constant_of(node.input(1))
    zero = constant_of(node.input(2))
    if data is None or scale is None or (node.input(2) is not None and zero is None):
        return None
    axis = node.attrs.get("axis", 1)
    if len(scale.type.shape or ()) > 1 or not isinstance(axis, int):
        return None
    numbers = scale.array().astype(np.float32).reshape(-1)
    zeros = np.zeros(1, np.int64) if zero is None else zero.array().astype(np.int64).reshape(-1)
    return _Factor(data, numbers, zeros, axis % max(data.rank, 1))


def _rows(c: LowerCall, out: Out, size: Size) -> Out:
    """The operand as a matrix."""
    return out if out.value.rank == 2 else c.reshape(out, [-1, size])


def _weight_only(c: LowerCall, weight: _Factor) -> Out | None:
    """WeightQuantBatchMatmulV2: (weight + offset) * scale in half precision, offset = -zero."""
    declared = prototype("WeightQuantBatchMatmulV2")
    if declared is None or not declared.on(c.engine.chip) or weight.zero.size not in (1, weight.scale.size):
        return None
    dtype = c.output_type()
    stored = constant_of(weight.data)
    assert stored is not None
    offset = c.const(np.broadcast_to(-weight.zero, weight.scale.shape), dtype) if np.any(weight.zero) else None
    y = c.op(
        "WeightQuantBatchMatmulV2", _rows(c, c.cast(c[0], dtype), c.shape()[-1]), c.taken(weight.data),
        c.const(weight.scale, dtype), offset,
    )  # fmt: skip
    c.note("form", "a product with 8-bit weights as WeightQuantBatchMatmulV2")
    return y if c.rank() == 2 else c.reshape(y, c.output_shape())


def _both_quantised(c: LowerCall, x: _Factor, weight: _Factor) -> Out | None:
    """QuantBatchMatmulV3: (x1 x2 + bias) * scale; a zero point of x becomes a bias, as the weights are constant."""
    declared = prototype("QuantBatchMatmulV3")
    if declared is None or not declared.on(c.engine.chip) or np.any(weight.zero) or x.scale.size != 1:
        return None
    if x.data.dtype.bits != 8 or x.zero.size != 1:
        return None
    stored = constant_of(weight.data)
    assert stored is not None
    zero, data = int(x.zero[0]), c.taken(x.data)
    if x.data.dtype != int8:
        zero -= 128
        data = c.cast(c.op("Sub", c.cast(data, int32), c.const(128, int32)), int8)
    sums = stored.array().astype(np.int64).sum(0)
    bias = c.const(-zero * sums, int32) if zero else None
    scale = (x.scale * weight.scale).astype(np.float32)
    given = c.const(scale) if c.engine.chip.kernels else c.const(scale.view(np.uint32).astype(np.uint64))
    dtype = c.output_type()
    y = c.ops(
        "QuantBatchMatmulV3", _rows(c, data, c.shape()[-1]), c.taken(weight.data), given, None, bias, None,
        dtype=dtype.ge_memory, dtypes={"y": dtype},
    )[0]  # fmt: skip
    c.note("form", "a product of 8-bit operands as QuantBatchMatmulV3")
    return y if c.rank() == 2 else c.reshape(y, c.output_shape())


def whole_product(c: LowerCall) -> Out:
    """A product of integers by Mul and ReduceSum: [..., M, K, 1] * [..., 1, K, N] summed over K."""
    a, b = c[0], c[1]
    if c.rank(0) == 1:
        a = c.reshape(a, [1, c.shape(0)[0]])
    if c.rank(1) == 1:
        b = c.reshape(b, [c.shape(1)[0], 1])
    a, b = c.op("Unsqueeze", a, axes=[a.value.rank]), c.op("Unsqueeze", b, axes=[b.value.rank - 2])
    y = c.op("Mul", a, b)
    y = c.op("ReduceSum", y, c.const([y.value.rank - 2], int64), keep_dims=False)
    c.note("form", "a product of integers by Mul and ReduceSum")
    return c.reshape(y, c.output_shape()) if 1 in (c.rank(0), c.rank(1)) else y


@lowering("MatMulInteger")
def matmul_integer(c: LowerCall) -> Out:
    """(A - a) (B - b) in int32: the numbers are exact in float16, and sums of short pieces in float32."""
    if c.rank(0) < 2 or c.rank(1) < 2:
        raise c.refuse("vectors", "give both operands two axes")
    plain = all(c.node.input(i) is None for i in (2, 3)) and all(c.input(i).dtype == int8 for i in (0, 1))
    if plain and c.may_use("MatMulInteger"):
        c.note("form", "MatMulInteger as a product of int8 with an int32 result")
        return matrices(c, c.as_is(0), c.as_is(1), to=int32)
    depth = c.shape(0)[-1]
    piece = _EXACT // (128 * 128 if plain else 255 * 255)
    if not isinstance(depth, int):
        raise c.refuse("along a size that is known at run time only")
    a = _shifted(c, 0, 2, column=True)
    b = _shifted(c, 1, 3, column=False)
    c.note("form", "MatMulInteger in pieces that float32 holds exactly")
    total: Out | None = None
    for start in range(0, depth, piece):
        end = min(start + piece, depth)
        left = _cut(c, a, a.value.rank - 1, start, end, depth)
        right = _cut(c, b, b.value.rank - 2, start, end, depth)
        part = matrices(c, left, right, to=float32)
        part = c.cast(part, int32)
        total = part if total is None else c.op("Add", total, part)
    if total is None:
        return c.op("BroadcastTo", c.const(0, int32), c.ints(c.output_shape()))
    return total


@lowering("ConvInteger")
def conv_integer(c: LowerCall) -> Out:
    """(x - a) * (w - b) in int32, over groups of channels whose sums float32 holds exactly."""
    from ge_ascend.lower.matmul import interleaved, window

    if c.rank() != 4:
        raise c.refuse(f"{c.rank() - 2} spatial axes")
    strides, dilations, pads = window(c, 2)
    formats = {"x": "NCHW", "filter": "NCHW", "y": "NCHW"}
    whole = all(c.node.input(i) is None for i in (2, 3)) and all(c.input(i).dtype == int8 for i in (0, 1))
    if whole and c.may_use("ConvInteger"):
        c.note("form", "ConvInteger as a convolution of int8 with an int32 result")
        return c.ops(
            "Conv2D", c.as_is(0), c.as_is(1), None, strides=[1, 1, *strides], dilations=[1, 1, *dilations],
            pads=interleaved(pads), groups=c.attr("group"), data_format="NCHW", formats=formats, dtypes={"y": int32},
        )[0]  # fmt: skip
    sizes = [size for size in c.shape(1)[1:] if isinstance(size, int)]
    if len(sizes) != 3:
        raise c.refuse("filters of a size that is known at run time only")
    channels, window_size = sizes[0], sizes[1] * sizes[2]
    piece = max(_EXACT // (255 * 255) // window_size, 1)
    if window_size * 255 * 255 >= _EXACT or (c.attr("group") != 1 and piece < channels):
        raise c.refuse("sums that float32 does not hold exactly")
    x, w = _shifted(c, 0, 2, column=False), _shifted(c, 1, 3, column=True)
    c.note("form", "ConvInteger in pieces that float32 holds exactly")
    total: Out | None = None
    for start in range(0, channels, piece):
        end = min(start + piece, channels)
        left = x if c.attr("group") != 1 else _cut(c, x, 1, start, end, channels)
        part = c.ops(
            "Conv2D", left, _cut(c, w, 1, start, end, channels), None, strides=[1, 1, *strides],
            dilations=[1, 1, *dilations], pads=interleaved(pads), groups=c.attr("group"), data_format="NCHW",
            formats=formats, dtypes={"y": float32},
        )[0]  # fmt: skip
        part = c.cast(part, int32)
        total = part if total is None else c.op("Add", total, part)
    assert total is not None
    return total


def _shifted(c: LowerCall, index: int, zero: int, *, column: bool) -> Out:
    """An 8-bit operand less its zero point, in float16, which holds every such difference."""
    out = c.cast(c.as_is(index), float16)
    if c.node.input(zero) is None:
        return out
    offset = c.cast(c.as_is(zero), float16)
    if c.rank(zero) == 1 and c.shape(zero)[0] != 1:
        rest = c.rank(index) - 1
        offset = c.reshape(offset, [-1, *[1] * rest] if c.node.op == "ConvInteger" else [-1, 1] if column else [1, -1])
    return c.op("Sub", out, offset)


def _cut(c: LowerCall, out: Out, axis: int, start: int, end: int, size: int) -> Out:
    if (start, end) == (0, size):
        return out
    return c.op("GatherV2", out, c.const(np.arange(start, end), int64), c.const(axis, int64))
