"""Operators that other writers use and that are a few operators of the IR; the lowering writes those instead."""

from __future__ import annotations

from functools import partial

import numpy as np

from ge_ascend.meaning.call import Call, Result, meaning
from ge_ascend.meaning.image import average_window, layout_of, pads_of
from ge_ascend.meaning.matmul import channels_back, channels_first, onnx_pads, operands, window
from ge_core.ir.dtype import float32, int32, int64
from ge_core.ir.graph import Value

_ALIKE = {"AddV2": "Add", "Inv": "Reciprocal", "Rint": "Round"}
"""Older names of operators."""


def _alike(c: Call, op: str) -> Result:
    result: Value = c.b.op(op, *c.inputs.values())
    return result


for _type, _op in _ALIKE.items():
    meaning(_type)(partial(_alike, op=_op))


def _number(c: Call, value: float, like: Value) -> Value:
    result: Value = c.b.constant(np.array(value, like.dtype.numpy))
    return result


@meaning("BiasAdd")
def bias_add(c: Call) -> Result:
    """BiasAdd(x, bias; data_format): along the channels"""
    x, bias = c["x"], c["bias"]
    layout = c.formats.get("x", "ND")
    layout = str(c.attr("data_format")) if layout == "ND" else layout
    if layout[-1] != "C" and x.rank > 2:
        bias = c.b.Reshape(bias, c.b.ints(-1, *[1] * (x.rank - 2)))
    result: Value = c.b.Add(x, c.cast(bias, x.dtype))
    return result


@meaning("DepthwiseConv2D")
def depthwise(c: Call) -> Result:
    """DepthwiseConv2D(x, filter, bias; strides, dilations, pads, data_format): results of a channel are neighbours.

    In format HWCN the filter is [height, width, channels, results per channel].
    """
    if c.get("offset_w") is not None or c["x"].dtype.is_integer:
        raise c.error("quantised convolutions are not supported")
    layout, form = layout_of(c), c.formats.get("filter", "ND")
    x, w, bias = operands(c, "x", "filter", "bias")
    assert x is not None and w is not None
    order = {"HWCN": [2, 3, 0, 1], "NCHW": [1, 0, 2, 3]}.get(form)
    if order is None or (form == "NCHW" and w.shape[0] != 1):
        raise c.error(f"a filter {w.type} of format {form} is not supported")
    w = c.b.Transpose(w, perm=order)
    channels = w.shape[0]
    if not isinstance(channels, int):
        raise c.error("a number of channels that is known at run time only is not supported")
    w = c.b.Reshape(w, c.b.ints(-1, 1, *w.shape[2:]))
    y = c.b.Conv(
        channels_first(c, x, layout), w, None if bias is None else c.cast(bias, x.dtype),
        strides=window(c, layout, "strides"), dilations=window(c, layout, "dilations"),
        pads=onnx_pads(list(c.attr("pads"))), group=channels,
    )  # fmt: skip
    return c.as_stated(channels_back(c, y, layout))


@meaning("MaxPool")
def max_pool(c: Call) -> Result:
    """MaxPool(x; ksize, strides, padding, data_format): the padding is SAME or VALID"""
    layout = layout_of(c)
    y = c.b.MaxPool(
        channels_first(c, c["x"], layout), kernel_shape=window(c, layout, "ksize"),
        strides=window(c, layout, "strides"), **pads_of(c, layout, c.attr("padding")),
    )  # fmt: skip
    return channels_back(c, y, layout)


@meaning("AvgPool")
def avg_pool(c: Call) -> Result:
    """AvgPool(x; ksize, strides, padding, data_format): padding does not count"""
    layout = layout_of(c)
    x = channels_first(c, c["x"], layout)
    return channels_back(c, average_window(c, x, layout, c.attr("padding"), include=False), layout)


@meaning("GlobalAveragePool")
def global_average_pool(c: Call) -> Result:
    """GlobalAveragePool(x)"""
    layout = c.formats.get("x", "NCHW")
    layout = "NCHW" if layout == "ND" else layout
    return channels_back(c, c.b.GlobalAveragePool(channels_first(c, c["x"], layout)), layout)


@meaning("Relu6")
def relu6(c: Call) -> Result:
    """Relu6(x): between 0 and 6"""
    x = c["x"]
    result: Value = c.b.Min(c.b.Max(x, _number(c, 0, x)), _number(c, 6, x))
    return result


@meaning("ClipByValueV2")
def clip(c: Call) -> Result:
    """ClipByValueV2(x, clip_value_min, clip_value_max)"""
    result: Value = c.b.Min(c.b.Max(c["x"], c["clip_value_min"]), c["clip_value_max"])
    return result


@meaning("HardShrink")
def hard_shrink(c: Call) -> Result:
    """HardShrink(input_x; lambd)"""
    result: Value = c.b.Shrink(c["input_x"], lambd=c.attr("lambd"), bias=0.0)
    return result


@meaning("SoftShrink")
def soft_shrink(c: Call) -> Result:
    """SoftShrink(input_x; lambd): what is left is nearer to 0 by lambd"""
    result: Value = c.b.Shrink(c["input_x"], lambd=c.attr("lambd"), bias=c.attr("lambd"))
    return result


