"""Functions of float64 that ONNX Runtime has in float32 alone, by those that it has."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ge_core.ir.builder import Builder
from ge_core.ir.dtype import float32, float64
from ge_core.ir.graph import Node, Value
from ge_core.ops.decompositions.precision import operand

from .forms import ONLY_SINGLE
from .lowerings import LOWERINGS, lowers, pointwise
from .sizes import Sizes
from .special_functions import erf

Function = Callable[[Builder, Value], Value]


def _tan(b: Builder, x: Value) -> Value:
    made: Value = b.Div(b.Sin(x), b.Cos(x))
    return made


def _sinh(b: Builder, x: Value) -> Value:
    # (t + t / (t + 1)) / 2 with t = e^x - 1 keeps the digits near 0; from 1 on the plain form does not meet inf / inf
    t = b.ge.Expm1(x)
    plain = b.Mul(b.Sub(b.Exp(x), b.Exp(b.Neg(x))), 0.5)
    made: Value = b.Where(b.Less(b.Abs(x), 1.0), b.Mul(b.Add(t, b.Div(t, b.Add(t, 1.0))), 0.5), plain)
    return made


def _cosh(b: Builder, x: Value) -> Value:
    made: Value = b.Mul(b.Add(b.Exp(x), b.Exp(b.Neg(x))), 0.5)
    return made


def _asinh(b: Builder, x: Value) -> Value:
    # log1p(|x| + x^2 / (1 + sqrt(x^2 + 1))); beyond 2^28 the logarithm of 2|x|, whose square may not exist
    size = b.Abs(x)
    square = b.Mul(size, size)
    near = b.ge.Log1p(b.Add(size, b.Div(square, b.Add(b.Sqrt(b.Add(square, 1.0)), 1.0))))
    far = b.Add(b.Log(size), math.log(2))
    made: Value = b.Mul(b.Sign(x), b.Where(b.Less(size, 2.0**28), near, far))
    return made


def _acosh(b: Builder, x: Value) -> Value:
    # log1p(t + sqrt(2 t + t^2)) with t = x - 1
    t = b.Sub(x, 1.0)
    near = b.ge.Log1p(b.Add(t, b.Sqrt(b.Add(b.Mul(t, 2.0), b.Mul(t, t)))))
    made: Value = b.Where(b.Less(x, 2.0**28), near, b.Add(b.Log(x), math.log(2)))
    return made


def _atanh(b: Builder, x: Value) -> Value:
    size = b.Abs(x)
    ratio = b.Div(b.Mul(size, 2.0), b.Sub(b.constant(1.0, float64), size))
    made: Value = b.Mul(b.Sign(x), b.Mul(b.ge.Log1p(ratio), 0.5))
    return made


def _atan(b: Builder, x: Value) -> Value:
    """The arc in float32, and two steps of Newton's method; beyond 1 the complement of the reciprocal's."""
    size = b.Abs(x)
    large = b.Less(b.constant(1.0, float64), size)
    t = b.Where(large, b.Reciprocal(size), size)
    y = b.Cast(b.Atan(b.Cast(t, to=float32)), to=float64)
    for _ in range(2):
        sine, cosine = b.Sin(y), b.Cos(y)
        y = b.Sub(y, b.Mul(cosine, b.Sub(sine, b.Mul(t, cosine))))
    y = b.Where(large, b.Sub(b.constant(math.pi / 2, float64), y), y)
    made: Value = b.Mul(b.Sign(x), y)
    return made


def _asin(b: Builder, x: Value) -> Value:
    one = b.constant(1.0, float64)
    made: Value = b.Atan(b.Div(x, b.Sqrt(b.Mul(b.Sub(one, x), b.Add(one, x)))))
    return made


def _acos(b: Builder, x: Value) -> Value:
    one = b.constant(1.0, float64)
    made: Value = b.Mul(b.Atan(b.Sqrt(b.Div(b.Sub(one, x), b.Add(one, x)))), 2.0)
    return made


_FUNCTIONS: dict[str, Function] = {
    "Tan": _tan, "Sinh": _sinh, "Cosh": _cosh, "Asinh": _asinh, "Acosh": _acosh, "Atanh": _atanh, "Atan": _atan,
    "Asin": _asin, "Acos": _acos, "Erf": erf,
}  # fmt: skip


@lowers(*_FUNCTIONS)
def function(b: Builder, node: Node, sizes: Sizes) -> Sequence[Value]:
    """The function by its formula."""
    return [_FUNCTIONS[node.op](b, operand(node.inputs, 0))]


for _op in ONLY_SINGLE - set(_FUNCTIONS):
    LOWERINGS.setdefault(_op, pointwise)
