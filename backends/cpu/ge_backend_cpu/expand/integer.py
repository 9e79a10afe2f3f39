"""Products of integers that no kernel has: in floats that hold every sum exactly."""

from __future__ import annotations

from collections.abc import Sequence

from ge_backend_cpu.expand.registry import expansion
from ge_backend_cpu.expand.select import operand
from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.graph import Node, Value

SHORT_TERMS = 258
"""Products of two differences of 8-bit numbers that float32 sums exactly."""
WINDOW_ATTRIBUTES = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")


def _centred(b: Builder, x: Value, zero: Value | None, axis: int | None = None, real: str = "float64") -> Value:
    """x less its zero point, as a float; the zero point is one number or one for each place of an axis."""
    wide: Value = b.Cast(x, to=real)
    if zero is None:
        return wide
    offset = b.Cast(zero, to=real)
    if zero.rank == 1 and axis is not None and zero.shape != (1,):
        offset = b.Reshape(offset, b.ints(*(zero.shape[0] if k == axis else 1 for k in range(x.rank))))
    made: Value = b.Sub(wide, offset)
    return made


def _attributes(node: Node) -> dict[str, object]:
    return {name: node.attrs[name] for name in WINDOW_ATTRIBUTES if name in node.attrs}


@expansion("ConvInteger")
def conv_integer(b: Builder, node: Node) -> Sequence[Value]:
    """Grouped ones in float32 where their sums have no more than 24 bits: those are summed directly."""
    terms = dims.product(operand(node, 1).shape[1:])
    short = node.attrs.get("group", 1) != 1 and isinstance(terms, int) and terms <= SHORT_TERMS
    real = "float32" if short else "float64"
    x = _centred(b, operand(node, 0), node.input(2), real=real)
    w = _centred(b, operand(node, 1), node.input(3), axis=0, real=real)
    return [b.Cast(b.Conv(x, w, **_attributes(node)), to="int32")]


@expansion("QLinearConv")
def qlinear_conv(b: Builder, node: Node) -> Sequence[Value]:
    """The exact integer sums, scaled once."""
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = (operand(node, k) for k in range(8))
    sums = b.Conv(_centred(b, x, x_zero, axis=1), _centred(b, w, w_zero, axis=0), **_attributes(node))
    bias = node.input(8)
    if bias is not None:
        sums = b.Add(sums, _along(b, b.Cast(bias, to="float64"), sums.rank, 1))
    factor = b.Mul(_single(b, x_scale), _along(b, b.Cast(w_scale, to="float64"), sums.rank, 1))
    return [_requantised(b, b.Mul(sums, b.Div(factor, _single(b, y_scale))), b.Reshape(y_zero, b.ints()))]


@expansion("QLinearMatMul")
def qlinear_matmul(b: Builder, node: Node) -> Sequence[Value]:
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = (operand(node, k) for k in range(8))
    left = b.Mul(_centred(b, x, x_zero, x.rank - 2), _along(b, b.Cast(x_scale, to="float64"), x.rank, x.rank - 2))
    right = b.Mul(_centred(b, w, w_zero, w.rank - 1), _along(b, b.Cast(w_scale, to="float64"), w.rank, w.rank - 1))
    product = b.MatMul(left, right)
    return [_requantised(b, b.Div(product, _along(b, b.Cast(y_scale, to="float64"), product.rank, -2)), y_zero)]


def _along(b: Builder, x: Value, rank: int, axis: int) -> Value:
    """A vector along an axis; other operands as they are."""
    if x.rank != 1 or rank < 1:
        return x
    made: Value = b.Reshape(x, b.ints(*(x.shape[0] if k == axis % rank else 1 for k in range(rank))))
    return made


def _single(b: Builder, x: Value) -> Value:
    made: Value = b.Reshape(b.Cast(x, to="float64"), b.ints())
    return made


def _requantised(b: Builder, x: Value, zero: Value) -> Value:
    """round(x, half to even) + zero, saturated."""
    made: Value = b.Cast(b.Add(b.Round(x), b.Cast(zero, to="float64")), to=zero.dtype)
    return made
