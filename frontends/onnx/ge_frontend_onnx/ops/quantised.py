"""Quantised operators as QDQ: dequantise, compute in floats, quantise. Backends form them again."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ge_core.ir.graph import Value

from ..call import Call
from ..registry import Results, converts, direct
from .fused_activation import with_bias
from .fused_conv import channels_first, channels_last

_MS = "com.microsoft"


def dequantised(c: Call, index: int, axis: int | None = None) -> Value:
    """Inputs `index`, its scale and its zero point behind it, as floats."""
    return _dequantised(c, c.input(index), c.input(index + 1), c.optional(index + 2), axis)


def _dequantised(c: Call, x: Value, scale: Value, zero: Value | None, axis: int | None) -> Value:
    """Floats of a quantised value; a scale of one element counts for all of them."""
    scale, zero = _one(c, scale), None if zero is None else _one(c, zero)
    value: Value = c.b.DequantizeLinear(x, scale, zero, axis=axis if c.rank(scale) else None)
    return value


def quantised(c: Call, y: Value, index: int) -> Value:
    """`y` quantised with the scale at input `index` and the zero point behind it; uint8 without one."""
    zero = c.optional(index + 1)
    value: Value = c.b.QuantizeLinear(y, _one(c, c.input(index)), None if zero is None else _one(c, zero))
    return value


def _one(c: Call, x: Value) -> Value:
    """A vector of one element as a scalar; anything else as it is."""
    return c.reshape(x, ()) if x.tensor.shape == (1,) else x


@converts("QLinearConv")
def qlinear_conv(c: Call) -> Results:
    """QLinearConv(T1 x, float x_scale, T1 x_zero_point, T2 w, float w_scale, T2 w_zero_point, float y_scale,
    T3 y_zero_point, T4 B?) -> (T3 y); Conv's
    """
    return _conv(c, c.attrs)


@converts("QLinearConv", domain=_MS)
def qlinear_conv_channels_last(c: Call) -> Results:
    """QLinearConv(T1 x, ...) -> (T3 y); as in ONNX, and channels_last"""
    attrs = {name: value for name, value in c.attrs.items() if name != "channels_last"}
    return _conv(c, attrs, last=bool(c.attr("channels_last", 0)))


def _conv(c: Call, attrs: dict[str, object], last: bool = False) -> Value:
    b = c.b
    x, w, bias = dequantised(c, 0), dequantised(c, 3, axis=0), c.optional(8)
    if bias is not None:
        # the bias counts in steps of x_scale * w_scale
        step = b.Mul(_one(c, c.input(1)), _one(c, c.input(4)))
        bias = _dequantised(c, bias, step, None, 0)
    y = b.Conv(channels_first(c, x) if last else x, w, bias, **attrs)
    return quantised(c, channels_last(c, y) if last else y, 6)


@converts("QLinearMatMul")
def qlinear_matmul(c: Call) -> Results:
    """QLinearMatMul(T1 a, TS a_scale, T1 a_zero_point, T2 b, TS b_scale, T2 b_zero_point, TS y_scale,
    T3 y_zero_point) -> (T3 y)
    """
    if any(c.rank(_one(c, c.input(i))) > 1 for i in (1, 4, 6)) or c.rank(_one(c, c.input(6))):
        return direct(c)  # scales for each matrix of a stack
    a, b = dequantised(c, 0, axis=-2), dequantised(c, 3, axis=-1)
    return quantised(c, c.b.MatMul(a, b), 6)


@converts("QGemm", domain=_MS)
def qgemm(c: Call) -> Results:
    """QGemm(TA A, T a_scale, TA a_zero_point, TB B, T b_scale, TB b_zero_point, TC C?, T y_scale?, TYZ y_zero_point?)
    -> (TY Y); alpha, transA, transB
    """
    b, alpha = c.b, c.attr("alpha", 1.0)
    a, w = dequantised(c, 0), dequantised(c, 3, axis=0 if c.attr("transB", 0) else 1)
    bias = c.optional(6)
    if bias is not None:
        step = b.Mul(b.Mul(_one(c, c.input(1)), _one(c, c.input(4))), c.scalar(alpha, a.dtype))
        bias = _dequantised(c, bias, step, None, c.rank(bias) - 1)
    y = b.Gemm(a, w, bias, alpha=alpha, transA=c.attr("transA", 0), transB=c.attr("transB", 0))
    return quantised(c, y, 7) if c.has(7) else y


@converts("MatMulIntegerToFloat", domain=_MS)
def matmul_integer_to_float(c: Call) -> Results:
    """MatMulIntegerToFloat(T1 A, T2 B, T3 a_scale, T3 b_scale, T1 a_zero_point?, T2 b_zero_point?, T3 bias?)
    -> (T3 Y)
    """
    a = _dequantised(c, c.input(0), c.input(2), c.optional(4), -2)
    b = _dequantised(c, c.input(1), c.input(3), c.optional(5), -1)
    return with_bias(c, c.b.MatMul(a, b), c.optional(6))


@converts("DynamicQuantizeMatMul", domain=_MS)
def dynamic_quantize_matmul(c: Call) -> Results:
    """DynamicQuantizeMatMul(T1 A, T2 B, T1 b_scale, T2 b_zero_point?, T1 bias?) -> (T1 Y)"""
    a = rounded(c, c.input(0))
    b = _dequantised(c, c.input(1), c.input(2), c.optional(3), -1)
    return with_bias(c, c.b.MatMul(a, b), c.optional(4))


def rounded(c: Call, x: Value) -> Value:
    """`x` rounded to 8 bits over its own range, as floats."""
    y, scale, zero = c.b.DynamicQuantizeLinear(x)
    value: Value = c.b.DequantizeLinear(y, scale, zero)
    return value


def _binary(op: str) -> Callable[[Call], Results]:
    def convert(c: Call) -> Results:
        return quantised(c, c.b.op(op, dequantised(c, 0), dequantised(c, 3)), 6)

    convert.__doc__ = (
        f"QLinear{op}(T A, float A_scale, T A_zero_point?, T B, ..., float C_scale, T C_zero_point?) -> (T C)"
    )
    return convert


for _op in ("Add", "Mul"):
    converts(f"QLinear{_op}", domain=_MS)(_binary(_op))


@converts("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax", domain=_MS)
def qlinear_unary(c: Call) -> Results:
    """QLinearSigmoid(T X, float X_scale, T X_zero_point?, float Y_scale, T Y_zero_point?) -> (T Y); the operator's"""
    b, x = c.b, dequantised(c, 0)
    if c.op == "QLinearSigmoid":
        y = b.Sigmoid(x)
    elif c.op == "QLinearLeakyRelu":
        y = b.LeakyRelu(x, alpha=c.attr("alpha", 0.01))
    elif c.attr("opset", 13) >= 13:
        y = b.Softmax(x, axis=c.attr("axis", -1))
    else:
        y = b.Reshape(b.Softmax(b.Flatten(x, axis=c.attr("axis", 1)), axis=-1), c.shape_of(x), allowzero=1)
    return quantised(c, y, 3)


