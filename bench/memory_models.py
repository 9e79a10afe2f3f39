"""Graphs whose memory is known from the literature or by counting, built by hand with weights that take no memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ge_core.ir import Builder, DType, Graph, TensorType, Value
from ge_core.ir.constant import Constant


class Weights:
    """Constants of given shapes, all different, each one number repeated by strides of zero."""

    def __init__(self, b: Builder, dtype: str) -> None:
        self.b, self.dtype, self.count = b, DType.of(dtype), 0

    def __call__(self, *shape: int) -> Value:
        self.count += 1
        one = np.asarray(self.count, self.dtype.numpy)
        return self.b.constant(Constant(TensorType(self.dtype, shape), lambda: np.broadcast_to(one, shape)))


def unet(size: int = 512, widths: Sequence[int] = (64, 128, 256, 512, 1024)) -> Graph:
    """U-Net for one image of size x size, float32: two padded 3x3 convolutions a level, skips by Concat."""
    graph = Graph("unet")
    b = Builder(graph)
    weight = Weights(b, "float32")
    x = b.input("image", "float32", (1, 3, size, size))

    def double(x: Value, width: int) -> Value:
        for _ in range(2):
            x = b.Relu(b.Conv(x, weight(width, int(x.shape[1]), 3, 3), weight(width), pads=[1, 1, 1, 1]))  # type: ignore[arg-type]
        return x

    skips = []
    for width in widths[:-1]:
        x = double(x, width)
        skips.append(x)
        x = b.MaxPool(x, kernel_shape=[2, 2], strides=[2, 2])
    x = double(x, widths[-1])
    for width, skip in zip(reversed(widths[:-1]), reversed(skips), strict=True):
        x = b.ConvTranspose(x, weight(2 * width, width, 2, 2), weight(width), strides=[2, 2])
        x = double(b.Concat([skip, x], axis=1), width)
    b.outputs(b.Conv(x, weight(2, widths[0], 1, 1), weight(2)))
    return graph


def llama(
    *, sequence: int = 2048, layers: int = 32, last_logits: bool = False, scores: str = "",
    width: int = 4096, hidden: int = 11008, heads: int = 32, vocabulary: int = 32000,
) -> Graph:  # fmt: skip
    """The LLaMA-2-7B configuration: float16, batch 1, rotary tables as constants.

    Args:
        last_logits: logits of the last token alone.
        scores: element type in which attention keeps its scores in memory; empty for fused attention.
    """
    graph = Graph("llama")
    b = Builder(graph)
    weight = Weights(b, "float16")
    head = width // heads
    cos, sin = weight(1, sequence, head // 2), weight(1, sequence, head // 2)
    mask = weight(1, 1, sequence, sequence) if scores else None
    x = b.Gather(weight(vocabulary, width), b.input("tokens", "int64", (1, sequence)))

    def rotated(x: Value) -> Value:
        return b.RotaryEmbedding(x, cos, sin, num_heads=heads)

    def split(x: Value) -> Value:
        return b.Transpose(b.Reshape(x, b.ints(1, sequence, heads, head)), perm=[0, 2, 1, 3])

    def attention(q: Value, k: Value, v: Value) -> Value:
        if mask is None:
            return b.Attention(q, k, v, q_num_heads=heads, kv_num_heads=heads, is_causal=1)
        found = b.MatMul(split(q), b.Transpose(split(k), perm=[0, 1, 3, 2]))
        found = b.Softmax(b.Cast(b.Add(b.Mul(found, head**-0.5), mask), to=scores))
        found = b.MatMul(b.Cast(found, to="float16") if scores != "float16" else found, split(v))
        return b.Reshape(b.Transpose(found, perm=[0, 2, 1, 3]), b.ints(1, sequence, width))

    for _ in range(layers):
        h = b.RMSNormalization(x, weight(width))
        q, k, v = (b.MatMul(h, weight(width, width)) for _ in range(3))
        x = b.Add(x, b.MatMul(attention(rotated(q), rotated(k), v), weight(width, width)))
        h = b.RMSNormalization(x, weight(width))
        gate, up = b.MatMul(h, weight(width, hidden)), b.MatMul(h, weight(width, hidden))
        x = b.Add(x, b.MatMul(b.SwiGLU(gate, up), weight(hidden, width)))
    h = b.RMSNormalization(x, weight(width))
    if last_logits:
        h = b.Slice(h, b.ints(sequence - 1), b.ints(sequence), b.ints(1))
    b.outputs(b.MatMul(h, weight(width, vocabulary)))
    return graph


def randwire(size: int = 224, width: int = 78, nodes: int = 32, seeds: Sequence[int] = (1, 2, 3)) -> Graph:
    """A randomly wired network: a stage for each seed, its nodes wired by the Watts-Strogatz graph WS(32, 4, 0.75).

    A node sums what it is given, then ReLU and a separable convolution; a stage ends in the mean of the nodes that
    feed no other one. Needs networkx.
    """
    import networkx

    graph = Graph("randwire")
    b = Builder(graph)
    weight = Weights(b, "float32")

    def separable(x: Value, out: int, stride: int) -> Value:
        channels = int(x.shape[1])  # type: ignore[arg-type]
        x = b.Conv(
            b.Relu(x), weight(channels, 1, 3, 3), group=channels, pads=[1, 1, 1, 1], strides=[stride, stride]
        )  # fmt: skip
        return b.Conv(x, weight(out, channels, 1, 1), weight(out))

    x = b.input("image", "float32", (1, 3, size, size))
    x = b.Conv(x, weight(width // 2, 3, 3, 3), weight(width // 2), pads=[1, 1, 1, 1], strides=[2, 2])
    x = separable(x, width, 2)
    for stage, seed in enumerate(seeds):
        wiring = networkx.connected_watts_strogatz_graph(nodes, 4, 0.75, seed=seed)
        made: list[Value] = []
        for node in range(nodes):
            given = [made[other] for other in sorted(wiring[node]) if other < node]
            mixed = b.Sum(given) if len(given) > 1 else given[0] if given else x
            made.append(separable(mixed, width << stage, 1 if given else 2))
        last = [made[node] for node in range(nodes) if not any(other > node for other in wiring[node])]
        x = b.Mul(b.Sum(last), 1 / len(last)) if len(last) > 1 else last[0]
    x = b.Relu(b.Conv(x, weight(1280, int(x.shape[1]), 1, 1), weight(1280)))  # type: ignore[arg-type]
    x = b.Reshape(b.GlobalAveragePool(x), b.ints(1, 1280))
    b.outputs(b.Add(b.MatMul(x, weight(1280, 1000)), weight(1000)))
    return graph
