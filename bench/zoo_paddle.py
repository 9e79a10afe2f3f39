"""The list of Paddle models: name to a function that builds the layer and the specification of its inputs, with random
weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import paddle
from paddle import nn
from paddle.nn import functional as F
from paddle.static import InputSpec


@dataclass
class Example:
    """A layer in eval mode with the specifications of its inputs.

    Attributes:
        args: InputSpecs; None is a size that may change.
        shapes: names of those sizes, where two inputs share one.
    """

    model: Any
    args: tuple[Any, ...]
    shapes: Any = None
    kwargs: dict[str, Any] = field(default_factory=dict)
    values: bool = True

    def __post_init__(self) -> None:
        self.model.eval()


Build = Callable[[], Example]
MODELS: dict[str, Build] = {}


def _image(name: str, channels: int = 3, size: int | None = 224) -> Build:
    """A vision model of Paddle's; the batch is dynamic, and height and width for a size of None."""

    def build() -> Example:
        model = getattr(paddle.vision.models, name)
        layer = model() if name == "LeNet" else model(pretrained=False)
        return Example(layer, (InputSpec([None, channels, size, size], "float32", "x"),))

    return build


for _name in (
    "resnet50", "mobilenet_v1", "mobilenet_v2", "mobilenet_v3_large", "vgg16", "googlenet", "shufflenet_v2_x1_0",
    "densenet121", "squeezenet1_1", "alexnet", "resnext50_32x4d", "wide_resnet50_2",
):  # fmt: skip
    MODELS[f"paddle/{_name}"] = _image(_name)
MODELS["paddle/inception_v3"] = _image("inception_v3", size=299)
MODELS["paddle/LeNet"] = _image("LeNet", channels=1, size=28)
MODELS["paddle/resnet18-dynHW"] = _image("resnet18", size=None)


def _sequence(build: Callable[[], Any]) -> Build:
    """A recurrent layer; batch and length are dynamic."""
    return lambda: Example(build(), (InputSpec([None, None, 32], "float32", "x"),))


class CellRNN(nn.Layer):
    """A recurrent layer made of a cell, which Paddle unrolls into a loop with tensor arrays."""

    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.RNN(nn.LSTMCell(32, 64))

    def forward(self, x: Any) -> Any:
        return self.rnn(x)[0]


MODELS["paddle/LSTM"] = _sequence(lambda: nn.LSTM(32, 64, 2, direction="bidirect"))
MODELS["paddle/GRU"] = _sequence(lambda: nn.GRU(32, 64, 2))
MODELS["paddle/SimpleRNN"] = _sequence(lambda: nn.SimpleRNN(32, 64))
MODELS["paddle/RNN(LSTMCell)"] = _sequence(CellRNN)


def _encoder() -> Example:
    layer = nn.TransformerEncoderLayer(64, 4, 128, activation="gelu")
    return Example(nn.TransformerEncoder(layer, 2), (InputSpec([None, None, 64], "float32", "src"),))


def _transformer() -> Example:
    inputs = (InputSpec([None, 10, 64], "float32", "src"), InputSpec([None, 7, 64], "float32", "tgt"))
    return Example(nn.Transformer(64, 4, 2, 2, 128), inputs, {"src": {0: "batch"}, "tgt": {0: "batch"}})


MODELS["paddle/TransformerEncoder"] = _encoder
MODELS["paddle/Transformer"] = _transformer


