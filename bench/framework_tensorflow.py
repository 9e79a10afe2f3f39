"""TensorFlow's side of `bench/zoo.py`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")  # before the import

import keras
import numpy as np
import tensorflow as tf

import ge_core

if TYPE_CHECKING:
    from bench.framework import Example


class TraceTime:
    """Processor time that TensorFlow spends on tracing, and the size of the graph that it gives.

    Attributes:
        seconds: in get_concrete_function.
        operators: nodes of the last graph and of the functions that it calls.
    """

    def __init__(self) -> None:
        self.seconds, self.operators = 0.0, 0
        self._class = type(tf.function(lambda: 0))

    def __enter__(self) -> TraceTime:
        self._saved = self._class.get_concrete_function
        self._class.get_concrete_function = self._timed
        return self

    def __exit__(self, *_: object) -> None:
        self._class.get_concrete_function = self._saved

    @property
    def _timed(self) -> Any:
        saved = self._saved

        def timed(function: Any, *args: Any, **kwargs: Any) -> Any:
            started = time.process_time()
            concrete = saved(function, *args, **kwargs)
            self.seconds += time.process_time() - started
            graph = concrete.graph.as_graph_def()
            self.operators = len(graph.node) + sum(len(f.node_def) for f in graph.library.function)
            return concrete

        return timed


class TensorFlow:
    """Keras models and functions, traced by TensorFlow."""

    name = "tensorflow"
    packages = ("tensorflow-cpu", "keras", "numpy")

    def prepare(self) -> None:
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        keras.utils.set_random_seed(0)
        x = keras.Input((8, 8, 3))
        model = keras.Model(x, keras.layers.Dense(1)(keras.layers.Conv2D(1, 1)(x)))
        ge_core.import_model(model, framework="tensorflow")
        # what evaluates constant arguments is loaded when the first model has one
        warm = tf.function(lambda x: tf.reduce_sum(x, tf.range(tf.rank(x))))
        ge_core.import_model(warm, (tf.TensorSpec([2, 3]),), framework="tensorflow")

    def tracing(self) -> TraceTime:
        return TraceTime()

    def refused(self, name: str, reason: str) -> bool:
        return name == "tf/string-table" and "operators that the TensorFlow frontend does not support" in reason

    def arrays(self, example: Example) -> list[np.ndarray[Any, Any]]:
        random = np.random.default_rng(0)
        found = []
        for spec in example.args:
            sizes = {0: 2, 1: 5}
            shape = [sizes.get(axis, 3) if size is None else size for axis, size in enumerate(spec.shape)]
            if spec.dtype.is_floating:
                found.append(random.standard_normal(shape).astype(spec.dtype.as_numpy_dtype))
            else:
                low, high = getattr(example, "bounds", (0, 100))
                found.append(np.asarray(random.integers(low, high, shape), spec.dtype.as_numpy_dtype))
        return found

    def original(self, example: Example) -> Callable[..., Any]:
        model = example.model
        if isinstance(model, keras.Model):
            return lambda *xs: model(xs[0] if len(xs) == 1 else list(xs), training=False)
        function: Callable[..., Any] = model
        return function

    def call(
        self, function: Callable[..., Any], example: Example, arrays: Sequence[np.ndarray[Any, Any]]
    ) -> list[np.ndarray[Any, Any]]:
        result = function(*(tf.constant(array) for array in arrays))
        return [np.asarray(leaf) for leaf in tf.nest.flatten(result)]


FRAMEWORK = TensorFlow()
