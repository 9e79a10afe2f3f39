"""A made-up framework: tensors that are not numpy's, and a model that a frontend has to read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


class Tensor:
    """A tensor of the made-up framework."""

    def __init__(self, data: np.ndarray) -> None:
        self.data = np.asarray(data)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape


@dataclass
class Output:
    """What the model returns."""

    logits: Tensor
    extra: list[Tensor]


class Model:
    """logits = softmax(x W + b), extra = [x W, total]; `scale` may be left out. `wrong` spoils the import."""

    def __init__(self, width: int = 4, wrong: bool = False, unsupported: bool = False) -> None:
        rng = np.random.default_rng(3)
        self.w = rng.standard_normal((width, width)).astype(np.float32)
        self.b = rng.standard_normal(width).astype(np.float32)
        self.wrong, self.unsupported = wrong, unsupported

    def __call__(self, x: Tensor, *, scale: Tensor | None = None) -> Output:
        h = x.data @ self.w
        y = h + self.b
        if scale is not None:
            y = y * scale.data
        e = np.exp(y - y.max(-1, keepdims=True))
        return Output(Tensor(e / e.sum(-1, keepdims=True)), [Tensor(h), Tensor(h.sum())])
