"""Operators that a chip has for whole layers: recurrent ones, quantisation, losses, deformable convolutions."""

from __future__ import annotations

import numpy as np
import pytest

from ge_core.ir import Builder, Graph, Value
from tests.backends.ascend.roundtrip import data, graph_of, lowered, same, types

RNG = np.random.default_rng(11)
HIDDEN, WIDTH = 3, 5


def array(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def recurrent(
    op: str,
    direction: str,
    *,
    bias: bool = True,
    state: bool = True,
    length: int | str = 4,
    outputs: int = 9,
    **attrs: object,
) -> Graph:
    count = 2 if direction == "bidirectional" else 1
    gates = 4 if op == "LSTM" else 3
    w, r, b_ = (
        array(count, gates * HIDDEN, WIDTH),
        array(count, gates * HIDDEN, HIDDEN),
        array(count, 2 * gates * HIDDEN),
    )
    states = (2 if op == "LSTM" else 1) if state else 0

    def build(b: Builder, x: Value, *first: Value) -> list[Value]:
        given = [b.constant(w), b.constant(r), b.constant(b_) if bias else None, None, *first]
        number = min(outputs, 3 if op == "LSTM" else 2)
        found = b.op(op, x, *given, hidden_size=HIDDEN, direction=direction, num_outputs=number, **attrs)
        return [found] if isinstance(found, Value) else list(found)

    return graph_of(build, ("float32", (length, 2, WIDTH)), *[("float32", (count, 2, HIDDEN))] * states)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize(("bias", "state", "length"), [(True, True, 4), (False, False, "n"), (True, False, 1)])
def test_an_lstm_is_an_operator_for_each_direction(direction: str, bias: bool, state: bool, length: int | str) -> None:
    graph = recurrent("LSTM", direction, bias=bias, state=state, length=length)
    for target, mode, tolerance in (("ascend910b", None, 1e-5), ("ascend910_93", "force_fp16", 5e-3)):
        found = types(same(graph, target=target, mode=mode, tolerance=tolerance, sizes={"n": 6}))
        assert found.count("DynamicRNN") == (2 if direction == "bidirectional" else 1) and "CommonLSTM" not in found
    assert "CommonLSTM" in types(same(graph, target="ascend310p", tolerance=5e-3, sizes={"n": 6}))


@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize(("bias", "state"), [(True, True), (False, False)])
def test_a_gru_of_half_precision_is_an_operator_for_each_direction(direction: str, bias: bool, state: bool) -> None:
    graph = recurrent("GRU", direction, bias=bias, state=state, linear_before_reset=1)
    found = types(same(graph, mode="force_fp16", tolerance=5e-3))
    assert found.count("DynamicGRUV2") == (2 if direction == "bidirectional" else 1) and "CommonGRU" not in found
    assert "CommonGRU" in types(same(graph))
    before = recurrent("GRU", direction, bias=bias, state=state, linear_before_reset=0)
    assert "CommonGRU" in types(same(before, mode="force_fp16", tolerance=5e-3))


def test_what_the_operator_cannot_say_stays_with_the_common_one() -> None:
    for attrs in ({"clip": 1.0}, {"activations": ["Sigmoid", "Relu", "Tanh"]}, {"input_forget": 1}):
        assert "CommonLSTM" in types(lowered(recurrent("LSTM", "forward", **attrs)))
    assert "DynamicRNN" in types(same(recurrent("LSTM", "forward", outputs=1)))
    assert "DynamicRNN" in types(same(recurrent("LSTM", "reverse", outputs=2)))


def quantised(scale: float | list[float], zero: int, kind: str, axis: int = 1) -> Graph:
    shape = np.shape(scale)

    def build(b: Builder, x: Value) -> Value:
        zeros = b.constant(np.broadcast_to(np.array(zero, kind), shape).copy())
        return b.QuantizeLinear(x, b.constant(np.array(scale, np.float32)), zeros, axis=axis)

    return graph_of(build, ("float32", (2, 4)))


@pytest.mark.parametrize("target", ["ascend910b", "ascend310p"])
@pytest.mark.parametrize(
    ("scale", "zero", "kind"),
    [(0.25, 0, "int8"), (0.5, 4, "int8"), (0.125, 130, "uint8"), ([0.5, 0.25, 1.0, 2.0], -2, "int8")],
)
def test_quantising_by_the_unconfirmed_operator(target: str, scale: float | list[float], zero: int, kind: str) -> None:
    graph = quantised(scale, zero, kind)
    x = (np.arange(8, dtype=np.float32).reshape(2, 4) - 4) * 0.125 + 0.0625
    found = same(graph, [x * 8], target=target, mode="must_keep_origin_dtype", allow_unsure=True)
    assert "AscendQuantV2" in types(found) and "RealDiv" not in types(found)
    assert "AscendQuantV2" not in types(same(graph, [x], target=target, mode="must_keep_origin_dtype"))


@pytest.mark.parametrize(("per_column", "zero"), [(False, 0), (True, 3), (False, -5)])
def test_dequantising_by_the_unconfirmed_operator(per_column: bool, zero: int) -> None:
    scale = np.array([0.5, 0.25, 1.0, 2.0], np.float32) if per_column else np.float32(0.125)

    def build(b: Builder, x: Value) -> Value:
        zeros = b.constant(np.full(np.shape(scale), zero, np.int8))
        return b.Relu(b.DequantizeLinear(x, b.constant(np.asarray(scale)), zeros, axis=1))

    graph, x = graph_of(build, ("int8", (3, 4))), RNG.integers(-128, 128, (3, 4)).astype(np.int8)
    assert "AscendAntiQuantV2" in types(same(graph, [x], mode="force_fp16", tolerance=2e-3, allow_unsure=True))
    assert "AscendAntiQuantV2" not in types(same(graph, [x], allow_unsure=True))
    assert "AscendAntiQuantV2" not in types(same(graph, [x], mode="force_fp16", tolerance=2e-3))


def test_convolutions_of_whole_numbers_by_the_unconfirmed_operator() -> None:
    def build(b: Builder, x: Value, w: Value) -> Value:
        return b.ConvInteger(x, w, pads=[1, 0, 1, 2], strides=[1, 2], group=2)

    graph = graph_of(build, ("int8", (2, 4, 6, 5)), ("int8", (6, 2, 3, 3)))
    inputs = [RNG.integers(-128, 128, shape).astype(np.int8) for shape in ((2, 4, 6, 5), (6, 2, 3, 3))]
    for target in ("ascend910b", "ascend310p"):
        assert types(same(graph, inputs, target=target, allow_unsure=True)) == ["Conv2D"]
        assert "Cast" in types(same(graph, inputs, target=target))


def test_what_would_round_ties_otherwise_is_not_left_to_it() -> None:
    odd = quantised(0.5, 3, "int8")
    assert "RealDiv" in types(same(odd, allow_unsure=True))
    rows = quantised([0.5, 2.0], 0, "int8", axis=0)
    assert "AscendQuantV2" in types(same(rows, allow_unsure=True))
    assert "RealDiv" in types(same(rows, target="ascend310p", mode="must_keep_origin_dtype", allow_unsure=True))


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize(("weighted", "ignored"), [(True, 1), (False, None), (False, 2)])
def test_losses_by_the_unconfirmed_operator(reduction: str, weighted: bool, ignored: int | None) -> None:
    weight = np.array([0.5, 2.0, 1.0, 4.0], np.float32)
    attrs = {} if ignored is None else {"ignore_index": ignored}

    def build(b: Builder, x: Value, labels: Value) -> Value:
        given = b.constant(weight) if weighted else None
        return b.NegativeLogLikelihoodLoss(b.LogSoftmax(x, axis=1), labels, given, reduction=reduction, **attrs)

    graph = graph_of(build, ("float32", (5, 4)), ("int64", (5,)))
    x, _ = data(graph)
    inputs = [x, np.array([0, 1, 2, 3, 1])]
    assert "NLLLoss" in types(same(graph, inputs, allow_unsure=True))
    assert "NLLLoss" not in types(same(graph, inputs))
    assert "NLLLoss" not in types(same(graph, inputs, target="ascend310p", tolerance=5e-3, allow_unsure=True))


@pytest.mark.parametrize(
    ("attrs", "masked"),
    [({"strides": [2, 1], "pads": [1, 0, 1, 2], "offset_group": 2}, True), ({"group": 2, "dilations": [1, 2]}, False)],
)
def test_deformable_convolutions_by_the_unconfirmed_operator(attrs: dict[str, object], masked: bool) -> None:
    parts = attrs.get("offset_group", 1)
    w, bias = array(6, 4 // (2 if "group" in attrs else 1), 3, 2), array(6)
    rows, columns = (4, 8) if masked else (5, 5)

    def build(b: Builder, x: Value, offset: Value, *mask: Value) -> Value:
        return b.DeformConv(x, b.constant(w), offset, b.constant(bias), *mask, **attrs)

    offsets = ("float32", (2, (2 if parts == 2 else 1) * 12, rows, columns))
    masks = [("float32", (2, (2 if parts == 2 else 1) * 6, rows, columns))] if masked else []
    graph = graph_of(build, ("float32", (2, 4, 7, 7)), offsets, *masks)
    assert "DeformableConv2D" in types(same(graph, tolerance=1e-5, allow_unsure=True))
    assert "GridSampler2D" in types(same(graph, target="ascend310p", tolerance=5e-3, allow_unsure=True))
