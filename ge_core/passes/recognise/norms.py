"""RMS and layer normalisation.

RMSNormalization:    y = x / √(mean(x²) + ε) · w
LayerNormalization:  d = x − mean(x),  y = d / √(mean(d²) + ε) · w + b

The core is recognised first with a scale of ones; the scale and the bias that follow join it. A Cast around
16-bit data joins too: the operator computes in float32 and rounds once. Results differ by rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ge_core.ir.builder import Builder
from ge_core.ir.dtype import float32
from ge_core.ir.graph import Value
from ge_core.passes.matching import (
    Any_,
    Bound,
    Either,
    Match,
    Node,
    NoMatch,
    Omitted,
    Pattern,
    Scalar,
    attribute,
    ints_of,
    is_all,
)
from ge_core.passes.rewrite import RewritePass, Rule, rebuilt, rule

X, D = Any_("x"), Any_("d")


def _mean(inner: Pattern, name: str) -> Pattern:
    return Node("ReduceMean", inner, Any_(f"{name}_axes"), name=name, keepdims=1)


def _square(x: Pattern) -> Pattern:
    return Either(Node("Mul", x, x), Node("ge.Square", x), Node("Pow", x, Scalar(value=2.0, rel=0)))


def _normalised(x: Pattern, mean: Pattern) -> tuple[Node, ...]:
    """x divided by the root of mean + epsilon, in the ways in which it is written."""
    inside = Node("Add", mean, Scalar("epsilon"))
    root = Node("Sqrt", inside)
    half = Node("Pow", inside, Scalar(value=-0.5, rel=0))
    return (
        Node("Mul", x, Either(Node("ge.Rsqrt", inside), Node("Reciprocal", root), half)),
        Node("Div", x, root),
    )


def _last_axes(m: Match, value: Value, *names: str) -> int:
    """The first of the reduced axes, which must be the last axes of `value` in every named reduction."""
    first = None
    for name in names:
        axes = ints_of(m.node(name).inputs[1])
        m.require(axes, "the axes are unknown", m.node(name))
        wanted = sorted(a % value.rank for a in axes or ())
        m.require(wanted == list(range(wanted[0], value.rank)), "the mean is not over the last axes", m.node(name))
        m.require(first in (None, wanted[0]), "the two means are over different axes", m.node(name))
        first = wanted[0]
    assert first is not None
    return first


def _ones(m: Match, b: Builder, x: Value, axis: int) -> Value:
    shape = [d for d in x.shape[axis:] if isinstance(d, int)]
    m.require(len(shape) == x.rank - axis, "a normalised axis has no fixed size")
    m.require(x.dtype.is_float, "the data are no floats")
    return b.constant(np.ones(shape, x.dtype.numpy))


def _rms(m: Match, b: Builder) -> Value:
    x = m["x"]
    axis = _last_axes(m, x, "mean")
    result: Value = b.RMSNormalization(x, _ones(m, b, x, axis), axis=axis, epsilon=m.scalar("epsilon"))
    return result


def _layer(m: Match, b: Builder) -> Value:
    x = m["x"]
    axis = _last_axes(m, x, "mean", "variance")
    m.require(m["d"].tensor.shape == x.tensor.shape, "the mean has another shape")
    result: Value = b.LayerNormalization(x, _ones(m, b, x, axis), axis=axis, epsilon=m.scalar("epsilon"), num_outputs=1)
    return result


_CENTRED = Bound("d", Node("Sub", X, _mean(X, "mean"), name="centred"))

RMS_RULES = tuple(
    rule(form, single_use=True, name="rms-norm", explain=True)(_rms)
    for form in _normalised(X, _mean(_square(X), "mean"))
)
LAYER_RULES = tuple(
    rule(form, single_use=True, name="layer-norm", explain=True)(_layer)
    for form in _normalised(_CENTRED, _mean(_square(D), "variance"))
)

_NORM = "RMSNormalization|LayerNormalization"


def _has_no_scale(m: Match) -> None:
    norm = m.node("norm")
    m.require(is_all(norm.inputs[1], 1), "it has a scale", norm)


@rule(Node("Cast", Node(_NORM, Node("Cast", X), Any_(), Omitted(), name="norm")), single_use=True)
def cast_around(m: Match, b: Builder) -> Value:
    """float16 data, normalised in float32 and cast back."""
    norm, x = m.node("norm"), m["x"]
    _has_no_scale(m)
    m.require(norm.output.dtype == float32 and attribute(norm, "stash_type") == float32, "not computed in float32")
    m.require(x.dtype.is_float and x.dtype.bits == 16 and m.root.output.dtype == x.dtype, "not cast back")
    scale = b.constant(np.ones([d for d in norm.inputs[1].shape if isinstance(d, int)], x.dtype.numpy))  # type: ignore[union-attr]
    result: Value = rebuilt(b, norm, [x, scale])
    return result


@rule(Node("Mul", Node(_NORM, X, Any_(), Omitted(), name="norm"), Any_("w")), single_use=True)
def scale(m: Match, b: Builder) -> Value:
    norm, w = m.node("norm"), m["w"]
    _has_no_scale(m)
    _per_element(m, w)
    result: Value = rebuilt(b, norm, [m["x"], w])
    return result


@rule(Node("Add", Node("LayerNormalization", X, Any_("w"), Omitted(), name="norm"), Any_("bias")), single_use=True)
def bias(m: Match, b: Builder) -> Value:
    _per_element(m, m["bias"])
    result: Value = rebuilt(b, m.node("norm"), [m["x"], m["w"], m["bias"]])
    return result


def _per_element(m: Match, w: Value) -> None:
    """`w` has the shape of the normalised axes."""
    axis = attribute(m.node("norm"), "axis") % m["x"].rank
    m.require(w.dtype == m.node("norm").outputs[0].dtype, "another element type")
    m.require(w.tensor.shape == m["x"].shape[axis:], f"%{w.name} has not the shape of the normalised axes")


@rule(
    Node(
        "Add",
        Node("Mul", X, Bound("inverse", Node("Mul", Node("ge.Rsqrt", Node("Add", _mean(
            _square(Node("Sub", X, Bound("mu", _mean(X, "mean")))), "variance"), Scalar("epsilon"))), Any_("w")))),
        Node("Sub", Any_("bias"), Node("Mul", Any_("mu"), Any_("inverse"))),
    ),
    single_use=True, explain=True,
)  # fmt: skip
def layer_norm_by_moments(m: Match, b: Builder) -> Value:
    """x·s + (b − mean·s) with s = w / √(variance + ε), as TensorFlow writes it."""
    x, w = m["x"], m["w"]
    axis = _last_axes(m, x, "mean", "variance")
    for v in (w, m["bias"]):
        if v.tensor.shape != x.shape[axis:]:
            raise NoMatch(f"%{v.name} has not the shape of the normalised axes", m.root)
    result: Value = b.LayerNormalization(x, w, m["bias"], axis=axis, epsilon=m.scalar("epsilon"), num_outputs=1)
    return result


@dataclass(frozen=True)
class RecogniseNorms(RewritePass):
    """Enters regions."""

    @property
    def rules(self) -> Sequence[Rule]:
        return (*LAYER_RULES, *RMS_RULES, layer_norm_by_moments, cast_around, scale, bias)
