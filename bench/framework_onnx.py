"""ONNX Runtime's side of `bench/zoo_ascend.py`: the models of `bench/onnx_models.py` as examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from bench.onnx_models import MODELS, fetched

if TYPE_CHECKING:
    from bench.framework import Example, Tracing


@dataclass
class OnnxExample:
    """A file with one feed; see `bench.framework.Example`.

    Attributes:
        feed: the inputs of the first run by name.
        rounds: see `bench.onnx_models.Model`: a last digit that differs is carried on by the steps of all layers.
    """

    model: str
    feed: dict[str, np.ndarray[Any, Any]]
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    shapes: Any = None
    values: bool = True
    rounds: bool = False


class Onnx:
    """ONNX files, run by ONNX Runtime without optimisations."""

    name = "onnx"
    packages = ("onnx", "onnxruntime", "numpy")

    def prepare(self) -> None:
        """Nothing: a file needs no framework."""

    def example(self, name: str) -> OnnxExample:
        """The model of a path with its first feed.

        Raises:
            StopIteration: no model of the list has this path.
        """
        model = next(m for m in MODELS if m.path == name)
        feed = dict(model.feeds()[0])
        # the feed as an example too: it decides ranks that a branch leaves open
        return OnnxExample(str(fetched(model.package) / model.path), feed, kwargs=dict(feed), rounds=model.rounds)

    def tracing(self) -> AbstractContextManager[Tracing]:
        """No framework traces a file."""
        raise NotImplementedError

    def refused(self, name: str, reason: str) -> bool:
        return False

    def arrays(self, example: Example) -> list[np.ndarray[Any, Any]]:
        from ge_frontend_onnx.importer import import_model

        assert isinstance(example, OnnxExample)
        return [np.asarray(example.feed[name]) for name in import_model(example.model).signature.input_names]

    def original(self, example: Example) -> Callable[..., Any]:
        from tests.frontends.onnx.agreement import run_ort

        assert isinstance(example, OnnxExample)
        return lambda: run_ort(example.model, example.feed)

    def call(
        self, function: Callable[..., Any], example: Example, arrays: Sequence[np.ndarray[Any, Any]]
    ) -> list[np.ndarray[Any, Any]]:
        return [np.asarray(value) for value in function()]


FRAMEWORK = Onnx()