class Miscellany(nn.Layer):
    """One call of many operators. The random tensor is multiplied by zero: its numbers are not Paddle's."""

    def forward(self, x: Any, g: Any) -> list[Any]:
        return [*self._images(x, g), *self._norms(x), *self._parts(x), *self._activations(x), *self._numbers(x)]

    def _images(self, x: Any, g: Any) -> Sequence[Any]:
        rois = paddle.to_tensor([[0.0, 0, 8, 8], [2, 1, 9, 12]])
        boxes = paddle.to_tensor([[0.0, 0, 4, 4], [0, 0, 4, 3.5], [5, 5, 9, 9], [1, 1, 4, 4]])
        return [
            F.interpolate(x, scale_factor=2, mode="bilinear"),
            F.interpolate(x, size=[7, 9], mode="bicubic", align_corners=True),
            F.interpolate(x, scale_factor=2, mode="nearest"),
            F.grid_sample(x, g),
            F.affine_grid(paddle.eye(2, 3).unsqueeze(0).expand([2, 2, 3]), [2, 3, 4, 4]),
            F.pixel_shuffle(paddle.tile(x, [1, 4, 1, 1]), 2),
            F.unfold(x, 3),
            F.pad(x, [1, 1, 2, 2], mode="reflect"),
            F.pad(x, [1, 1, 2, 2], value=1.0),
            F.max_pool2d(x, 3, 2, 1, ceil_mode=True),
            F.avg_pool2d(x, 3, 2, 1),
            F.adaptive_max_pool2d(x, 1),
            F.conv2d_transpose(x, paddle.ones([3, 4, 3, 3]), stride=2, padding=1),
            F.temporal_shift(x, 2),
            paddle.vision.ops.nms(boxes, 0.5),
            paddle.vision.ops.roi_align(x, rois, paddle.to_tensor([1, 1], dtype="int32"), 4),
            paddle.vision.ops.deform_conv2d(x, paddle.full([2, 18, 14, 14], 0.3), paddle.ones([4, 3, 3, 3])),
        ]

    def _norms(self, x: Any) -> Sequence[Any]:
        return [
            F.group_norm(x, 3), F.instance_norm(x), F.layer_norm(x, [16, 16]), F.normalize(x), F.log_softmax(x),
            F.softmax(x), paddle.std(x, 1), paddle.logsumexp(x, 1), paddle.norm(x, axis=1), paddle.prod(x, 1),
            paddle.max(x, 1), paddle.argmax(x, 1), paddle.any(x > 0, 1), paddle.cumsum(x, 1),
            F.scaled_dot_product_attention(x, x, x),
        ]  # fmt: skip

    def _parts(self, x: Any) -> Sequence[Any]:
        places = paddle.zeros([2, 3, 16, 4], "int64")
        first = paddle.to_tensor([0])
        return [
            paddle.gather(x, first, axis=1), paddle.gather_nd(x, paddle.to_tensor([[0, 1]])),
            paddle.scatter(x, first, x[:1]), paddle.put_along_axis(x, places, 1.0, 3),
            paddle.take_along_axis(x, places, 3), paddle.where(x > 0, x, -x), paddle.nonzero(x > 0),
            paddle.masked_select(x, x > 0), paddle.roll(x, 1, 2), paddle.flip(x, [3]), *paddle.split(x, 3, 1),
            paddle.stack([x, x]), paddle.concat([x, x]), *paddle.unbind(x, 1), paddle.tril(x),
            paddle.expand(x[:1], [4, 3, 16, 16]), x[:, 1:3, ::2], paddle.squeeze(x[:1], 0),
            paddle.index_select(x, paddle.to_tensor([0, 1]), 1), paddle.unique(paddle.flatten(x)),
            *paddle.topk(x, 2), paddle.argsort(x), paddle.sort(x), F.dropout(x, 0.5, training=False),
        ]  # fmt: skip

    def _activations(self, x: Any) -> Sequence[Any]:
        return [
            F.hardswish(x), F.mish(x), F.softplus(x), F.elu(x), F.gelu(x, approximate=True), F.swish(x),
            F.hardsigmoid(x), F.relu6(x), F.leaky_relu(x), F.prelu(x, paddle.ones([1])),
            F.glu(paddle.tile(x, [1, 2, 1, 1]), 1), paddle.erf(x), paddle.clip(x, 0, 1),
        ]  # fmt: skip

    def _numbers(self, x: Any) -> Sequence[Any]:
        two = paddle.full([1], 2.0)
        return [
            F.one_hot(paddle.arange(5), 5), paddle.einsum("bchw,bdhw->bcd", x, x),
            paddle.searchsorted(paddle.arange(5.0), x), paddle.remainder(x, two), paddle.floor_divide(x, two),
            *paddle.meshgrid(paddle.arange(3), paddle.arange(4)), paddle.cast(x, "int32"), paddle.isnan(x),
            paddle.addmm(x[0, 0], x[0, 1], x[0, 2]), paddle.bmm(x[0], x[0]), paddle.linspace(0, 1, 5),
            paddle.randn([2, 2]) * 0, F.embedding(paddle.arange(4), paddle.ones([5, 3])),
        ]  # fmt: skip


MODELS["paddle/misc"] = lambda: Example(
    Miscellany(), (InputSpec([2, 3, 16, 16], "float32", "x"), InputSpec([2, 4, 4, 2], "float32", "g"))
)


class Control(nn.Layer):
    """A loop with a way out, a branch, and a Python loop that Paddle unrolls."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x: Any, n: Any) -> Any:
        i = paddle.zeros([1], "int64")
        while i < n:
            x = paddle.tanh(self.linear(x))
            i = i + 1
            if paddle.sum(x) > 100.0:
                break
        if paddle.mean(x) > 0:  # noqa: SIM108  Paddle rewrites the statement
            y = x * 2
        else:
            y = x - 1
        parts = []
        for k in range(3):
            parts.append(y + k)  # noqa: PERF401
        return paddle.concat(parts), y


MODELS["paddle/control"] = lambda: Example(
    Control(), (InputSpec([None, 8], "float32", "x"), InputSpec([1], "int64", "n"))
)
