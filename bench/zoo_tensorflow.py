"""The list of TensorFlow models: name to a function that builds the model and the specification of its inputs, with
random weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np
import tensorflow as tf
from keras import layers as L

from bench.zoo_tensorflow_ops import control, counted_words, image_operators, math_operators, stateful, table


@dataclass
class Example:
    """A model with the specifications of its inputs.

    Attributes:
        args: TensorSpecs; None is a size that may change.
        shapes: names of those sizes.
        bounds: least and largest value (exclusive) of integer inputs.
    """

    model: Any
    args: tuple[Any, ...]
    shapes: Any = None
    bounds: tuple[int, int] = (0, 100)
    kwargs: dict[str, Any] = field(default_factory=dict)
    values: bool = True


Build = Callable[[], Example]
MODELS: dict[str, Build] = {}


def _vary(model: Any) -> None:
    """Let the weights differ from their initial values, which make most results alike."""
    random = np.random.default_rng(0)
    for variable in model.weights:
        name, shape = variable.name, tuple(variable.shape)
        if "variance" in name or name in ("gamma", "scale"):
            variable.assign(random.uniform(0.5, 1.5, shape))
        elif len(shape) == 1 and not variable.dtype.startswith("int"):
            variable.assign(random.normal(0, 0.1, shape))
    last = [v for v in model.weights if len(v.shape) == 2]
    if last:
        last[-1].assign(last[-1].numpy() * 5)


def application(name: str, size: int) -> Build:
    """An image model of Keras; the batch is dynamic."""

    def build() -> Example:
        model = getattr(keras.applications, name)(weights=None)
        _vary(model)
        return Example(model, (tf.TensorSpec([None, size, size, 3], tf.float32),))

    return build


_LARGE = ("InceptionV3", "Xception", "InceptionResNetV2")
for _name in ("ResNet50", "ResNet50V2", "MobileNet", "MobileNetV2", "MobileNetV3Large", "EfficientNetB0",
              "EfficientNetV2B0", "DenseNet121", "InceptionV3", "ConvNeXtTiny", "VGG16", "Xception", "NASNetMobile",
              "InceptionResNetV2"):  # fmt: skip
    MODELS[f"keras/{_name}"] = application(_name, 299 if _name in _LARGE else 224)


def sequence(make: Callable[[], Sequence[Any]], shape: Sequence[int | None], dtype: str = "float32") -> Build:
    """A stack of layers."""

    def build() -> Example:
        model = keras.Sequential([L.Input(shape, dtype=dtype), *make()])
        names = ("batch", *("length" if size is None else None for size in shape))
        return Example(model, (tf.TensorSpec([None, *shape], tf.as_dtype(dtype)),), (names,))

    return build


MODELS["keras/LSTM"] = sequence(lambda: [L.LSTM(32, return_sequences=True), L.LSTM(16)], (None, 8))
MODELS["keras/LSTM-static-unroll"] = sequence(lambda: [L.LSTM(32, unroll=True)], (5, 8))
MODELS["keras/GRU"] = sequence(
    lambda: [L.GRU(32, return_sequences=True), L.GRU(16, reset_after=False)], (None, 8)
)  # fmt: skip
MODELS["keras/SimpleRNN"] = sequence(lambda: [L.SimpleRNN(32)], (None, 8))
MODELS["keras/Bidirectional-LSTM-mask"] = sequence(
    lambda: [
        L.Embedding(100, 16, mask_zero=True), L.Bidirectional(L.LSTM(32, return_sequences=True)),
        L.Bidirectional(L.GRU(8)), L.Dense(2, activation="softmax"),
    ], (None,), "int32",
)  # fmt: skip
MODELS["keras/ConvLSTM2D"] = sequence(lambda: [L.ConvLSTM2D(4, 3)], (5, 16, 16, 3))

_SEQUENCE = (tf.TensorSpec([None, None, 64], tf.float32),)


def attention() -> Example:
    x = keras.Input((None, 64))
    y = L.MultiHeadAttention(4, 16)(x, x, use_causal_mask=True)
    y = L.LayerNormalization()(x + y)
    return Example(keras.Model(x, L.Dense(64, activation="gelu")(y)), _SEQUENCE, (("batch", "length", None),))


def grouped_attention() -> Example:
    x = keras.Input((None, 64))
    y = L.GroupQueryAttention(16, 4, 2)(x, x)
    return Example(keras.Model(x, L.RMSNormalization()(x + y)), _SEQUENCE, (("batch", "length", None),))


def many_layers() -> Example:
    x, y, z = keras.Input((32, 32, 6)), keras.Input((10, 6)), keras.Input((6, 8, 8, 2))
    image = [
        L.Conv2DTranspose(4, 3, 2, "same"), L.DepthwiseConv2D(3, 2, "same"),
        L.SeparableConv2D(4, 3, dilation_rate=2, padding="same"), L.GroupNormalization(3), L.UnitNormalization(),
        L.UpSampling2D(2, interpolation="bilinear"), L.UpSampling2D(2), L.ZeroPadding2D(1), L.Cropping2D(1),
        L.GlobalAveragePooling2D(), L.GlobalMaxPooling2D(), L.MaxPooling2D(3, 2, "same"),
        L.AveragePooling2D(3, 2, "same"), L.PReLU(), L.LeakyReLU(), L.ELU(), L.Softmax(), L.Permute((3, 1, 2)),
        L.Flatten(), L.Resizing(17, 19), L.Rescaling(2.0), L.SpatialDropout2D(0.1), L.Conv2D(6, 3, groups=3),
        L.CenterCrop(10, 10),
    ]  # fmt: skip
    series = [
        L.Conv1D(4, 3, padding="causal"), L.Conv1DTranspose(4, 3), L.MaxPooling1D(), L.GlobalMaxPooling1D(),
        L.EinsumDense("abc,cd->abd", output_shape=(None, 5)), L.TimeDistributed(L.Dense(3)),
    ]  # fmt: skip
    volume = [L.Conv3D(3, 3), L.MaxPooling3D(2), L.AveragePooling3D(2), L.Conv3DTranspose(2, 2)]
    outputs = [layer(x) for layer in image] + [layer(y) for layer in series] + [L.Attention()([y, y])]
    model = keras.Model([x, y, z], outputs + [layer(z) for layer in volume])
    shapes = ([None, 32, 32, 6], [None, 10, 6], [None, 6, 8, 8, 2])
    return Example(model, tuple(tf.TensorSpec(shape, tf.float32) for shape in shapes))


MODELS["keras/MultiHeadAttention"] = attention
MODELS["keras/GroupQueryAttention"] = grouped_attention
MODELS["keras/misc-layers"] = many_layers


class Encoder(tf.Module):
    """A text encoder in plain TensorFlow."""

    def __init__(self, vocabulary: int = 1000, hidden: int = 64, layers: int = 2, heads: int = 4) -> None:
        super().__init__()
        self.hidden, self.heads = hidden, heads
        self.words = tf.Variable(tf.random.normal([vocabulary, hidden]))
        self.places = tf.Variable(tf.random.normal([128, hidden]))
        square, sizes = [hidden, hidden], {"f1": [hidden, 4 * hidden], "f2": [4 * hidden, hidden]}
        shapes = {**dict.fromkeys("qkvo", square), **sizes, **dict.fromkeys(("g1", "b1", "g2", "b2"), [hidden])}
        self.layers = [{k: tf.Variable(tf.random.normal(s)) for k, s in shapes.items()} for _ in range(layers)]

    def normed(self, x: Any, gain: Any, bias: Any) -> Any:
        mean, variance = tf.nn.moments(x, [-1], keepdims=True)
        return (x - mean) * tf.math.rsqrt(variance + 1e-12) * gain + bias

    def __call__(self, ids: Any, mask: Any) -> Any:
        batch, length = tf.shape(ids)[0], tf.shape(ids)[1]
        x = tf.gather(self.words, ids) + self.places[:length]
        added = (1.0 - tf.cast(mask, tf.float32))[:, None, None, :] * -1e9

        def split(x: Any, weight: Any) -> Any:
            parts = [batch, length, self.heads, self.hidden // self.heads]
            return tf.transpose(tf.reshape(tf.einsum("bsh,hd->bsd", x, weight), parts), [0, 2, 1, 3])

        for p in self.layers:
            q, k, v = (split(x, p[name]) for name in "qkv")
            weights = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / 8.0 + added)
            found = tf.reshape(tf.transpose(tf.matmul(weights, v), [0, 2, 1, 3]), [batch, length, self.hidden])
            x = self.normed(x + tf.tensordot(found, p["o"], 1), p["g1"], p["b1"])
            x = self.normed(x + tf.matmul(tf.nn.gelu(tf.matmul(x, p["f1"])), p["f2"]), p["g2"], p["b2"])
        return x


def encoder() -> Example:
    specs = (tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None, None], tf.int32))
    return Example(Encoder(), specs, (("batch", "length"), ("batch", "length")), (0, 2))


MODELS["tf.Module/bert-like"] = encoder
MODELS["tf/image-ops"] = lambda: Example(image_operators(), (tf.TensorSpec([None, 16, 16, 3]),))
MODELS["tf/math-ops"] = lambda: Example(
    math_operators(), (tf.TensorSpec([4, 4, 4]), tf.TensorSpec([2, 3], tf.int32)), bounds=(0, 4)
)
MODELS["tf/control-flow"] = lambda: Example(
    control(), (tf.TensorSpec([None, 4]), tf.TensorSpec([], tf.int32)), bounds=(3, 4)
)
MODELS["tf/stateful-var"] = lambda: Example(stateful(), (tf.TensorSpec([None, 4]),))
MODELS["tf/string-table"] = lambda: Example(table(), (tf.TensorSpec([None], tf.string),))
MODELS["tf/string-branch"] = lambda: Example(counted_words(), (tf.TensorSpec([None, 4]),))
