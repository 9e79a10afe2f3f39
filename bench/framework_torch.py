"""PyTorch's side of `bench/zoo.py`."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

import ge_core
from bench.zoo_torch import UNEXPORTABLE

if TYPE_CHECKING:
    from bench.framework import Example


class TorchTime:
    """Processor time that torch spends on exporting, and the size of the graph that it gives.

    Attributes:
        seconds: in torch.export.export and in run_decompositions.
        operators: calls of operators in the last graph.
    """

    def __init__(self) -> None:
        self.seconds, self.operators = 0.0, 0

    def __enter__(self) -> TorchTime:
        self._saved = torch.export.export, torch.export.ExportedProgram.run_decompositions
        torch.export.export = self._timed(self._saved[0])
        torch.export.ExportedProgram.run_decompositions = self._timed(self._saved[1])
        return self

    def __exit__(self, *_: object) -> None:
        torch.export.export, torch.export.ExportedProgram.run_decompositions = self._saved

    def _timed(self, function: Any) -> Any:
        def timed(*args: Any, **kwargs: Any) -> Any:
            started = time.process_time()
            program = function(*args, **kwargs)
            self.seconds += time.process_time() - started
            self.operators = sum(node.op == "call_function" for node in program.graph.nodes)
            return program

        return timed


class Torch:
    """PyTorch modules, exported by torch.export."""

    name = "torch"
    packages = ("torch", "torchvision", "timm", "transformers", "numpy")

    def prepare(self) -> None:
        warnings.filterwarnings("ignore")
        torch.manual_seed(0)
        torch.set_num_threads(1)
        ge_core.import_model(torch.nn.Linear(1, 1).eval(), (torch.zeros(1, 1),), framework="torch")

    def tracing(self) -> TorchTime:
        return TorchTime()

    def refused(self, name: str, reason: str) -> bool:
        return name in UNEXPORTABLE and "torch.export cannot trace" in reason

    def arrays(self, example: Example) -> list[np.ndarray[Any, Any]]:
        leaves = torch.utils._pytree.tree_leaves((list(example.args), dict(example.kwargs)))
        return [leaf.numpy() for leaf in leaves if isinstance(leaf, torch.Tensor)]

    def original(self, example: Example) -> Callable[..., Any]:
        function: Callable[..., Any] = example.model
        return function

    def call(
        self, function: Callable[..., Any], example: Example, arrays: Sequence[np.ndarray[Any, Any]]
    ) -> list[np.ndarray[Any, Any]]:
        tree = torch.utils._pytree
        # Copies: a model may write its arguments.
        values = iter([torch.from_numpy(array.copy()) for array in arrays])

        def visit(value: Any) -> Any:
            return next(values) if isinstance(value, torch.Tensor) else value

        args, kwargs = tree.tree_map(visit, (list(example.args), dict(example.kwargs)))
        with torch.no_grad():
            result = function(*args, **kwargs)
        return [np.asarray(leaf.detach()) for leaf in tree.tree_leaves(result) if leaf is not None]


FRAMEWORK = Torch()
