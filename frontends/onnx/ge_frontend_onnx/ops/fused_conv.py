"""Convolutions of com.microsoft: with an activation, or with channels last."""

from __future__ import annotations

from ge_core.ir.graph import Value

from ..call import Call
from ..registry import Results, converts
from .fused_activation import activated

_MS = "com.microsoft"
_CONV = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")


@converts("FusedConv", domain=_MS)
def fused_conv(c: Call) -> Results:
    """FusedConv(T X, T W, T B?, T Z?) -> (T Y); activation, activation_params, Conv's: activation(conv + Z)"""
    y = c.b.Conv(*_operands(c), **_attributes(c))
    return _finished(c, y, c.optional(3))


@converts("NhwcConv", domain=_MS)
def nhwc_conv(c: Call) -> Results:
    """NhwcConv(T X, T W, T B?) -> (T Y); Conv's, with the channels last in X and Y"""
    x, *others = _operands(c)
    return channels_last(c, c.b.Conv(channels_first(c, x), *others, **_attributes(c)))


@converts("NhwcFusedConv", domain=_MS)
def nhwc_fused_conv(c: Call) -> Results:
    """NhwcFusedConv(T X, T W, T B?, T Z?) -> (T Y); FusedConv's, with the channels last in X, Z and Y"""
    x, *others = _operands(c)
    y = channels_last(c, c.b.Conv(channels_first(c, x), *others, **_attributes(c)))
    return _finished(c, y, c.optional(3))


@converts("NhwcMaxPool", domain=_MS)
def nhwc_max_pool(c: Call) -> Results:
    """NhwcMaxPool(T x) -> (T y); MaxPool's, with the channels last"""
    return channels_last(c, c.b.MaxPool(channels_first(c, c.input(0)), **c.attrs))


def _operands(c: Call) -> list[Value | None]:
    return [c.input(0), c.input(1), c.optional(2)]


def _attributes(c: Call) -> dict[str, object]:
    return {name: c.attrs[name] for name in _CONV if name in c.attrs}


def _finished(c: Call, y: Value, added: Value | None) -> Value:
    y = y if added is None else c.b.Add(y, added)
    return activated(c, y, c.attr("activation"), c.attr("activation_params", ()))


def channels_first(c: Call, x: Value | None) -> Value:
    """`[n, *space, channels]` as `[n, channels, *space]`."""
    assert x is not None
    rank = c.rank(x)
    return c.transpose(x, 0, rank - 1, *range(1, rank - 1))


def channels_last(c: Call, x: Value) -> Value:
    """`[n, channels, *space]` as `[n, *space, channels]`."""
    return c.transpose(x, 0, *range(2, c.rank(x)), 1)
