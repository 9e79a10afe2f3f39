"""A second user of the builder: models built by hand, without any framework, from compile to a loaded file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import ge_core
from ge_core.ir import Builder, Graph, Location, Value, symbol

RNG = np.random.default_rng(0)


def weights(*shape: int) -> np.ndarray:
    return (RNG.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)


def erf(x: np.ndarray) -> np.ndarray:
    """Abramowitz and Stegun 7.1.26: absolute error below 1.5e-7."""
    t = 1 / (1 + 0.3275911 * np.abs(x))
    poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return np.sign(x) * (1 - poly * np.exp(-x * x))


def layer_norm(x: np.ndarray, scale: np.ndarray, bias: np.ndarray) -> np.ndarray:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale + bias


class Mlp:
    """x + W2 gelu(W1 norm(x))."""

    def __init__(self, width: int, hidden: int) -> None:
        self.scale, self.bias = 1 + weights(width) * 0.1, weights(width)
        self.w1, self.b1, self.w2, self.b2 = (
            weights(width, hidden),
            weights(hidden),
            weights(hidden, width),
            weights(width),
        )

    def build(self, b: Builder, x: Value) -> Value:
        h = b.LayerNormalization(x, self.scale, self.bias, axis=-1, epsilon=1e-5)
        h = b.Gelu(b.Add(b.MatMul(h, self.w1), self.b1))
        return b.Add(x, b.Add(b.MatMul(h, self.w2), self.b2))

    def __call__(self, x: np.ndarray) -> np.ndarray:
        h = layer_norm(x, self.scale, self.bias) @ self.w1 + self.b1
        return x + (h * 0.5 * (1 + erf(h / np.sqrt(2)))) @ self.w2 + self.b2


class Attention:
    """Causal self-attention with heads, written out: projections, scores, mask, softmax, values, projection."""

    def __init__(self, width: int, heads: int) -> None:
        self.width, self.heads = width, heads
        self.qkv, self.out = weights(width, 3 * width), weights(width, width)

    def build(self, b: Builder, x: Value) -> Value:
        batch, length, _ = x.shape
        each = self.width // self.heads
        parts = b.Split(b.MatMul(x, self.qkv), axis=2, num_outputs=3)
        shape = b.ints(batch, length, self.heads, each)
        q, k, v = (b.Transpose(b.Reshape(p, shape), perm=[0, 2, 1, 3]) for p in parts)
        scores = b.Mul(b.MatMul(q, b.Transpose(k, perm=[0, 1, 3, 2])), 1 / np.sqrt(each))
        steps = b.Range(np.int64(0), b.scalar(length), np.int64(1))
        allowed = b.LessOrEqual(b.Unsqueeze(steps, np.array([0])), b.Unsqueeze(steps, np.array([1])))
        mixed = b.MatMul(b.Softmax(b.Where(allowed, scores, np.float32(-1e9))), v)
        joined = b.Reshape(b.Transpose(mixed, perm=[0, 2, 1, 3]), b.ints(batch, length, self.width))
        return b.Add(x, b.MatMul(joined, self.out))

    def __call__(self, x: np.ndarray) -> np.ndarray:
        batch, length, width = x.shape
        q, k, v = (
            p.reshape(batch, length, self.heads, -1).transpose(0, 2, 1, 3) for p in np.split(x @ self.qkv, 3, axis=2)
        )
        scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(width // self.heads)
        scores = np.where(np.tril(np.ones((length, length), bool)), scores, -1e9)
        e = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (e / e.sum(-1, keepdims=True)) @ v
        return x + mixed.transpose(0, 2, 1, 3).reshape(batch, length, width) @ self.out


def test_mlp_and_attention_from_builder_to_loaded_file(tmp_path: Path) -> None:
    attention, mlp = Attention(32, 4), Mlp(32, 64)
    graph = Graph("block")
    b = Builder(graph)
    x = b.input("x", "float32", (symbol("batch", 1), symbol("length", 1, 64), 32))
    with b.at(Location("hand", "attention")):
        h = attention.build(b, x)
    with b.at(Location("hand", "mlp")):
        b.outputs(mlp.build(b, h))

    model = ge_core.compile(graph, (np.zeros((2, 8, 32), np.float32),), target="reference")
    model.save(tmp_path / "block.om")
    loaded = ge_core.load(tmp_path / "block.om")
    assert model.report.memory["main"].ratio == 1.0
    for batch, length in [(2, 8), (1, 1), (3, 17), (1, 64)]:
        x_value = weights(batch, length, 32)
        want = mlp(attention(x_value))
        for compiled in (model, loaded):
            np.testing.assert_allclose(compiled(x_value), want, atol=1e-5 * np.abs(want).max())
        assert np.array_equal(model(x=x_value), loaded(x_value))
