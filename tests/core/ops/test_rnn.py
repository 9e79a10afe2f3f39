"""Recurrent layers: ONNX's cases, comparison with PyTorch, every activation, lengths, symbolic sizes, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from ge_core.errors import TypeRuleError
from tests.core.ops.onnx_cases import Case, cases, check_case
from tests.core.ops.single_node import Rule, check_rule, run_node

RNG = np.random.default_rng(0)
CLOSE: dict[str, Any] = {"rtol": 1e-5, "atol": 1e-6}
# torch's order of gates in weights -> the order of ONNX
GATES = {"RNN": [0], "GRU": [1, 0, 2], "LSTM": [0, 3, 1, 2]}


@pytest.mark.parametrize("case", cases("RNN", "GRU", "LSTM"))
def test_onnx(case: Case) -> None:
    check_case(case)


def f32(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def _rule(op: str, gates: int, **attrs: Any) -> Rule:
    weights = [(2, gates * 4, 3), (2, gates * 4, 4), (2, gates * 8), ("a",)]
    states = [(2, "a", 4)] * (2 if op == "LSTM" else 1)
    attrs |= {"direction": "bidirectional", "hidden_size": 4}
    return Rule(op, [("b", "a", 3), *weights, *states], attrs, {4: "int32"}, {4: 2}, num_outputs=1 + len(states))


RULES = [
    _rule("RNN", 1),
    _rule("GRU", 3, linear_before_reset=1),
    _rule("LSTM", 4, input_forget=1),
    Rule("LSTM", [("a", "b", 3), (1, 16, 3), (1, 16, 4)], {"layout": 1}, num_outputs=3),
    Rule("ge.LSTM", [("b", "a", 3), (1, 16, 3), (1, 16, 2), *[None] * 4, (1, 2, 4)], {"hidden_size": 4}, num_outputs=3),
]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_sizes(rule: Rule) -> None:
    check_rule(rule)


def _weights(layer: torch.nn.RNNBase, op: str) -> list[np.ndarray]:
    """W, R, B of the first layer in ONNX's form."""
    directions = ["", "_reverse"] if layer.bidirectional else [""]
    size = layer.hidden_size

    def gates(name: str) -> list[np.ndarray]:
        all_gates = getattr(layer, name).detach().numpy()
        return [all_gates[g * size : (g + 1) * size] for g in GATES[op]]

    w, r, b = (
        [np.concatenate([x for kind in kinds for x in gates(f"{kind}_l0{d}")]) for d in directions]
        for kinds in (("weight_ih",), ("weight_hh",), ("bias_ih", "bias_hh"))
    )
    return [np.stack(x) for x in (w, r, b)]


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("op", ["RNN", "GRU", "LSTM"])
def test_against_torch(op: str, bidirectional: bool, batch_first: bool) -> None:
    torch.manual_seed(0)
    layer = getattr(torch.nn, op)(5, 4, bidirectional=bidirectional, batch_first=batch_first)
    directions = 2 if bidirectional else 1
    x, h, c = f32(3, 7, 5), f32(directions, 3, 4), f32(directions, 3, 4)
    x = x if batch_first else x.swapaxes(0, 1).copy()
    start = (torch.from_numpy(h), torch.from_numpy(c)) if op == "LSTM" else torch.from_numpy(h)
    with torch.no_grad():
        y, last = layer(torch.from_numpy(x), start)
    states = [h, c] if op == "LSTM" else [h]
    attrs = {"direction": "bidirectional" if bidirectional else "forward", "layout": int(batch_first)}
    if op == "GRU":
        attrs["linear_before_reset"] = 1
    given = [s.swapaxes(0, 1) if batch_first else s for s in states]
    got = run_node(op, x, *_weights(layer, op), None, *given, num_outputs=1 + len(states), **attrs)
    whole = got[0] if batch_first else got[0].transpose(0, 2, 1, 3)
    np.testing.assert_allclose(whole.reshape(y.shape), y.numpy(), **CLOSE)
    for mine, theirs in zip(got[1:], last if op == "LSTM" else [last], strict=True):
        np.testing.assert_allclose(mine.swapaxes(0, 1) if batch_first else mine, theirs.numpy(), **CLOSE)


def test_projection_against_torch() -> None:
    torch.manual_seed(0)
    layer = torch.nn.LSTM(5, 4, proj_size=3, bidirectional=True)
    x = f32(6, 2, 5)
    with torch.no_grad():
        y, (h, c) = layer(torch.from_numpy(x))
    p = np.stack([layer.weight_hr_l0.detach().numpy(), layer.weight_hr_l0_reverse.detach().numpy()])
    got = run_node(
        "ge.LSTM",
        x,
        *_weights(layer, "LSTM"),
        None,
        None,
        None,
        p,
        num_outputs=3,
        hidden_size=4,
        direction="bidirectional",
    )
    np.testing.assert_allclose(got[0].transpose(0, 2, 1, 3).reshape(y.shape), y.numpy(), **CLOSE)
    np.testing.assert_allclose(got[1], h.numpy(), **CLOSE)
    np.testing.assert_allclose(got[2], c.numpy(), **CLOSE)


@pytest.mark.parametrize("op", ["RNN", "GRU", "LSTM"])
def test_lengths_against_packed_sequences(op: str) -> None:
    torch.manual_seed(0)
    layer = getattr(torch.nn, op)(5, 4, bidirectional=True)
    x, lengths = f32(6, 3, 5), np.array([6, 2, 4], np.int32)
    packed = torch.nn.utils.rnn.pack_padded_sequence(torch.from_numpy(x), torch.tensor(lengths), enforce_sorted=False)
    with torch.no_grad():
        y, last = layer(packed)
    expected, _ = torch.nn.utils.rnn.pad_packed_sequence(y)
    attrs: dict[str, Any] = {"direction": "bidirectional"} | ({"linear_before_reset": 1} if op == "GRU" else {})
    got = run_node(op, x, *_weights(layer, op), lengths, num_outputs=2, **attrs)
    np.testing.assert_allclose(got[0].transpose(0, 2, 1, 3).reshape(expected.shape), expected.numpy(), **CLOSE)
    np.testing.assert_allclose(got[1], (last[0] if op == "LSTM" else last).numpy(), **CLOSE)


