"""Paddle's side of `bench/zoo.py`."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import paddle
from paddle.jit.dy2static.program_translator import StaticFunction

import ge_core

if TYPE_CHECKING:
    from bench.framework import Example


def _count(block: Any) -> int:
    """Operators of a block and of its inner blocks."""
    return sum(1 + sum(_count(inner) for inner in op.blocks()) for op in block.ops)


class TraceTime:
    """Processor time that Paddle spends on tracing, and the size of the program that it gives.

    Attributes:
        seconds: in get_concrete_program.
        operators: of the last program.
    """

    def __init__(self) -> None:
        self.seconds, self.operators = 0.0, 0
        self._classes = [c for c in (StaticFunction, *StaticFunction.__subclasses__()) if self._traces(c)]

    @staticmethod
    def _traces(cls: type) -> bool:
        return "get_concrete_program" in vars(cls)

    def __enter__(self) -> TraceTime:
        self._saved = [cls.get_concrete_program for cls in self._classes]
        for cls, saved in zip(self._classes, self._saved, strict=True):
            cls.get_concrete_program = self._timed(saved)
        return self

    def __exit__(self, *_: object) -> None:
        for cls, saved in zip(self._classes, self._saved, strict=True):
            cls.get_concrete_program = saved

    def _timed(self, saved: Any) -> Any:
        def timed(*args: Any, **kwargs: Any) -> Any:
            started = time.process_time()
            found = saved(*args, **kwargs)
            self.seconds += time.process_time() - started
            self.operators = _count(found[0].main_program.global_block())
            return found

        return timed


class Paddle:
    """Layers, traced by Paddle."""

    name = "paddle"
    packages = ("paddlepaddle", "numpy")

    def prepare(self) -> None:
        warnings.filterwarnings("ignore")
        paddle.seed(0)
        image = paddle.nn.Sequential(paddle.nn.Conv2D(3, 1, 1), paddle.nn.Flatten(), paddle.nn.Linear(64, 1))
        for model, shape in ((image, [None, 3, 8, 8]), (paddle.nn.LSTM(2, 2), [None, None, 2])):
            model.eval()
            ge_core.import_model(model, [paddle.static.InputSpec(shape, "float32", "x")], framework="paddle")

    def tracing(self) -> TraceTime:
        return TraceTime()

    def refused(self, name: str, reason: str) -> bool:
        return False

    def arrays(self, example: Example) -> list[np.ndarray[Any, Any]]:
        random = np.random.default_rng(0)
        found = []
        for spec in example.args:
            small = {0: 2, 1: 5, 2: 64, 3: 64}
            shape = [small[axis] if size in (None, -1) else size for axis, size in enumerate(spec.shape)]
            if "int" in str(spec.dtype):
                found.append(random.integers(1, 4, shape))
            else:
                found.append(random.standard_normal(shape).astype(np.float32))
        return found

    def original(self, example: Example) -> Callable[..., Any]:
        def run(*tensors: Any) -> Any:
            with paddle.no_grad():
                return example.model(*tensors)

        return run

    def call(
        self, function: Callable[..., Any], example: Example, arrays: Sequence[np.ndarray[Any, Any]]
    ) -> list[np.ndarray[Any, Any]]:
        result = function(*(paddle.to_tensor(array) for array in arrays))
        return [np.asarray(leaf) for leaf in paddle.utils.flatten(result)]


FRAMEWORK = Paddle()
