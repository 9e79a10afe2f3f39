"""The models of `cpu_peers.py`: each with its example call, its operations and the bar that ge is to pass.

Weights are random and the same in every process; nothing is downloaded but the package with the voice detector.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench.zoo_torch import declare_torchvision_operators

Call = tuple[Any, tuple[Any, ...]]
"""A torch module, or the path of an ONNX file, and the arguments of one call."""

_library = declare_torchvision_operators()


@dataclass(frozen=True)
class Model:
    """One row.

    Attributes:
        build: makes the model and the arguments of a call.
        bar: ge's speed over the best peer's that is to be reached.
        items: what one call processes: images, sequences or tokens.
        gflop: operations of a call in 1e9, two for each multiply-add.
        bound: whether arithmetic, memory or neither limits a call.
        precision: that ge is asked for.
        tolerance: of the largest value, against PyTorch in float32.
        without: peers that are left out, each with the reason.
        same: the row whose arguments, results and ONNX file are this one's too.
    """

    build: Callable[[], Call]
    bar: float
    items: int = 1
    gflop: float = 0.0
    bound: str = "arithmetic"
    precision: str = "balanced"
    tolerance: float = 1e-4
    without: Mapping[str, str] = field(default_factory=dict)
    same: str = ""

    def share(self, seconds: float, best: Mapping[str, float]) -> float:
        """Of what limits a call on a machine with these rates of operations and bytes."""
        if self.bound == "arithmetic":
            return self.gflop * 1e9 / seconds / best["flops"]
        return self.gflop * 2e9 / seconds / best["bytes"]  # four bytes of weights for each multiply-add


def vision(name: str, batch: int) -> Call:
    import torchvision

    model = getattr(torchvision.models, name)(weights=None)
    return model, (torch.randn(batch, 3, 224, 224),)


class UNet(nn.Module):
    """Four times down and up, 3 x 3 convolutions with batch norm, width 64 (O. Ronneberger and others, 2015)."""

    def __init__(self, width: int = 64, classes: int = 2) -> None:
        super().__init__()
        sizes = [width << i for i in range(5)]
        self.down = nn.ModuleList(self._pair(a, b) for a, b in zip([3, *sizes], sizes, strict=False))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * s, s, 2, stride=2) for s in sizes[3::-1])
        self.join = nn.ModuleList(self._pair(2 * s, s) for s in sizes[3::-1])
        self.last = nn.Conv2d(width, classes, 1)

    @staticmethod
    def _pair(channels: int, width: int) -> nn.Sequential:
        layers: list[nn.Module] = []
        for a in (channels, width):
            layers += [nn.Conv2d(a, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
        return nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        kept = []
        for i, pair in enumerate(self.down):
            x = pair(F.max_pool2d(x, 2) if i else x)
            kept.append(x)
        for up, join, skip in zip(self.up, self.join, kept[3::-1], strict=True):
            x = join(torch.cat([skip, up(x)], 1))
        return self.last(x)


class Bert(nn.Module):
    def __init__(self) -> None:
        from transformers import BertConfig, BertModel

        super().__init__()
        self.model = BertModel(BertConfig(), add_pooling_layer=False)

    def forward(self, ids: Tensor) -> Tensor:
        return self.model(ids).last_hidden_state


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(256, 256, 2, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.lstm(x)[0]


class Llama(nn.Module):
    """A decoder in the manner of LLaMA with the sizes of the 1.1B model: grouped queries, rotary positions.

    Called with tokens alone it computes the last token's logits; with the caches of keys and values, [1, kv heads,
    past, 64] for each layer, also what is to be appended to them.
    """

    def __init__(self, layers: int = 22, width: int = 2048, inner: int = 5632, words: int = 32000) -> None:
        super().__init__()
        self.heads, self.kv_heads, self.depth, self.layers = 32, 4, 64, layers
        kv = self.kv_heads * self.depth
        self.embed = nn.Embedding(words, width)
        self.norms = nn.ModuleList(nn.RMSNorm(width, 1e-5) for _ in range(2 * layers + 1))
        line = partial(nn.Linear, bias=False)
        self.q = nn.ModuleList(line(width, width) for _ in range(layers))
        self.k = nn.ModuleList(line(width, kv) for _ in range(layers))
        self.v = nn.ModuleList(line(width, kv) for _ in range(layers))
        self.o = nn.ModuleList(line(width, width) for _ in range(layers))
        self.gate = nn.ModuleList(line(width, inner) for _ in range(layers))
        self.rise = nn.ModuleList(line(width, inner) for _ in range(layers))
        self.fall = nn.ModuleList(line(inner, width) for _ in range(layers))
        self.head = line(width, words)
        angles = torch.outer(torch.arange(1024.0), 1e4 ** (-torch.arange(0, self.depth, 2) / self.depth))
        self.register_buffer("cosine", torch.cat([angles, angles], 1).cos())
        self.register_buffer("sine", torch.cat([angles, angles], 1).sin())

    def _heads(self, x: Tensor, count: int) -> Tensor:
        return x.view(1, -1, count, self.depth).transpose(1, 2)

    def _turned(self, x: Tensor, past: int) -> Tensor:
        end = past + x.shape[2]
        left, right = x.chunk(2, -1)
        return x * self.cosine[past:end] + torch.cat([-right, left], -1) * self.sine[past:end]

    def forward(self, ids: Tensor, *cache: Tensor) -> tuple[Tensor, ...]:
        x = self.embed(ids)
        past = cache[0].shape[2] if cache else 0
        new = []
        for i in range(self.layers):
            h = self.norms[2 * i](x)
            q = self._turned(self._heads(self.q[i](h), self.heads), past)
            k = self._turned(self._heads(self.k[i](h), self.kv_heads), past)
            v = self._heads(self.v[i](h), self.kv_heads)
            if cache:
                new += [k, v]
                k, v = torch.cat([cache[2 * i], k], 2), torch.cat([cache[2 * i + 1], v], 2)
            k, v = (t.repeat_interleave(self.heads // self.kv_heads, 1) for t in (k, v))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=not cache)
            x = x + self.o[i](y.transpose(1, 2).reshape(1, -1, self.heads * self.depth))
            h = self.norms[2 * i + 1](x)
            x = x + self.fall[i](F.silu(self.gate[i](h)) * self.rise[i](h))
        return self.head(self.norms[-1](x[:, -1:])), *new


def prefill(length: int = 128, layers: int = 22) -> Call:
    return Llama(layers), (torch.randint(0, 32000, (1, length)),)


def decode(past: int = 511, layers: int = 22) -> Call:
    model = Llama(layers)
    cache = [torch.randn(1, model.kv_heads, past, model.depth) for _ in range(2 * model.layers)]
    return model, (torch.randint(0, 32000, (1, 1)), *cache)


def perceptron() -> Call:
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)), (torch.randn(1, 64),)


def voice() -> Call:
    from bench.zoo_onnx import fetched

    rng = np.random.default_rng(0)
    sound = torch.from_numpy((rng.standard_normal((1, 576)) * 0.1).astype(np.float32))
    path = fetched("silero-vad") / "silero_vad/data/silero_vad_op18_ifless.onnx"
    return path, (sound, torch.tensor(16000), torch.zeros(2, 1, 128))


def recurrent(batch: int) -> Call:
    return Recurrent(), (torch.randn(batch, 100, 256),)


def bert() -> Call:
    return Bert(), (torch.randint(0, 30000, (1, 128)),)


def unet() -> Call:
    return UNet(), (torch.randn(1, 3, 256, 256),)


_SLOW_COMPILE = dict.fromkeys(("compile", "freezing"), "compiling takes minutes and several times the memory")
_ONE_COMPILE = {"compile": "freezing is the faster of the two"}
_NO_MODULE = dict.fromkeys(("torch", "compile", "freezing"), "there is no PyTorch module of it")
_TOKENS = Model(decode, 1.1, gflop=2.08, bound="memory", without=_SLOW_COMPILE)

MODELS: dict[str, Model] = {
    "resnet50-b1": Model(partial(vision, "resnet50", 1), 1.25, 1, 8.2),
    "resnet50-b8": Model(partial(vision, "resnet50", 8), 1.25, 8, 65.4, without=_ONE_COMPILE),
    "resnet50-b32": Model(partial(vision, "resnet50", 32), 1.25, 32, 261.7, without=_ONE_COMPILE),
    "vgg16": Model(partial(vision, "vgg16", 1), 2.2, 1, 30.9, without=_ONE_COMPILE),
    "unet": Model(unet, 2.2, 1, 109.0, without=_ONE_COMPILE),
    "mobilenetv3": Model(partial(vision, "mobilenet_v3_large", 1), 1.15, 1, 0.43, without=_ONE_COMPILE),
    "vit-b16": Model(partial(vision, "vit_b_16", 1), 1.0, 1, 35.2, without=_ONE_COMPILE),
    "bert-base": Model(bert, 1.0, 1, 22.3),
    "lstm-b1": Model(partial(recurrent, 1), 1.0, 1, 0.21, "none"),
    "lstm-b16": Model(partial(recurrent, 16), 1.0, 16, 3.4, "none", without=_ONE_COMPILE),
    "llama-prefill": Model(prefill, 1.05, 128, 251.0, without=_SLOW_COMPILE),
    "llama-decode": _TOKENS,
    "llama-decode-speed": replace(_TOKENS, bar=2.0, precision="speed", tolerance=3e-2, same="llama-decode"),
    "mlp": Model(perceptron, 1.5, bound="none"),
    "silero-vad": Model(voice, 1.5, bound="none", without=_NO_MODULE),
}

SHORT: dict[str, Model] = {
    "llama-prefill-short": Model(partial(prefill, layers=4), 1.05, 128, 45.6, without=_SLOW_COMPILE),
    "llama-decode-short": replace(_TOKENS, build=partial(decode, layers=4), gflop=0.48),
    "llama-decode-speed-short": replace(
        MODELS["llama-decode-speed"], build=partial(decode, layers=4), gflop=0.48, same="llama-decode-short"
    ),
}
"""4 of the 22 layers, which take a fifth of the memory; they run when they are named."""


def model_of(name: str) -> Model:
    """The row of a name."""
    return MODELS[name] if name in MODELS else SHORT[name]


def built(name: str) -> Call:
    """The model and arguments of a row; the same numbers in every process."""
    torch.manual_seed(0)
    with torch.no_grad():
        model, arguments = model_of(name).build()
    if isinstance(model, nn.Module):
        model.eval()
        generator = torch.Generator().manual_seed(1)
        for module in model.modules():
            if isinstance(module, nn.BatchNorm2d):  # statistics of a trained network are not 0 and 1
                module.running_mean.normal_(0, 0.1, generator=generator)
                module.running_var.uniform_(0.5, 1.5, generator=generator)
            if isinstance(module, nn.Linear) and not module.weight.any():  # results that are 0 prove nothing
                nn.init.normal_(module.weight, 0, 0.02, generator=generator)
    return model, arguments
