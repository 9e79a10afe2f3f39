"""The list of MindSpore models: name to a function that builds the model and its example call, with random weights.

Needs mindcv.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

os.environ.setdefault("GLOG_v", "4")  # before the import: MindSpore's own log

import mindspore
import numpy as np
from mindspore import Tensor, mint, nn, ops

# MindSpore itself cannot export these: an operator is gone that mindcv 0.3 calls.
UNEXPORTABLE = frozenset({"mindcv/pvt_tiny"})


@dataclass
class Example:
    """A model with the arguments of one call.

    Attributes:
        args: tensors; a size of None may change.
        twin: runs in place of the model in MindSpore where its CPU lacks an operator of the model: the same model
            with that operator spelled out.
    """

    model: Any
    args: tuple[Any, ...]
    twin: Any = None
    shapes: Any = None
    kwargs: dict[str, Any] = field(default_factory=dict)
    values: bool = True


Build = Callable[[], Example]
MODELS: dict[str, Build] = {}


def _model(name: str) -> Callable[[Build], Build]:
    def register(build: Build) -> Build:
        assert name not in MODELS
        MODELS[name] = build
        return build

    return register


def _normal(*shape: int) -> Any:
    return Tensor(np.random.default_rng(0).standard_normal(shape).astype(np.float32))


def _vary(model: Any) -> Any:
    """Let the weights differ from their initial values, which make most results alike."""
    random = np.random.default_rng(0)
    for parameter in model.get_parameters():
        name, shape = parameter.name, parameter.shape
        if "variance" in name or "gamma" in name:
            parameter.set_data(Tensor(random.uniform(0.5, 1.5, shape).astype(np.float32)))
        elif len(shape) == 1 and parameter.dtype == mindspore.float32:
            parameter.set_data(Tensor(random.normal(0, 0.1, shape).astype(np.float32)))
    return model


# --- image models -------------------------------------------------------------------------------------------------

_MINDCV = (
    "resnet50", "mobilenet_v3_large_100", "mobilenet_v2_100", "efficientnet_b0", "densenet121", "vit_b_32_224",
    "swin_tiny", "convnext_tiny", "inception_v3", "googlenet", "shufflenet_v1_g3_10", "squeezenet1_0", "vgg11",
    "regnet_x_800mf", "mobilevit_small", "ghostnet_100", "poolformer_s12", "xcit_tiny_12_p16_224", "pvt_tiny",
    "coat_tiny", "edgenext_small", "crossvit_9",
)  # fmt: skip


def _image(name: str, dynamic: bool = False) -> Build:
    def build() -> Example:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import mindcv

        size = 299 if name == "inception_v3" else 224
        model = _vary(mindcv.create_model(name, pretrained=False))
        x = Tensor(shape=[None, 3, size, size], dtype=mindspore.float32) if dynamic else _normal(1, 3, size, size)
        return Example(model, (x,))

    return build


for _name in _MINDCV:
    _model(f"mindcv/{_name}")(_image(_name))
_model("mindcv/resnet50-dynbatch")(_image("resnet50", dynamic=True))

# --- layers -------------------------------------------------------------------------------------------------------


class _Recurrent(nn.Cell):
    def __init__(self, kind: str, **options: Any) -> None:
        super().__init__()
        self.r = getattr(nn, kind)(32, 64, 2, batch_first=True, **options)

    def construct(self, x: Any) -> Any:
        return self.r(x)


_model("ms.nn/LSTM-bidir")(lambda: Example(_Recurrent("LSTM", bidirectional=True), (_normal(2, 10, 32),)))
_model("ms.nn/GRU")(lambda: Example(_Recurrent("GRU"), (_normal(2, 10, 32),)))
_model("ms.nn/RNN")(lambda: Example(_Recurrent("RNN"), (_normal(2, 10, 32),)))


@_model("ms.nn/TransformerEncoder")
def _transformer_encoder() -> Example:
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, activation="gelu")
    return Example(_vary(nn.TransformerEncoder(layer, 2)), (_normal(2, 10, 64),))


@_model("ms.nn/Transformer")
def _transformer() -> Example:
    model = _vary(nn.Transformer(64, 4, 2, 2, 128, batch_first=True))
    return Example(model, (_normal(2, 10, 64), _normal(2, 7, 64)))


class _Attention(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.m = nn.MultiheadAttention(64, 4, batch_first=True)

    def construct(self, x: Any) -> Any:
        return self.m(x, x, x)[0]


_model("ms.nn/MultiheadAttention")(lambda: Example(_Attention(), (_normal(2, 10, 64),)))

# --- collections of operators -------------------------------------------------------------------------------------


def _layer_norm(x: Any, weight: Any, bias: Any, eps: float) -> Any:
    """What LayerNormExt computes over the last axis, by operators that MindSpore's CPU has."""
    mean = ops.mean(x, -1, True)
    apart = x - mean
    return apart / ops.sqrt(ops.mean(apart * apart, -1, True) + eps) * weight + bias


