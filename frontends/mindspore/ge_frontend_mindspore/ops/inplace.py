"""Operators that write over their first operand: the same as their plain forms."""

from __future__ import annotations

from typing import Any

from ge_core.ir.graph import Value

from ..call import Call, Operand
from ..registry import primitive
from . import indexing, pointwise

_UNARY = {"InplaceExp": "Exp", "InplaceFloor": "Floor", "InplaceLog": "Log", "InplaceReLU": "Relu",
          "InplaceSigmoid": "Sigmoid", "InplaceSign": "Sign", "InplaceTanh": "Tanh", "InplaceSiLU": "Swish",
          "InplaceErfinv": "ge.ErfInv"}  # fmt: skip
_BINARY = {"InplaceMul": "Mul", "InplaceMuls": "Mul", "InplaceFloorDivide": "ge.FloorDiv",
           "InplaceFloorDivides": "ge.FloorDiv", "InplaceRemainderTensorTensor": "ge.FloorMod",
           "InplaceRemainderTensorScalar": "ge.FloorMod"}  # fmt: skip


@primitive(*_UNARY, writes=True)
def unary(c: Call, input: Value) -> Value:
    """InplaceExp(input) and the like"""
    result: Value = c.b.op(_UNARY[c.op], input)
    return result


@primitive("InplaceZero", writes=True)
def zero(c: Call, input: Value) -> Value:
    """InplaceZero(input)"""
    return c.full(input.shape, 0, input.dtype)


@primitive("InplaceAddExt", "InplaceAddsExt", "InplaceSubExt", "InplaceSubScalar", writes=True)
def add(c: Call, input: Value, other: Operand, alpha: Operand = 1) -> Value:
    """InplaceAddExt(input, other, alpha=1); InplaceSubExt(input, other, alpha=1)"""
    change = c.tensor(other, input.dtype)
    if alpha != 1:
        change = c.b.Mul(change, c.tensor(alpha, input.dtype))
    return c.b.Sub(input, change) if "Sub" in c.op else c.b.Add(input, change)


@primitive(*_BINARY, writes=True)
def binary(c: Call, input: Value, other: Operand) -> Value:
    """InplaceMul(input, other); InplaceFloorDivide; InplaceRemainderTensorTensor, and with a number"""
    result: Value = c.b.op(_BINARY[c.op], input, c.tensor(other, input.dtype))
    return result


@primitive("InplaceDiv", "InplaceDivs", "InplaceDivMod", "InplaceDivMods", writes=True)
def div(c: Call, input: Value, other: Operand, rounding_mode: int | None = None) -> Value:
    """InplaceDiv(input, other); InplaceDivMod(input, other, rounding_mode=None)"""
    return pointwise.div_mod(c, input, other, rounding_mode)


@primitive("InplaceClampScalar", "InplaceClampTensor", writes=True)
def clamp(c: Call, input: Value, min: Operand | None, max: Operand | None) -> Value:
    """InplaceClampScalar(input, min=None, max=None)"""
    return pointwise.clamp(c, input, min, max)


@primitive("InplaceCopy", writes=True)
def copy(c: Call, input: Value, src: Operand, non_blocking: bool = False) -> Value:
    """InplaceCopy(input, src, non_blocking=False)"""
    return c.expand(c.tensor(src, input.dtype), input.shape)


@primitive("InplaceFillScalar", "InplaceFillTensor", writes=True)
def fill(c: Call, input: Value, value: Operand) -> Value:
    """InplaceFillScalar(input, value)"""
    return c.full(input.shape, value, input.dtype)


@primitive("InplaceMaskedFillScalar", "InplaceMaskedFillTensor", writes=True)
def masked_fill(c: Call, input: Value, mask: Value, value: Operand) -> Value:
    """InplaceMaskedFillScalar(input, mask, value)"""
    return c.b.Where(mask, c.tensor(value, input.dtype), input)


@primitive("InplaceHardtanh", writes=True)
def hardtanh(c: Call, input: Value, min_val: Operand, max_val: Operand) -> Value:
    """InplaceHardtanh(input, min_val=-1, max_val=1)"""
    return c.b.Clip(input, c.tensor(min_val, input.dtype), c.tensor(max_val, input.dtype))


@primitive("InplaceThreshold", writes=True)
def threshold(c: Call, input: Value, threshold: Operand, value: Operand) -> Value:
    """InplaceThreshold(input, threshold, value)"""
    above = c.b.Greater(input, c.tensor(threshold, input.dtype))
    return c.b.Where(above, input, c.tensor(value, input.dtype))


@primitive("InplaceElu", writes=True)
def elu(c: Call, input: Value, alpha: Any) -> Value:
    """InplaceElu(input, alpha=1.0)"""
    return c.b.Elu(input, alpha=c.number(alpha, "alpha"))


@primitive("InplaceIndexAddExt", writes=True)
def index_add(c: Call, input: Value, dim: int, index: Value, source: Value, alpha: Any) -> Value:
    """InplaceIndexAddExt(input, dim, index, source, alpha=1)"""
    return indexing.index_add_ext(c, input, dim, index, source, alpha)


@primitive("InplaceIndexCopy", writes=True)
def index_copy(c: Call, input: Value, dim: int, index: Value, tensor: Value) -> Value:
    """InplaceIndexCopy(input, dim, index, tensor)"""
    return indexing.rows(c, input, c.axis(dim, input.rank), index, tensor, "none")


@primitive("InplaceScatterAdd", "InplaceScatterSrc", writes=True)
def scatter(c: Call, input: Value, dim: int, index: Value, src: Value) -> Value:
    """InplaceScatterAdd(input, dim, index, src); InplaceScatterSrc(input, dim, index, src)"""
    reduction = "add" if c.op == "InplaceScatterAdd" else "none"
    return indexing.scattered(c, input, index, src, c.axis(dim, input.rank), reduction)
