"""Saves models in both of Paddle's file forms; run in a process of its own for the legacy one, whose mode is global.

FLAGS_enable_pir_api=0 python -m tests.frontends.paddle.saved FOLDER
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import paddle
from paddle import nn
from paddle.nn import functional as F
from paddle.static import InputSpec

LEGACY = os.environ.get("FLAGS_enable_pir_api") == "0"  # noqa: SIM112  Paddle's own name


class Small(nn.Layer):
    """Convolutions, normalisations, a recurrent layer, shapes computed from sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2D(3, 4, 3, padding="SAME", stride=2)
        self.norm = nn.BatchNorm2D(4)
        self.rnn = nn.LSTM(4, 5, direction="bidirect")
        self.linear = nn.Linear(10, 6)

    def forward(self, x: Any) -> Any:
        y = F.hardswish(self.norm(self.conv(x)))
        y = F.interpolate(y, scale_factor=2, mode="nearest") + F.adaptive_avg_pool2d(y, 1)
        batch = paddle.shape(y)[0]
        rows = paddle.reshape(paddle.transpose(y, [0, 2, 3, 1]), [batch, -1, 4])
        found = self.linear(self.rnn(rows[:, :3])[0])
        return F.softmax(found), paddle.topk(found, 1)[1]


class Many(nn.Layer):
    """One call of many operators whose legacy names or attributes differ."""

    def forward(self, x: Any) -> Any:
        a, b = paddle.split(x, 2, 1)
        c = paddle.concat([a * 2 + 1, b - a, a / (b * b + 1)], 1)
        d = paddle.stack([paddle.max(c, 1), paddle.mean(c, 1), paddle.min(c, 1), paddle.prod(c, 1)], 1)
        e = paddle.clip(c, -1, 1)[:, 1:3, ::2]
        f = paddle.squeeze(paddle.unsqueeze(x, [0, 2]), [0, 2])
        g = F.pad(paddle.unsqueeze(x, 0), [1, 1, 0, 2], value=2.0)
        top, places = paddle.topk(x, 2, -1)
        return [
            d, e, f, g, top, places, paddle.cast(x > 0, "int32"), paddle.expand(x[:1], [3, 4, 6]),
            paddle.tile(x, [2, 1, 1]),
            paddle.flatten(x, 1), paddle.cumsum(x, 1), F.one_hot(paddle.arange(3), 4), F.hardsigmoid(x),
            F.leaky_relu(x, 0.1),
            F.elu(x), paddle.gather(x, paddle.to_tensor([1, 0]), axis=1),
            paddle.where(x > 0, x, -x), paddle.full([2, 2], 3.0), paddle.flip(x, [1]),
            F.layer_norm(x, [6]), paddle.pow(x, 2.0), paddle.argsort(x, -1), paddle.norm(x, axis=1),
            F.relu6(x), F.swish(x), F.log_softmax(x), paddle.nonzero(x > 0),
            F.embedding(paddle.arange(2), paddle.ones([3, 2])),
            F.dropout(x, 0.5, training=False), paddle.meshgrid(paddle.arange(2), paddle.arange(3))[0],
        ]  # fmt: skip


class Looping(nn.Layer):
    """A loop, branches that give one and two results, a branch in a branch."""

    def forward(self, x: Any) -> Any:
        static = paddle.static.nn
        i = paddle.zeros([1], "int64")
        i, x = static.while_loop(lambda i, x: i < 3, lambda i, x: [i + 1, x * 2 - 1], [i, x])
        if LEGACY:  # where today's Paddle cannot make branches any more
            return x, i
        y = static.cond(paddle.max(x) > 100, lambda: x * 2, lambda: x - 1)
        z, w = static.cond(paddle.max(x) > -100, lambda: (x + 1, y * 2), lambda: (x * 3, y - 5))
        v = static.cond(paddle.max(x) > 0, lambda: static.cond(paddle.min(x) > 0, lambda: x, lambda: -x), lambda: z)
        return x, i, y, z, w, v


MODELS = {
    "small": (Small, (2, 3, 8, 6), [None, 3, None, None]),
    "many": (Many, (2, 4, 6), [2, 4, 6]),
    "looping": (Looping, (2, 3), [None, 3]),
}


def save(folder: Path) -> None:
    """Save all models with an input and their results, in the form of the mode that Paddle is in."""
    paddle.seed(0)
    for name, (build, shape, sizes) in MODELS.items():
        x = np.random.default_rng(0).uniform(-2, 2, shape).astype(np.float32)
        results = (
            _save_program(folder / name, build, sizes, x) if LEGACY else _save_layer(folder / name, build, sizes, x)
        )
        np.savez(folder / f"{name}.npz", x, *results)


def _save_layer(path: Path, build: Any, sizes: list[int | None], x: np.ndarray) -> list[np.ndarray]:
    model = build()
    model.eval()
    with paddle.no_grad():
        results = [r.numpy() for r in paddle.utils.flatten(model(paddle.to_tensor(x)))]
    static = paddle.jit.to_static(model, input_spec=[InputSpec(sizes, "float32", "x")], full_graph=True)
    paddle.jit.save(static, str(path))
    return results


def _save_program(path: Path, build: Any, sizes: list[int | None], x: np.ndarray) -> list[np.ndarray]:
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup):
        data = paddle.static.data("x", sizes, "float32")
        model = build()
        model.eval()
        results = paddle.utils.flatten(model(data))
        executor = paddle.static.Executor(paddle.CPUPlace())
        executor.run(startup)
        found: list[np.ndarray] = executor.run(main.clone(for_test=True), feed={"x": x}, fetch_list=results)
        paddle.static.save_inference_model(str(path), [data], results, executor, program=main)
    return found


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    if LEGACY:
        paddle.enable_static()
    save(Path(sys.argv[1]))
