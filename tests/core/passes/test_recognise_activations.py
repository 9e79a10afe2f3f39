"""Activations written out, in every spelling."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from ge_core.ir import Builder, Value, symbol
from ge_core.passes.algebraic import Algebraic
from ge_core.passes.canonicalise import Canonicalise
from ge_core.passes.recognise import RecogniseActivations
from tests.core.passes.rewriting import check, ops

N = symbol("n", 1, 8)
X = np.concatenate([np.linspace(-9, 9, 61), [0.0, -0.0]]).astype(np.float32)
Form = Callable[[Builder, Value], Value]


def cube(b: Builder, x: Value) -> Value:
    return b.Add(x, b.Mul(b.Pow(x, 3.0), 0.044715))


FORMS: list[tuple[str, Form]] = [
    ("Gelu", lambda b, x: b.Mul(b.Mul(x, 0.5), b.Add(b.Erf(b.Div(x, math.sqrt(2))), 1.0))),
    ("Gelu", lambda b, x: b.Mul(x, b.Mul(b.Add(b.Erf(b.Mul(x, 0.70710678)), 1.0), 0.5))),
    ("Gelu", lambda b, x: b.Mul(b.Mul(x, b.Add(b.Erf(b.Div(x, 1.41421356)), 1.0)), 0.5)),
    ("Gelu", lambda b, x: b.Mul(b.Mul(x, 0.5), b.Add(b.Tanh(b.Mul(cube(b, x), 0.7978845608)), 1.0))),
    ("Gelu", lambda b, x: b.Mul(
        b.Mul(x, 0.5), b.Add(b.Tanh(b.Mul(b.Mul(x, 0.7978845608), b.Add(b.Mul(b.Mul(x, 0.044715), x), 1.0))), 1.0))),
    ("Swish", lambda b, x: b.Mul(x, b.Sigmoid(x))),
    ("Swish", lambda b, x: b.Mul(b.Sigmoid(b.Mul(x, 1.702)), x)),
    ("HardSwish", lambda b, x: b.Mul(x, b.HardSigmoid(x, alpha=1 / 6))),
    ("HardSwish", lambda b, x: b.Div(b.Mul(x, b.Clip(b.Add(x, 3.0), 0.0, 6.0)), 6.0)),
    ("HardSwish", lambda b, x: b.Mul(x, b.Div(b.Clip(b.Add(x, 3.0), 0.0, 6.0), 6.0))),
    ("HardSwish", lambda b, x: b.Mul(b.Mul(b.Clip(b.Add(x, 3.0), 0.0, 6.0), 1 / 6), x)),
    ("Mish", lambda b, x: b.Mul(x, b.Tanh(b.Softplus(x)))),
    ("Mish", lambda b, x: b.Mul(x, b.Tanh(b.Log(b.Add(b.Exp(x), 1.0))))),
    ("Softplus", lambda b, x: b.ge.Log1p(b.Exp(x))),
    ("Sigmoid", lambda b, x: b.Div(b.constant(np.float32(1)), b.Add(b.Exp(b.Neg(x)), 1.0))),
]  # fmt: skip


@pytest.mark.parametrize("op, form", FORMS, ids=[f"{i}-{op}" for i, (op, _) in enumerate(FORMS)])
def test_forms(op: str, form: Form) -> None:
    def build(b: Builder) -> None:
        b.outputs(form(b, b.input("x", "float32", (63,))))

    check(build, [X], Canonicalise(), Algebraic(), RecogniseActivations(), gives=[op], tolerance=2e-6)


NOT: list[tuple[str, Form]] = [
    ("another constant", lambda b, x: b.Mul(b.Mul(x, 0.5), b.Add(b.Erf(b.Div(x, 1.5)), 1.0))),
    ("another factor", lambda b, x: b.Mul(b.Mul(x, 0.6), b.Add(b.Erf(b.Div(x, math.sqrt(2))), 1.0))),
    ("another operand", lambda b, x: b.Mul(b.Abs(x), b.Sigmoid(x))),
    ("another slope", lambda b, x: b.Mul(x, b.HardSigmoid(x))),
    ("another clip", lambda b, x: b.Div(b.Mul(x, b.Clip(b.Add(x, 3.0), 0.0, 5.0)), 6.0)),
]


@pytest.mark.parametrize("form", [f for _, f in NOT], ids=[name for name, _ in NOT])
def test_what_only_looks_like_one(form: Form) -> None:
    def build(b: Builder) -> None:
        b.outputs(form(b, b.input("x", "float32", (63,))))

    graph, _ = check(build, [X], RecogniseActivations())
    assert not set(ops(graph)) & {"Gelu", "Swish", "HardSwish"}


def test_softmax_written_out() -> None:
    def build(b: Builder) -> None:
        x = b.input("x", "float32", (N, 5))
        e = b.Exp(b.Sub(x, b.ReduceMax(x, np.array([1]))))
        b.outputs(b.Div(e, b.ReduceSum(e, np.array([1]))))

    check(build, [X[:10].reshape(2, 5)], RecogniseActivations(), gives=["Softmax"], tolerance=1e-6)


def test_a_gated_swish_of_one_shape() -> None:
    def build(b: Builder) -> None:
        x, gate = b.input("x", "float32", (N, 4)), b.input("gate", "float32", (N, 4))
        row = b.input("row", "float32", (4,))
        b.outputs(b.Mul(b.Swish(x), gate), b.Mul(b.Swish(gate, alpha=2.0), row))

    x = X[:8].reshape(2, 4)
    check(build, [x, -x, x[0]], RecogniseActivations(), gives=["SwiGLU", "Swish", "Mul"])