def _filled(c: Call, value: float) -> Result:
    """ZerosLike(x), OnesLike(x)"""
    result: Value = c.b.Expand(_number(c, value, c["x"]), c.b.Shape(c["x"]))
    return result


for _type, _value in {"ZerosLike": 0.0, "OnesLike": 1.0}.items():
    meaning(_type)(partial(_filled, value=_value))


@meaning("SquaredDifference")
def squared_difference(c: Call) -> Result:
    """SquaredDifference(x1, x2)"""
    found = c.b.Sub(c["x1"], c["x2"])
    result: Value = c.b.Mul(found, found)
    return result


@meaning("Axpy")
def axpy(c: Call) -> Result:
    """Axpy(x1, x2; alpha): x1 + alpha x2"""
    result: Value = c.b.Add(c["x1"], c.b.Mul(c["x2"], _number(c, c.attr("alpha"), c["x2"])))
    return result


@meaning("AxpyV2")
def axpy_v2(c: Call) -> Result:
    """AxpyV2(x1, x2, alpha): x1 + alpha x2"""
    result: Value = c.b.Add(c["x1"], c.b.Mul(c["x2"], c.cast(c["alpha"], c["x2"].dtype)))
    return result


@meaning("Lerp")
def lerp(c: Call) -> Result:
    """Lerp(start, end, weight): start + weight (end - start)"""
    result: Value = c.b.Add(c["start"], c.b.Mul(c["weight"], c.b.Sub(c["end"], c["start"])))
    return result


def _addc(c: Call, op: str) -> Result:
    """Addcmul(input_data, x1, x2, value): input_data + value (x1 * x2); Addcdiv divides"""
    found = c.b.op(op, c["x1"], c["x2"])
    result: Value = c.b.Add(c["input_data"], c.b.Mul(c.cast(c["value"], found.dtype), found))
    return result


for _type, _op in {"Addcmul": "Mul", "Addcdiv": "Div"}.items():
    meaning(_type)(partial(_addc, op=_op))


def _zero_where(c: Call, port: str, found: Value) -> Value:
    """0 where an operand is 0, else what was computed."""
    operand = c[port]
    result: Value = c.b.Where(c.b.Equal(operand, _number(c, 0, operand)), _number(c, 0, found), found)
    return result


@meaning("DivNoNan")
def div_no_nan(c: Call) -> Result:
    """DivNoNan(x1, x2): 0 where x2 is 0"""
    if not c["x1"].dtype.is_float:
        raise c.error("only floating-point numbers are supported")
    return _zero_where(c, "x2", c.b.Div(c["x1"], c["x2"]))


@meaning("Xdivy")
def xdivy(c: Call) -> Result:
    """Xdivy(x1, x2): 0 where x1 is 0"""
    return _zero_where(c, "x1", c.b.Div(c["x1"], c["x2"]))


@meaning("Xlogy")
def xlogy(c: Call) -> Result:
    """Xlogy(x1, x2): x1 log x2, 0 where x1 is 0"""
    return _zero_where(c, "x1", c.b.Mul(c["x1"], c.b.Log(c["x2"])))


@meaning("Select")
def select(c: Call) -> Result:
    """Select(condition, x1, x2): a vector chooses rows"""
    condition, rank = c["condition"], c["x1"].rank
    if condition.rank == 1 and rank > 1:
        condition = c.b.Reshape(condition, c.b.ints(-1, *[1] * (rank - 1)))
    result: Value = c.b.Where(condition, c["x1"], c["x2"])
    return result


@meaning("MaskedFill")
def masked_fill(c: Call) -> Result:
    """MaskedFill(x, mask, value)"""
    value = c.cast(c["value"], c["x"].dtype)
    value = value if value.rank == 0 else c.b.Reshape(value, c.b.ints([]))
    result: Value = c.b.Where(c["mask"], value, c["x"])
    return result


@meaning("Where")
def where(c: Call) -> Result:
    """Where(x): the places of what is not 0, a row each"""
    result: Value = c.b.Transpose(c.b.NonZero(c["x"]), perm=[1, 0])
    return result


@meaning("Rank")
def rank(c: Call) -> Result:
    """Rank(x), in int32"""
    return c.cast(c.b.Size(c.b.Shape(c["x"])), int32)


@meaning("GatherD")
def gather_d(c: Call) -> Result:
    """GatherD(x, dim, index): an element for each index, along an axis"""
    (axis,) = c.numbers("dim")
    result: Value = c.b.GatherElements(c["x"], c["index"], axis=axis)
    return result


@meaning("Concat")
def concat(c: Call) -> Result:
    """Concat(concat_dim, x0, x1, ...; N)"""
    (axis,) = c.numbers("concat_dim")
    result: Value = c.b.Concat(c.dynamic("x"), axis=axis)
    return result


