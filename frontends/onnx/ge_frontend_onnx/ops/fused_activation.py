"""Activations of com.microsoft, alone and behind other operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ge_core.ir.graph import Value

from ..call import Call
from ..registry import Results, converts

_MS = "com.microsoft"


@converts("Gelu", domain=_MS)
def gelu(c: Call) -> Results:
    """Gelu(T X) -> (T Y)"""
    return c.b.Gelu(c.input(0))


@converts("BiasGelu", domain=_MS)
def bias_gelu(c: Call) -> Results:
    """BiasGelu(T A, T B) -> (T C): Gelu(A + B)"""
    return c.b.Gelu(c.b.Add(c.input(0), c.input(1)))


@converts("FastGelu", domain=_MS)
def fast_gelu(c: Call) -> Results:
    """FastGelu(T X, T bias?) -> (T Y): Gelu(X + bias) by tanh"""
    return c.b.Gelu(with_bias(c, c.input(0), c.optional(1)), approximate="tanh")


@converts("QuickGelu", domain=_MS)
def quick_gelu(c: Call) -> Results:
    """QuickGelu(T X) -> (T Y); alpha: x * sigmoid(alpha * x)"""
    return c.b.Swish(c.input(0), alpha=c.attr("alpha", 1.702))


@converts("BiasSplitGelu", domain=_MS)
def bias_split_gelu(c: Call) -> Results:
    """BiasSplitGelu(T X, T bias) -> (T Y): the first half of the last axis times Gelu of the second"""
    left, right = c.b.Split(c.b.Add(c.input(0), c.input(1)), axis=-1, num_outputs=2)
    return c.b.Mul(left, c.b.Gelu(right))


@converts("BiasAdd", domain=_MS)
def bias_add(c: Call) -> Results:
    """BiasAdd(T X, T bias, T skip) -> (T Y): X + bias + skip"""
    return c.b.Add(c.b.Add(c.input(0), c.input(1)), c.input(2))


def with_bias(c: Call, x: Value, bias: Value | None) -> Value:
    """`x + bias`, or `x` where there is none."""
    value: Value = x if bias is None else c.b.Add(x, bias)
    return value


def _limits(c: Call, x: Value, params: Sequence[float]) -> Value:
    value: Value = c.b.Clip(x, c.scalar(params[0], x.dtype), c.scalar(params[1], x.dtype))
    return value


_ACTIVATIONS: dict[str, tuple[int, Callable[[Call, Value, Sequence[float]], Value]]] = {
    "Relu": (0, lambda c, x, p: c.b.Relu(x)),
    "Tanh": (0, lambda c, x, p: c.b.Tanh(x)),
    "Sigmoid": (0, lambda c, x, p: c.b.Sigmoid(x)),
    "LeakyRelu": (1, lambda c, x, p: c.b.LeakyRelu(x, alpha=p[0])),
    "Clip": (2, _limits),
    "HardSigmoid": (2, lambda c, x, p: c.b.HardSigmoid(x, alpha=p[0], beta=p[1])),
}


def activated(c: Call, x: Value, name: str | None, params: Sequence[float]) -> Value:
    """A fused activation by its name and numbers; none for an empty name.

    Raises:
        UnsupportedError: the activation is not known.
    """
    if not name:
        return x
    if name not in _ACTIVATIONS:
        raise c.unsupported(f"the activation {name}")
    count, build = _ACTIVATIONS[name]
    if len(params) < count:
        raise c.error(f"the activation {name} has {len(params)} numbers", expected=str(count))
    return build(c, x, params)