def test_reverse_is_forward_on_the_reversed_sequence() -> None:
    x, w, r, b = f32(5, 2, 3), f32(1, 12, 3), f32(1, 12, 4), f32(1, 24)
    y, last = run_node("GRU", x, w, r, b, num_outputs=2, direction="reverse")
    expected, end = run_node("GRU", x[::-1].copy(), w, r, b, num_outputs=2)
    np.testing.assert_array_equal(y, expected[::-1])
    np.testing.assert_array_equal(last, end)


ACTIVATIONS: dict[str, tuple[list[float], list[float], Callable[[np.ndarray], np.ndarray]]] = {
    "Relu": ([], [], lambda x: np.maximum(x, 0)),
    "Tanh": ([], [], np.tanh),
    "Sigmoid": ([], [], lambda x: 1 / (1 + np.exp(-x))),
    "Affine": ([2.0], [0.5], lambda x: 2 * x + 0.5),
    "LeakyRelu": ([], [], lambda x: np.where(x >= 0, x, 0.01 * x)),
    "ThresholdedRelu": ([0.3], [], lambda x: np.where(x >= 0.3, x, 0)),
    "ScaledTanh": ([1.5], [0.5], lambda x: 1.5 * np.tanh(0.5 * x)),
    "HardSigmoid": ([], [], lambda x: np.clip(0.2 * x + 0.5, 0, 1)),
    "Elu": ([0.7], [], lambda x: np.where(x >= 0, x, 0.7 * np.expm1(x))),
    "Softsign": ([], [], lambda x: x / (1 + np.abs(x))),
    "Softplus": ([], [], lambda x: np.log1p(np.exp(x))),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("clip", [None, 0.8])
def test_activations(name: str, clip: float | None) -> None:
    alpha, beta, function = ACTIVATIONS[name]
    x, w, r = f32(1, 4, 3), f32(1, 5, 3), f32(1, 5, 5)
    before = x[0].astype(np.float64) @ w[0].T
    expected = function(before if clip is None else np.clip(before, -clip, clip))
    attrs: dict[str, Any] = {"activations": [name], "clip": clip}
    attrs |= {"activation_alpha": alpha} if alpha else {}
    attrs |= {"activation_beta": beta} if beta else {}
    np.testing.assert_allclose(run_node("RNN", x, w, r, num_outputs=1, **attrs)[0, 0], expected, rtol=1e-5, atol=1e-6)


def test_alphas_go_to_the_functions_that_take_them() -> None:
    x, w, r = f32(1, 2, 3), f32(1, 8, 3), f32(1, 8, 2)
    attrs: dict[str, Any] = {"activations": ["HardSigmoid", "Tanh", "LeakyRelu"]}
    got = run_node("LSTM", x, w, r, num_outputs=1, activation_alpha=[0.4, 0.3], activation_beta=[0.1], **attrs)
    i, o, _, c = np.split(x[0].astype(np.float64) @ w[0].T, 4, axis=1)
    gate = [np.clip(0.4 * v + 0.1, 0, 1) for v in (i, o)]
    cell = gate[0] * np.tanh(c)
    np.testing.assert_allclose(got[0, 0], gate[1] * np.where(cell >= 0, cell, 0.3 * cell), **CLOSE)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_types(dtype: str) -> None:
    operands = [v.astype(dtype) for v in (f32(4, 2, 3), f32(1, 16, 3), f32(1, 16, 4), f32(1, 32))]
    wide = [v.astype(np.float64) for v in operands]
    expected = run_node("LSTM", *wide, num_outputs=1)
    got = run_node("LSTM", *operands, num_outputs=1)
    assert got.dtype == dtype
    np.testing.assert_allclose(got, expected, rtol=1e-3 if dtype == "float16" else 1e-12, atol=1e-3)


def test_an_empty_sequence_keeps_the_state() -> None:
    h = f32(1, 2, 4)
    y, last = run_node("RNN", f32(0, 2, 3), f32(1, 4, 3), f32(1, 4, 4), None, None, h, num_outputs=2)
    assert y.shape == (0, 1, 2, 4)
    np.testing.assert_array_equal(last, h)


@pytest.mark.parametrize(
    ("shapes", "attrs", "why"),
    [
        ([(5, 2, 3), (1, 15, 3), (1, 16, 4)], {}, "a size of W and the expected one differ: 15 and 16"),
        ([(5, 2, 3), (1, 16, 3), (1, 16, 4)], {"direction": "bidirectional"}, "differ: 1 and 2"),
        ([(5, 2, 3), (1, 16, 3), (1, 16, 4)], {"activations": ["Tanh"]}, "1 activations, expected 3"),
        ([(5, 2, 3), (1, 16, 3), (1, 16, 4)], {"activations": ["Tanh", "Sine", "Tanh"]}, "unknown activation 'Sine'"),
        ([(2, 3), (1, 16, 3), (1, 16, 4)], {}, "rank 2, expected 3"),
    ],
)
def test_refused(shapes: list[tuple[int, ...]], attrs: dict[str, Any], why: str) -> None:
    with pytest.raises(TypeRuleError, match=why):
        run_node("LSTM", *(np.ones(s, np.float32) for s in shapes), num_outputs=1, **attrs)