@meaning("SqueezeV2")
def squeeze_v2(c: Call) -> Result:
    """SqueezeV2(x; axis)"""
    axes = [int(a) for a in c.attr("axis")]
    result: Value = c.b.Squeeze(c["x"], c.b.ints(*axes) if axes else None)
    return result


@meaning("UnsqueezeV2")
def unsqueeze_v2(c: Call) -> Result:
    """UnsqueezeV2(x; axis)"""
    result: Value = c.b.Unsqueeze(c["x"], c.b.ints(*(int(a) for a in c.attr("axis"))))
    return result


@meaning("FlattenV2")
def flatten_v2(c: Call) -> Result:
    """FlattenV2(x; axis, end_axis): the axes from one to the other become one"""
    x = c["x"]
    first, last = c.attr("axis") % x.rank, c.attr("end_axis") % x.rank
    if first > last:
        raise c.error(f"the axes {first} to {last}")
    sizes = [*x.shape[:first], -1, *x.shape[last + 1 :]]
    result: Value = c.b.Reshape(x, c.b.ints(*sizes))
    return result


@meaning("Einsum")
def einsum(c: Call) -> Result:
    """Einsum(x0, x1, ...; equation, N)"""
    result: Value = c.b.Einsum(c.dynamic("x"), equation=c.attr("equation"))
    return result


@meaning("Roll")
def roll(c: Call) -> Result:
    """Roll(x; shifts, dims): without dims all elements move as one row"""
    x, dims = c["x"], [int(d) for d in c.attr("dims")]
    shifts = [int(s) for s in c.attr("shifts")]
    if not dims and len(shifts) == 1:
        flat = _rolled(c, c.b.Reshape(x, c.b.ints(-1)), shifts[0], 0)
        result: Value = c.b.Reshape(flat, c.b.Shape(x))
        return result
    if len(dims) != len(shifts):
        raise c.error(f"{len(shifts)} shifts of {len(dims)} axes")
    for shift, axis in zip(shifts, dims, strict=True):
        x = _rolled(c, x, shift, axis % x.rank)
    return x


def _rolled(c: Call, x: Value, shift: int, axis: int) -> Value:
    size = x.shape[axis]
    if not isinstance(size, int):
        raise c.error("along a size that is known at run time only")
    order = (np.arange(size) - shift) % max(size, 1)
    result: Value = c.b.Gather(x, c.b.constant(order.astype(np.int64)), axis=axis)
    return result


@meaning("AddLayerNorm")
def add_layer_norm(c: Call) -> Result:
    """AddLayerNorm(x1, x2, gamma, beta, bias; epsilon) -> y, mean, rstd, x, over the last axis"""
    x = c.b.Add(c["x1"], c["x2"])
    bias = c.get("bias")
    x = x if bias is None else c.b.Add(x, bias)
    wide, last = c.cast(x, float32), c.b.ints(-1)
    mean = c.b.ReduceMean(wide, last, keepdims=1)
    centred = c.b.Sub(wide, mean)
    variance = c.b.ReduceMean(c.b.Mul(centred, centred), last, keepdims=1)
    rstd = c.b.ge.Rsqrt(c.b.Add(variance, c.attr("epsilon")))
    y = c.b.LayerNormalization(
        x, c.cast(c["gamma"], x.dtype), c.cast(c["beta"], x.dtype), axis=-1, epsilon=c.attr("epsilon")
    )
    return [y, mean, rstd, x]


def _spread(c: Call, root: bool) -> Result:
    """ReduceVar(x; dim, correction, keepdim, is_mean_out) -> var, mean; ReduceStdV2 gives the root of it"""
    x, axes = c["x"], [int(a) % c["x"].rank for a in c.attr("dim")] or list(range(c["x"].rank))
    where, sizes = c.b.ints(*axes), [x.shape[a] for a in axes]
    count = 1
    for size in sizes:
        if not isinstance(size, int):
            raise c.error("over a size that is known at run time only")
        count *= size
    wide = c.cast(x, float32)
    mean = c.b.ReduceMean(wide, where, keepdims=1)
    centred = c.b.Sub(wide, mean)
    total = c.b.ReduceSum(c.b.Mul(centred, centred), where, keepdims=1)
    found = c.b.Div(total, float(max(count - c.attr("correction"), 0)))
    results = [c.b.Sqrt(found) if root else found, mean]
    if not c.attr("keepdim"):
        results = [c.b.Squeeze(value, where) for value in results]
    return [c.cast(value, x.dtype) for value in results]


for _type, _root in {"ReduceVar": False, "ReduceStdV2": True}.items():
    meaning(_type)(partial(_spread, root=_root))


@meaning("MatrixBandPart")
def matrix_band_part(c: Call) -> Result:
    """MatrixBandPart(x, num_lower, num_upper): a negative number keeps that whole triangle"""
    x = c["x"]
    (lower,), (upper,) = c.numbers("num_lower"), c.numbers("num_upper")
    if upper >= 0:
        x = c.b.Trilu(x, c.b.constant(np.array(upper, int64.numpy)), upper=0)
    if lower >= 0:
        x = c.b.Trilu(x, c.b.constant(np.array(-lower, int64.numpy)), upper=1)
    return x