class _Mint(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.l = mint.nn.Linear(16, 16)
        self.e = mint.nn.Embedding(10, 16)
        self.ln = mint.nn.LayerNorm(16)

    def construct(self, x: Any, i: Any) -> Any:
        y = self.head(x) + self.e(i)
        y = mint.nn.functional.silu(self.gelu(y))
        y = mint.nn.functional.softmax(y, -1)
        y = mint.matmul(y, mint.transpose(y, 1, 2))
        y = mint.cat([y, y], -1)
        y = self.cumsum(y)
        y = mint.where(y > 0, y, -y)
        a = self.largest(y)
        y = mint.sum(y, -1)
        y = mint.mean(y) + mint.max(a) + mint.exp(y) + mint.rsqrt(mint.abs(y) + 1) + mint.erf(y)
        y = y + mint.clamp(y, 0, 1) + mint.pow(y, 2)
        found = (y, mint.argmax(x, -1), mint.gather(x, 1, i[:, :, None]), mint.split(x, 8, -1), mint.isclose(x, x))
        return (*found, mint.flatten(x), mint.permute(x, (2, 0, 1)), mint.unsqueeze(x, 0), *self.moved(x), x)

    def head(self, x: Any) -> Any:
        return self.ln(self.l(x))

    def gelu(self, x: Any) -> Any:
        return mint.nn.functional.gelu(x)

    def cumsum(self, x: Any) -> Any:
        return mint.cumsum(x, 1)

    def largest(self, x: Any) -> Any:
        return mint.topk(x, 2)[0]

    def moved(self, x: Any) -> Any:
        stacked, repeated = mint.stack([x, x]), mint.repeat_interleave(x, 2, 1)
        return mint.sort(x)[0], mint.tril(x[0]), stacked, repeated, mint.linspace(0, 1, 5)


class _MintSpelledOut(_Mint):
    """The same by operators that MindSpore's CPU has."""

    def head(self, x: Any) -> Any:
        return _layer_norm(self.l(x), self.ln.weight, self.ln.bias, 1e-5)

    def gelu(self, x: Any) -> Any:
        return x * 0.5 * (1 + ops.erf(x / 1.4142135623730951))

    def cumsum(self, x: Any) -> Any:
        return ops.cumsum(x, 1)

    def largest(self, x: Any) -> Any:
        return ops.topk(x, 2)[0]

    def moved(self, x: Any) -> Any:
        repeated = ops.reshape(ops.tile(ops.expand_dims(x, 2), (1, 1, 2, 1)), (2, 10, 16))
        return (
            ops.sort(x)[0],
            ops.tril(x[0]),
            ops.stack([x, x]),
            repeated,
            Tensor(np.linspace(0, 1, 5).astype(np.float32)),
        )


@_model("ms.mint/ops")
def _mint() -> Example:
    model = _vary(_Mint())
    twin = _MintSpelledOut()
    mindspore.load_param_into_net(twin, model.parameters_dict())
    return Example(model, (_normal(2, 5, 16), Tensor(np.array([[1, 1, 2, 3, 4]] * 2, np.int64))), twin)


class _Ops(nn.Cell):
    def __init__(self, spelled_out: bool = False) -> None:
        super().__init__()
        self.spelled_out = spelled_out

    def construct(self, x: Any) -> Any:
        return (*self.images(x), *self.activations(x), *self.movement(x), *self.numbers(x))

    def images(self, x: Any) -> Any:
        ones, zeros = ops.ones(3, mindspore.float32), ops.zeros(3, mindspore.float32)
        one, zero = ops.ones(16, mindspore.float32), ops.zeros(16, mindspore.float32)
        return (
            ops.interpolate(x, size=(20, 20), mode="bilinear"),
            ops.interpolate(x, size=(20, 20), mode="nearest"),
            ops.pad(x, (1, 1, 2, 2), mode="constant"),
            ops.max_pool2d(x, 3, 2, 1),
            ops.avg_pool2d(x, 3, 2, 1),
            ops.adaptive_avg_pool2d(x, (3, 5)),
            _layer_norm(x, one, zero, 1e-5) if self.spelled_out else ops.layer_norm(x, (16,), one, zero),
            ops.pixel_shuffle(ops.tile(x, (1, 4, 1, 1)), 2),
            ops.grid_sample(x, ops.zeros((2, 4, 4, 2), mindspore.float32), align_corners=False),
            ops.conv2d(x, ops.ones((4, 3, 3, 3), mindspore.float32)),
            ops.batch_norm(x, zeros, ones, ones, zeros),
        )

    def activations(self, x: Any) -> Any:
        return (
            ops.softmax(x), ops.log_softmax(x), ops.gelu(x), ops.silu(x), ops.hardswish(x), ops.mish(x), ops.elu(x),
            ops.relu6(x), ops.leaky_relu(x), ops.softplus(x), ops.sigmoid(x), ops.erf(x),
            ops.dropout(x, training=False),
        )  # fmt: skip

    def movement(self, x: Any) -> Any:
        rolled = ops.concat([x[:, :, 15:], x[:, :, :15]], 2) if self.spelled_out else ops.roll(x, 1, 2)
        updated = ops.tensor_scatter_update(x, Tensor([[0]]), x[:1])
        return (
            ops.concat([x, x]), ops.stack([x, x]), ops.split(x, 1, 1), ops.tile(x, (1, 2, 1, 1)),
            ops.broadcast_to(x, (2, 3, 16, 16)), ops.gather(x, Tensor([0]), 1), ops.gather_nd(x, Tensor([[0, 1]])),
            ops.scatter_nd(Tensor([[0]]), x[:1], (2, 3, 16, 16)), updated, ops.flip(x, (3,)), rolled,
            ops.meshgrid(ops.arange(3), ops.arange(4)), ops.tril(x),
            ops.strided_slice(x, (0, 0, 0, 0), (2, 3, 16, 16), (1, 1, 2, 2)), ops.expand_dims(x, 0),
            ops.squeeze(x[:1], 0), ops.reverse_sequence(x, Tensor([1, 2]), 1), ops.range(0, 5, 1),
        )  # fmt: skip

    def numbers(self, x: Any) -> Any:
        return (
            ops.cumsum(x, 1), ops.topk(x, 2), ops.sort(x), ops.argmax(x, 1), ops.one_hot(Tensor([1, 2]), 4),
            ops.std(x), ops.var(x, 1), ops.norm(x), ops.matmul(x, x.swapaxes(2, 3)), ops.bmm(x[0], x[0]),
            ops.where(x > 0, x, -x), ops.masked_fill(x, x > 0, 0.0), ops.nonzero(x > 0), ops.unique(x.reshape(-1)),
            ops.cast(x, mindspore.int32), ops.floor_div(x, 2.0), ops.clamp(x, 0, 1), ops.logsumexp(x, 1),
            ops.l1_loss(x, x), ops.select(x > 0, x, x), ops.isnan(x), ops.maximum(x, x), ops.fmod(x, 2.0),
        )  # fmt: skip


@_model("ms.ops/misc")
def _ops() -> Example:
    return Example(_Ops(), (_normal(2, 3, 16, 16),), _Ops(spelled_out=True))


def flat(x: Any) -> list[Any]:
    """The tensors in nested tuples, lists and dicts."""
    if isinstance(x, dict):
        return flat(list(x.values()))
    if isinstance(x, Sequence) and not isinstance(x, (str, bytes)):
        return [part for item in x for part in flat(item)]
    return [x] if isinstance(x, Tensor) else []
