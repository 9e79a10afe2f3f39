"""MindSpore's side of `bench/zoo.py`."""

from __future__ import annotations

import contextlib
import os
import time
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

os.environ.setdefault("GLOG_v", "4")  # before the import: MindSpore's own log

import mindspore
import numpy as np

import ge_core
from bench.zoo_mindspore import UNEXPORTABLE, flat
from ge_core.errors import GeError
from ge_frontend_mindspore.model_file import read_model

if TYPE_CHECKING:
    from bench.framework import Example


class ExportTime:
    """Processor time that MindSpore spends on exporting, and the size of the graph that it gives.

    Attributes:
        seconds: in mindspore.export.
        operators: nodes of the file's functions, without constants.
    """

    def __init__(self) -> None:
        self.seconds, self.operators = 0.0, 0

    def __enter__(self) -> ExportTime:
        self._saved = mindspore.export
        mindspore.export = self._timed
        return self

    def __exit__(self, *_: object) -> None:
        mindspore.export = self._saved

    def _timed(self, *args: Any, file_name: str, **kwargs: Any) -> None:
        started = time.process_time()
        self._saved(*args, file_name=file_name, **kwargs)
        self.seconds += time.process_time() - started
        started = time.process_time()
        model = read_model(f"{file_name}.mindir").model
        self.operators = sum(n.op_type != "Constant" for g in (model.graph, *model.functions) for n in g.node)
        self.seconds += time.process_time() - started  # counting is no part of the import


class MindSpore:
    """Cells, exported by mindspore.export."""

    name = "mindspore"
    packages = ("mindspore", "mindcv", "numpy")

    def prepare(self) -> None:
        warnings.filterwarnings("ignore")
        mindspore.set_context(mode=mindspore.GRAPH_MODE, device_target="CPU")
        mindspore.set_seed(0)
        np.random.seed(0)
        # with numpy 2.4 the first eager call that takes a tuple fails, and those behind it do not
        with contextlib.suppress(SystemError):
            mindspore.ops.reshape(mindspore.Tensor(np.zeros(4, np.float32)), (2, 2)) * mindspore.Tensor(1.0)
        with contextlib.suppress(GeError):
            ge_core.import_model(mindspore.nn.Dense(1, 1), (mindspore.ops.zeros((1, 1)),), framework="mindspore")

    def tracing(self) -> ExportTime:
        return ExportTime()

    def refused(self, name: str, reason: str) -> bool:
        return name in UNEXPORTABLE and "mindspore.export cannot compile" in reason

    def arrays(self, example: Example) -> list[np.ndarray[Any, Any]]:
        random = np.random.default_rng(0)
        found = []
        for tensor in example.args:
            if any(size is None or size < 0 for size in tensor.shape):
                shape = [2 if size is None or size < 0 else size for size in tensor.shape]
                found.append(random.standard_normal(shape).astype(np.float32))
            else:
                found.append(tensor.asnumpy())
        return found

    def original(self, example: Example) -> Callable[..., Any]:
        model = getattr(example, "twin", None) or example.model
        model.set_train(False)
        function: Callable[..., Any] = model
        return function

    def call(
        self, function: Callable[..., Any], example: Example, arrays: Sequence[np.ndarray[Any, Any]]
    ) -> list[np.ndarray[Any, Any]]:
        result = function(*(mindspore.Tensor(array.copy()) for array in arrays))
        return [leaf.asnumpy() for leaf in flat(result)]


FRAMEWORK = MindSpore()
