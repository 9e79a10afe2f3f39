"""Constant factors and summands per output channel into the weights before them.

(conv(x, W) + b)·s = conv(x, W·s) + b·s, and the same for MatMul and Add: layer scales, and what batch normalisations in
several steps leave. The new weights are computed in float64 when they are first needed. Results differ by rounding;
16-bit floats and weights that something else reads stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ge_core.ir.builder import Builder
from ge_core.ir.constant import Constant
from ge_core.ir.graph import Value, constant_of
from ge_core.passes.matching import Any_, Match, Node, same_shape
from ge_core.passes.matching import Constant as ConstantPattern
from ge_core.passes.rewrite import RewritePass, Rule, rebuilt, rule

X, W, C = Any_("x"), ConstantPattern("w"), ConstantPattern("c")
_CONV = Node("Conv", X, W, rest=True, name="conv")
_MATMUL = Node("MatMul", X, W, name="matmul")


def _per_channel(m: Match, axis: int) -> np.ndarray:
    """The constant as one number for each channel, or one for all, in float64."""
    out = m.root.output
    m.require(out.dtype.is_float and out.dtype.bits >= 32, f"{out.dtype} would be rounded twice")
    constant = constant_of(m["c"])
    assert constant is not None
    known = constant.known()
    m.require(known is not None, "the elements of the constant are absent, or too many to look at")
    assert known is not None
    array = known.astype(np.float64)
    m.require(array.ndim <= out.rank, "the constant shapes the result")
    m.require(bool(np.isfinite(array).all()), "the constant is not finite")
    full = array.reshape((1,) * (out.rank - array.ndim) + array.shape)
    m.require(all(n == 1 for i, n in enumerate(full.shape) if i != axis), "the constant differs within a channel")
    return full.reshape(-1)


def _scaled(b: Builder, old: Value, scale: np.ndarray) -> Value:
    """A constant times `scale` (broadcast), computed when it is needed."""
    constant = constant_of(old)
    assert constant is not None

    def load() -> np.ndarray:
        return (constant.array() * scale).astype(constant.type.dtype.numpy)

    return b.constant(Constant.derived(constant.type, [constant], load, constant.source), name=old.name)


def _only_reader(m: Match) -> None:
    m.require(m["w"].use_count == 1 and m["w"].captured is None, "something else reads the weights")


@rule(Node("Mul", _CONV, C), single_use=True)
def conv_times(m: Match, b: Builder) -> Value:
    conv = m.node("conv")
    m.require(same_shape(conv.output, m.root.output), "the constant shapes the result")
    _only_reader(m)
    scale = _per_channel(m, 1)
    w = _scaled(b, m["w"], scale.reshape(-1, *(1,) * (m["w"].rank - 1)))
    bias = conv.input(2)
    if bias is None:
        result: Value = rebuilt(b, conv, [m["x"], w])
        return result
    m.require(constant_of(bias) is not None, "the bias is no constant", conv)
    result = rebuilt(b, conv, [m["x"], w, _scaled(b, bias, scale)])
    return result


@rule(Node("Add", _CONV, C), single_use=True)
def conv_plus(m: Match, b: Builder) -> Value:
    conv = m.node("conv")
    m.require(same_shape(conv.output, m.root.output), "the constant shapes the result")
    summand, bias = _per_channel(m, 1), conv.input(2)
    channels = m["w"].shape[0]
    assert isinstance(channels, int)
    total = np.broadcast_to(summand, (channels,))
    if bias is not None:
        constant = constant_of(bias)
        known = None if constant is None else constant.known()
        m.require(known is not None, "the bias is no constant with known elements", conv)
        assert known is not None
        total = total + known
    made = b.constant(total.astype(m.root.output.dtype.numpy))
    result: Value = rebuilt(b, conv, [m["x"], m["w"], made])
    return result


@rule(Node("Mul", _MATMUL, C), single_use=True)
def product_times(m: Match, b: Builder) -> Value:
    m.require(same_shape(m.node("matmul").output, m.root.output) and m["w"].rank == 2, "the constant shapes the result")
    _only_reader(m)
    result: Value = b.MatMul(m["x"], _scaled(b, m["w"], _per_channel(m, m.root.output.rank - 1)))
    return result


@rule(Node("Mul", Node("Add", _MATMUL, ConstantPattern("bias"), name="sum"), C), single_use=True)
def linear_times(m: Match, b: Builder) -> Value:
    m.require(same_shape(m.node("sum").output, m.root.output) and m["w"].rank == 2, "the constant shapes the result")
    m.require(m["bias"].shape == m["w"].shape[1:], "the added constant is no bias")
    _only_reader(m)
    scale = _per_channel(m, m.root.output.rank - 1)
    result: Value = b.Add(b.MatMul(m["x"], _scaled(b, m["w"], scale)), _scaled(b, m["bias"], scale))
    return result


@dataclass(frozen=True)
class FoldScales(RewritePass):
    """Enters regions."""

    @property
    def rules(self) -> Sequence[Rule]:
        return (conv_times, conv_plus, product_times, linear_times)
