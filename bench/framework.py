"""What `bench/zoo.py` needs from a framework: `bench/framework_<name>.py` holds its `FRAMEWORK`, `bench/zoo_<name>.py`
its list of models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np


class Example(Protocol):
    """One model of a list, with one call.

    Attributes:
        model: what `ge_core.import_model` takes.
        args: positional examples or specs, as `import_model` takes them.
        kwargs: the same by keyword.
        shapes: `dynamic_shapes` of `import_model`.
        values: whether the weights have values; without them the model is imported and not run.
    """

    model: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    shapes: Any
    values: bool


class Tracing(Protocol):
    """What a framework spent on its own graph.

    Attributes:
        seconds: processor time of the framework's tracing or export, which is not ours.
        operators: calls of operators in the graph that it gave.
    """

    seconds: float
    operators: int


class Framework(Protocol):
    """The framework's side of one measurement.

    Attributes:
        name: the frontend's name.
        packages: distributions whose versions a result depends on.
    """

    name: str
    packages: Sequence[str]

    def prepare(self) -> None:
        """Set one thread and a seed, silence warnings, import a trivial model so that later times are warm."""

    def tracing(self) -> AbstractContextManager[Tracing]:
        """Watch the framework's own tracing while the context lasts."""

    def refused(self, name: str, reason: str) -> bool:
        """Whether this is the reason why the framework cannot make a graph of this model, or why no importer can."""

    def arrays(self, example: Example) -> list[np.ndarray[Any, Any]]:
        """The tensors of the example call, in the order of the graph's inputs; for specs, drawn with small sizes."""

    def original(self, example: Example) -> Callable[..., Any]:
        """What runs the model in the framework itself, in inference mode."""

    def call(
        self, function: Callable[..., Any], example: Example, arrays: Sequence[np.ndarray[Any, Any]]
    ) -> list[np.ndarray[Any, Any]]:
        """Call the model or our compiled one with these values in the example's structure; its results, flat."""
