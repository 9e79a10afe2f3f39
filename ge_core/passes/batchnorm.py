"""Batch normalisation into the weights before it.

With s = γ / √(σ² + ε):  W' = W·s,  b' = (b − μ)·s + β, per output channel. A BatchNormalization elsewhere is
x·s + (β − μ·s). The new weights are computed in float64 when they are first needed. Results differ by rounding;
16-bit floats keep their BatchNormalization, since their weights would be rounded twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ge_core.ir.builder import Builder
from ge_core.ir.constant import Constant
from ge_core.ir.graph import Node as IrNode
from ge_core.ir.graph import Value, constant_of
from ge_core.passes.matching import Any_, Match, Node, attribute
from ge_core.passes.matching import Constant as ConstantPattern
from ge_core.passes.rewrite import RewritePass, Rule, rebuilt, rule

X = Any_("x")


def _norm(x: Node | Any_) -> Node:
    return Node("BatchNormalization", x, *(ConstantPattern(n) for n in ("gamma", "beta", "mean", "var")), name="bn")


@dataclass(frozen=True)
class _Affine:
    """y = x * scale + shift per channel, in float64."""

    scale: np.ndarray
    shift: np.ndarray


def _affine(m: Match) -> _Affine:
    m.require(len(m.root.outputs) == 1, "the statistics are read too")
    dtype = m.root.outputs[0].dtype
    m.require(dtype.is_float and dtype.bits >= 32, f"{dtype} would be rounded twice")
    gamma, beta, mean, var = (_wide(m, m[n]) for n in ("gamma", "beta", "mean", "var"))
    with np.errstate(all="ignore"):
        scale = gamma / np.sqrt(var + float(attribute(m.root, "epsilon")))
        shift = beta - mean * scale
    m.require(bool(np.isfinite(scale).all() and np.isfinite(shift).all()), "scale or shift is not finite")
    return _Affine(scale, shift)


def _wide(m: Match, value: Value) -> np.ndarray:
    constant = constant_of(value)
    assert constant is not None
    array = constant.known()
    m.require(array is not None, f"the elements of %{value.name} are absent")
    assert array is not None
    return array.astype(np.float64)


def _weights(b: Builder, old: Value, scale: np.ndarray) -> Value:
    """`old` times `scale` (broadcast), computed when it is needed."""
    constant = constant_of(old)
    assert constant is not None

    def load() -> np.ndarray:
        array = constant.array()
        # in float64 as the scale is, and rounded piece by piece
        return np.multiply(array, scale, out=np.empty(array.shape, array.dtype), casting="same_kind")

    return b.constant(Constant.derived(constant.type, [constant], load, constant.source), name=old.name)


def _bias(m: Match, affine: _Affine, old: Value | None, like: Value) -> np.ndarray:
    shift = affine.shift if old is None else affine.shift + _wide(m, old) * affine.scale
    return shift.astype(like.dtype.numpy)


def _bias_is_constant(m: Match, conv: IrNode) -> Value | None:
    bias = conv.input(2)
    m.require(bias is None or constant_of(bias) is not None, "the bias is no constant", conv)
    return bias


@rule(_norm(Node("Conv", X, ConstantPattern("w"), rest=True, name="conv")), single_use=True)
def into_conv(m: Match, b: Builder) -> Value:
    conv, affine = m.node("conv"), _affine(m)
    bias = _bias_is_constant(m, conv)
    w = _weights(b, m["w"], affine.scale.reshape(-1, *(1,) * (m["w"].rank - 1)))
    result: Value = rebuilt(b, conv, [m["x"], w, b.constant(_bias(m, affine, bias, m["w"]))])
    return result


@rule(_norm(Node("ConvTranspose", X, ConstantPattern("w"), rest=True, name="conv")), single_use=True)
def into_conv_transpose(m: Match, b: Builder) -> Value:
    """Weights are [C_in, C_out / groups, *kernel]: input channel i belongs to group i·groups / C_in."""
    conv, affine = m.node("conv"), _affine(m)
    bias = _bias_is_constant(m, conv)
    groups, channels = attribute(conv, "group"), m["w"].shape[0]
    assert isinstance(channels, int)
    per_input = affine.scale.reshape(groups, -1).repeat(channels // groups, axis=0)
    w = _weights(b, m["w"], per_input.reshape(*per_input.shape, *(1,) * (m["w"].rank - 2)))
    result: Value = rebuilt(b, conv, [m["x"], w, b.constant(_bias(m, affine, bias, m["w"]))])
    return result


@rule(_norm(Node("MatMul", X, ConstantPattern("w"), name="matmul")), single_use=True)
def into_matmul(m: Match, b: Builder) -> Value:
    return _matmul(m, b, None)


@rule(_norm(Node("Add", Node("MatMul", X, ConstantPattern("w")), ConstantPattern("bias"))), single_use=True)
def into_linear(m: Match, b: Builder) -> Value:
    m.require(m["bias"].rank == 1 and m["bias"].shape == m["w"].shape[-1:], "the added constant is no bias")
    return _matmul(m, b, m["bias"])


def _matmul(m: Match, b: Builder, bias: Value | None) -> Value:
    m.require(m["x"].rank == 2 and m["w"].rank == 2, "channels are the last axis only in two dimensions")
    affine = _affine(m)
    product = b.MatMul(m["x"], _weights(b, m["w"], affine.scale))
    result: Value = b.Add(product, b.constant(_bias(m, affine, bias, m["w"])))
    return result


@rule(_norm(Node("Reshape", Node("MatMul", X, ConstantPattern("w")), Any_(), name="rows")), single_use=True)
def into_flattened_rows(m: Match, b: Builder) -> Value:
    """A product in more dimensions whose rows are flattened for the normalisation."""
    rows = m.node("rows").output
    m.require(rows.rank == 2 and m["w"].rank == 2 and rows.shape[1] == m["w"].shape[1], "the channels are no columns")
    affine = _affine(m)
    product = b.MatMul(m["x"], _weights(b, m["w"], affine.scale))
    y = b.Add(product, b.constant(_bias(m, affine, None, m["w"])))
    result: Value = rebuilt(b, m.node("rows"), [y, m.node("rows").inputs[1]])
    return result


@rule(_norm(X))
def as_affine(m: Match, b: Builder) -> Value:
    affine, x = _affine(m), m["x"]
    shape = (-1, *(1,) * (max(x.rank, 2) - 2))
    numpy = x.dtype.numpy
    scaled = b.Mul(x, b.constant(affine.scale.astype(numpy).reshape(shape)))
    result: Value = b.Add(scaled, b.constant(affine.shift.astype(numpy).reshape(shape)))
    return result


@dataclass(frozen=True)
class FoldBatchNorm(RewritePass):
    """Enters regions."""

    @property
    def rules(self) -> Sequence[Rule]:
        return (into_conv, into_conv_transpose, into_matmul, into_linear, into_flattened_rows, as_affine)