@converts("QLinearReduceMean", domain=_MS)
def qlinear_reduce_mean(c: Call) -> Results:
    """QLinearReduceMean(T data, float data_scale, T data_zero_point?, float reduced_scale, T reduced_zero_point?) ->
    (T reduced); axes, keepdims
    """
    y = c.b.ReduceMean(dequantised(c, 0), c.b.ints(c.needed("axes")), keepdims=c.attr("keepdims", 1))
    return quantised(c, y, 3)


@converts("QLinearAveragePool", "QLinearGlobalAveragePool", domain=_MS)
def qlinear_average_pool(c: Call) -> Results:
    """QLinearAveragePool(T X, float x_scale, T x_zero_point?, float y_scale, T y_zero_point?) -> (T Y); channels_last,
    AveragePool's
    """
    last = bool(c.attr("channels_last", 0))
    attrs = {name: value for name, value in c.attrs.items() if name != "channels_last"}
    x = dequantised(c, 0)
    x = channels_first(c, x) if last else x
    y = c.b.op(c.op.removeprefix("QLinear"), x, **attrs)
    return quantised(c, channels_last(c, y) if last else y, 3)


@converts("QLinearConcat", domain=_MS)
def qlinear_concat(c: Call) -> Results:
    """QLinearConcat(TF Y_scale, T8 Y_zero_point, TV inputs, ...) -> (T8 Y); axis: x, scale, zero point each"""
    parts = [dequantised(c, i) for i in range(2, len(c.inputs), 3)]
    return quantised(c, c.b.Concat(parts, axis=c.needed("axis")), 0)


@converts("QLinearWhere", domain=_MS)
def qlinear_where(c: Call) -> Results:
    """QLinearWhere(B condition, T X, TF x_scale, T x_zero_point, T Y, TF y_scale, T y_zero_point, TF z_scale,
    T z_zero_point) -> (T Z)
    """
    return quantised(c, c.b.Where(c.input(0), dequantised(c, 1), dequantised(c, 4)), 7)


@converts("DequantizeLinear", domain=_MS)
def dequantize_linear(c: Call) -> Results:
    """DequantizeLinear(T1 x, T2 x_scale, T1 x_zero_point?) -> (T2 y); axis"""
    return dequantised(c, 0, axis=c.attr("axis", 1))


@converts("QuantizeLinear", domain=_MS)
def quantize_linear(c: Call) -> Results:
    """QuantizeLinear(T1 x, T1 y_scale, T2 y_zero_point?) -> (T2 y); axis"""
    operands: Sequence[Value | None] = [None if v is None else _one(c, v) for v in c.inputs]
    scale = operands[1]
    assert scale is not None
    return c.b.QuantizeLinear(*operands, axis=c.attr("axis", 1) if c.rank(scale) else None)
