"""Recurrent layers: one node a layer with constant weights, whatever the mode, direction, lengths and sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle
import pytest
from paddle import nn
from paddle.static import InputSpec

from ge_core.ir.graph import constant_of
from tests.frontends.paddle.agreement import check
from tests.frontends.paddle.variants.data import f32

X = InputSpec([None, None, 3], "float32", "x")


class WithLengths(nn.Layer):
    """A layer with the number of steps that each sequence has."""

    def __init__(self, layer: nn.Layer) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Any, lengths: Any) -> Any:
        return self.layer(x, sequence_length=lengths)


@pytest.mark.parametrize("direction", ["forward", "bidirect"])
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "SimpleRNN"])
def test_a_layer_is_one_node_with_constant_weights(kind: str, direction: str) -> None:
    layer = getattr(nn, kind)(3, 4, 2, direction=direction)
    layer.eval()
    imported = check(layer, [X], [f32(2, 5, 3)], [f32(1, 1, 3)], [f32(3, 2, 3)])
    nodes = [node for node in imported.graph.nodes if node.op in ("LSTM", "GRU", "RNN")]
    assert len(nodes) == 2
    assert all(constant_of(node.input(i)) is not None for node in nodes for i in (1, 2, 3))


@pytest.mark.parametrize("direction", ["forward", "bidirect"])
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "SimpleRNN"])
def test_sequence_lengths(kind: str, direction: str) -> None:
    layer = WithLengths(getattr(nn, kind)(3, 4, 2, direction=direction))
    layer.eval()
    lengths = InputSpec([None], "int64", "lengths")
    check(
        layer, [X, lengths],
        [f32(3, 5, 3), np.array([5, 1, 3])],
        [f32(1, 4, 3), np.array([2])],
    )  # fmt: skip


def test_time_first_and_given_states() -> None:
    class Net(nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.LSTM(3, 4, time_major=True)

        def forward(self, x: Any, h: Any, c: Any) -> Any:
            return self.layer(x, (h, c))

    net = Net()
    net.eval()
    state = InputSpec([1, None, 4], "float32")
    check(net, [X, state, state], [f32(5, 2, 3), f32(1, 2, 4), f32(1, 2, 4)])


def test_weights_that_the_model_computes() -> None:
    class Net(nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.GRU(3, 4)

        def forward(self, x: Any, w: Any) -> Any:
            cell = self.layer
            zeros = paddle.zeros([1, 2, 4])
            weights = [w * 2, cell.weight_hh_l0, cell.bias_ih_l0, cell.bias_hh_l0]
            return paddle._C_ops.rnn(
                x, [zeros], weights, None, paddle.zeros([1], "uint8"), 0.0, False, 3, 4, 1, "GRU", 0, True
            )[0]

    net = Net()
    net.eval()
    imported = check(
        net, [InputSpec([None, 2, 3], "float32", "x"), InputSpec([12, 3], "float32", "w")], [f32(5, 2, 3), f32(12, 3)]
    )
    (node,) = (node for node in imported.graph.nodes if node.op == "GRU")
    assert constant_of(node.input(1)) is None and constant_of(node.input(2)) is not None


def test_dropout_between_layers_vanishes() -> None:
    class Net(nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.GRU(3, 4, 2, dropout=0.5)

        def forward(self, x: Any) -> Any:
            return self.layer(x)[0]

    net = Net()
    net.eval()
    check(net, [X], [f32(2, 3, 3)])


def test_shapes_known_while_importing_take_one_node() -> None:
    def model(x: Any) -> Any:
        rows = paddle.shape(x)[0]
        return paddle.zeros([rows, 2, 3]) + 1, paddle.shape(x)[1:], paddle.shape(x)[-1]

    imported = check(model, [X], [f32(2, 5, 3)], [f32(1, 1, 3)])
    assert {node.op for node in imported.graph.nodes} <= {"Shape", "ge.Dims", "ConstantOfShape", "Cast", "Add"}
