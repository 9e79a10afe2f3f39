"""Activations written out: Gelu, Swish, SwiGLU, HardSwish, Mish, Softplus, Sigmoid, Softmax.

Gelu:       x/2 · (1 + erf(x/√2)), or with tanh(√(2/π)·(x + 0.044715·x³))
Swish:      x · sigmoid(α·x)          SwiGLU:  Swish(a) · b
HardSwish:  x · min(max(x + 3, 0), 6) / 6
Mish:       x · tanh(softplus(x))     Softplus: log(1 + exp(x)), which is x where exp(x) overflows
Results differ by rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ge_core.ir.builder import Builder
from ge_core.ir.graph import Value
from ge_core.passes.matching import Any_, Either, Match, Node, Pattern, Scalar, attribute, same_shape
from ge_core.passes.rewrite import Action, RewritePass, Rule, rule

X = Any_("x")
_LOOSE = 1e-5  # constants are written with 7 digits or so


def _number(value: float) -> Scalar:
    return Scalar(value=value, rel=_LOOSE)


def _times(*factors: Pattern) -> tuple[Node, ...]:
    """Every way to multiply three patterns pairwise."""
    a, b, c = factors
    return tuple(Node("Mul", Node("Mul", p, q), r) for p, q, r in ((a, b, c), (a, c, b), (b, c, a)))


def _rules(name: str, forms: Sequence[Node], shared: Sequence[str] = ()) -> _Make:
    return _Make(name, forms, tuple(shared))


@dataclass(frozen=True)
class _Make:
    """Decorator that makes one rule for each form of a composite."""

    name: str
    forms: Sequence[Node]
    shared: tuple[str, ...]

    def __call__(self, action: Action) -> tuple[Rule, ...]:
        return tuple(
            rule(form, single_use=True, shared=self.shared, name=self.name, explain=True)(action) for form in self.forms
        )


_HALF_X = _number(0.5)
_ERF = Node("Erf", Either(Node("Div", X, _number(math.sqrt(2))), Node("Mul", X, _number(math.sqrt(0.5)))))
_CUBE = Either(
    Node("Pow", X, Scalar(value=3.0, rel=0)), Node("Mul", X, Node("Mul", X, X)), Node("Mul", X, Node("ge.Square", X))
)
_ROOT = math.sqrt(2 / math.pi)
_TANH_OF = Either(
    Node("Mul", Node("Add", X, Node("Mul", _CUBE, _number(0.044715))), _number(_ROOT)),
    Node(
        "Mul",
        Node("Mul", X, _number(_ROOT)),
        Node("Add", Either(
            Node("Mul", Node("Mul", X, _number(0.044715)), X), Node("Mul", Node("Mul", X, X), _number(0.044715))
        ), _number(1.0)),
    ),
)  # fmt: skip


@_rules("gelu", _times(X, _HALF_X, Node("Add", _ERF, _number(1.0))))
def gelu(m: Match, b: Builder) -> Value:
    result: Value = b.Gelu(m["x"])
    return result


@_rules("gelu-tanh", _times(X, _HALF_X, Node("Add", Node("Tanh", _TANH_OF), _number(1.0))))
def gelu_tanh(m: Match, b: Builder) -> Value:
    result: Value = b.Gelu(m["x"], approximate="tanh")
    return result


@_rules("swish", (Node("Mul", X, Node("Sigmoid", X)),))
def swish(m: Match, b: Builder) -> Value:
    result: Value = b.Swish(m["x"])
    return result


@_rules("swish", (Node("Mul", X, Node("Sigmoid", Node("Mul", X, Scalar("alpha")))),))
def swish_scaled(m: Match, b: Builder) -> Value:
    result: Value = b.Swish(m["x"], alpha=m.scalar("alpha"))
    return result


_GATE = Either(
    Node("Clip", Node("Add", X, _number(3.0)), Scalar(value=0.0, rel=0), _number(6.0)),
)


@_rules(
    "hard-swish",
    (
        Node("Mul", X, Node("HardSigmoid", X, name="gate")),
        Node("Div", Node("Mul", X, _GATE), _number(6.0)),
        Node("Mul", X, Node("Div", _GATE, _number(6.0))),
        *_times(X, _GATE, _number(1 / 6)),
    ),
)
def hard_swish(m: Match, b: Builder) -> Value:
    if m.has_node("gate"):
        gate = m.node("gate")
        m.require(abs(attribute(gate, "alpha") - 1 / 6) < 1e-6, "alpha is not 1/6", gate)
        m.require(attribute(gate, "beta") == 0.5, "beta is not 0.5", gate)
    result: Value = b.HardSwish(m["x"])
    return result


@_rules("mish", (Node("Mul", X, Node("Tanh", Node("Softplus", X))),))
def mish(m: Match, b: Builder) -> Value:
    result: Value = b.Mish(m["x"])
    return result


@_rules("softplus", (Node("Log", Node("Add", Node("Exp", X), _number(1.0))), Node("ge.Log1p", Node("Exp", X))))
def softplus(m: Match, b: Builder) -> Value:
    result: Value = b.Softplus(m["x"])
    return result


@_rules("sigmoid", (Node("Reciprocal", Node("Add", Node("Exp", Node("Neg", X)), _number(1.0))),))
def sigmoid(m: Match, b: Builder) -> Value:
    result: Value = b.Sigmoid(m["x"])
    return result


_SHIFTED = Node("Exp", Node("Sub", X, Node("ReduceMax", X, Any_("axes"), keepdims=1)), name="exp")


@_rules("softmax", (Node("Div", _SHIFTED, Node("ReduceSum", _SHIFTED, Any_("axes"), keepdims=1)),))
def softmax(m: Match, b: Builder) -> Value:
    axes = m["axes"].content
    m.require(axes is not None and len(axes) == 1 and isinstance(axes[0], int), "not along one axis")
    assert axes is not None
    result: Value = b.Softmax(m["x"], axis=axes[0])
    return result


@_rules("swiglu", (Node("Mul", Node("Swish", X, name="swish"), Any_("gate")),))
def swiglu(m: Match, b: Builder) -> Value:
    m.require(same_shape(m["x"], m["gate"]), "the two factors have different shapes")
    result: Value = b.SwiGLU(m["x"], m["gate"], alpha=attribute(m.node("swish"), "alpha"))
    return result


@dataclass(frozen=True)
class RecogniseActivations(RewritePass):
    """Enters regions."""

    @property
    def rules(self) -> Sequence[Rule]:
        return (
            *gelu, *gelu_tanh, *swish, *swish_scaled, *hard_swish, *mish, *softplus, *sigmoid, *softmax, *swiglu,
        )  # fmt: skip
