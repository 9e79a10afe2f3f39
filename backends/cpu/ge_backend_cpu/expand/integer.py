"""Products of integers that no kernel has: in floats that hold every sum exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ge_backend_cpu.expand.registry import expansion
from ge_backend_cpu.expand.select import operand
from ge_backend_cpu.ops.depthwise import SHORT_TERMS
from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Size
from ge_core.ir.dtype import float64
from ge_core.ir.graph import Node, Value, constant_of

MOST_TERMS = 33_000
"""Products of two differences of 8-bit numbers that int32 can sum."""
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
    if _one(x_zero) and constant_of(w) is not None and _sums_fit(dims.product(w.shape[1:])):
        sums = b.Cast(b.ConvInteger(x, w, _scalar(b, x_zero), w_zero, **_attributes(node)), to="float64")
    else:
        sums = b.Conv(_centred(b, x, x_zero, axis=1), _centred(b, w, w_zero, axis=0), **_attributes(node))
    bias = node.input(8)
    if bias is not None:
        sums = b.Add(sums, _along(b, _real(b, bias), sums.rank, 1))
    factor = _known(b, np.multiply, "Mul", _single(b, x_scale), _along(b, _real(b, w_scale), sums.rank, 1))
    factor = _known(b, np.divide, "Div", factor, _single(b, y_scale))
    return [_requantised(b, b.Mul(sums, factor), _scalar(b, y_zero))]


@expansion("QLinearMatMul")
def qlinear_matmul(b: Builder, node: Node) -> Sequence[Value]:
    x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero = (operand(node, k) for k in range(8))
    whole = all(map(_one, (x_scale, x_zero, y_scale, y_zero)))
    columns = all(_one(v) or v.rank == 1 for v in (w_scale, w_zero))
    if whole and columns and min(x.rank, w.rank) > 1 and _sums_fit(w.shape[-2]):
        zero = _one_or_all(b, w_zero)
        sums = b.Cast(b.MatMulInteger(x, w, _scalar(b, x_zero), zero), to="float64")
        factor = _known(b, np.multiply, "Mul", _single(b, x_scale), _one_or_all(b, _real(b, w_scale)))
        return [_requantised(b, b.Div(b.Mul(sums, factor), _single(b, y_scale)), _scalar(b, y_zero))]
    left = b.Mul(_centred(b, x, x_zero, x.rank - 2), _along(b, b.Cast(x_scale, to="float64"), x.rank, x.rank - 2))
    right = b.Mul(_centred(b, w, w_zero, w.rank - 1), _along(b, b.Cast(w_scale, to="float64"), w.rank, w.rank - 1))
    product = b.MatMul(left, right)
    return [_requantised(b, b.Div(product, _along(b, b.Cast(y_scale, to="float64"), product.rank, -2)), y_zero)]


def _one(x: Value) -> bool:
    """Whether there is one number for all."""
    return dims.product(x.shape) == 1


def _one_or_all(b: Builder, x: Value) -> Value:
    """A vector of one element as a scalar; anything else as it is."""
    return _scalar(b, x) if _one(x) else x


def _sums_fit(terms: Size) -> bool:
    """Whether int32 holds the sums of so many products."""
    return isinstance(terms, int) and terms <= MOST_TERMS


def _scalar(b: Builder, x: Value) -> Value:
    """The only element, of its type."""
    known = constant_of(x)
    made: Value = b.Reshape(x, b.ints()) if known is None else b.constant(known.array().reshape(()), x.dtype)
    return made


def _real(b: Builder, x: Value) -> Value:
    """Numbers in float64, known ones at once."""
    known = constant_of(x)
    made: Value = b.Cast(x, to="float64") if known is None else b.constant(known.array().astype(np.float64), float64)
    return made


def _known(b: Builder, compute: Callable[..., np.ndarray], op: str, x: Value, y: Value) -> Value:
    """An operator on float64, known numbers at once."""
    known = constant_of(x), constant_of(y)
    if known[0] is not None and known[1] is not None:
        return b.constant(np.asarray(compute(known[0].array(), known[1].array())), float64)
    made: Value = b.op(op, x, y)
    return made


def _along(b: Builder, x: Value, rank: int, axis: int) -> Value:
    """A vector along an axis; other operands as they are."""
    if x.rank != 1 or rank < 1:
        return x
    shape = [x.shape[0] if k == axis % rank else 1 for k in range(rank)]
    known = constant_of(x)
    if known is not None:
        return b.constant(known.array().reshape([int(n) for n in shape if isinstance(n, int)]), x.dtype)
    made: Value = b.Reshape(x, b.ints(*shape))
    return made


def _single(b: Builder, x: Value) -> Value:
    return _scalar(b, _real(b, x))


def _requantised(b: Builder, x: Value, zero: Value) -> Value:
    """round(x, half to even) + zero, saturated."""
    made: Value = b.Cast(b.Add(b.Round(x), _real(b, zero)), to=zero.dtype)
    return made
