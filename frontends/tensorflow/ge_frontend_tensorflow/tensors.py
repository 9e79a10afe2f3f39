"""TensorFlow's tensors as numpy arrays and back. TensorFlow is looked up, never imported: its tensors cannot exist
before it."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ge_core.errors import InputError


def to_numpy(tensor: object) -> np.ndarray | None:
    """The values of an eager tensor or a variable, sharing memory where TensorFlow allows it; None for what is
    neither.

    Raises:
        InputError: the tensor is symbolic, ragged or sparse, or of strings.
    """
    tf: Any = sys.modules.get("tensorflow")
    if tf is None or not hasattr(tf, "Tensor"):
        return None
    if isinstance(tensor, (tf.RaggedTensor, tf.SparseTensor)):
        raise InputError(f"a {type(tensor).__name__} is given", expected="a dense tensor")
    if isinstance(tensor, tf.Variable):
        tensor = tensor.read_value()
    elif not isinstance(tensor, tf.Tensor):
        keras: Any = sys.modules.get("keras")
        if keras is None or not isinstance(tensor, keras.Variable):
            return None
        tensor = tensor.value.read_value() if isinstance(tensor.value, tf.Variable) else tensor.value
    if not hasattr(tensor, "numpy"):
        raise InputError("a symbolic tensor is given", expected="a tensor with values")
    if getattr(tensor, "dtype", None) == tf.string:
        raise InputError("a tensor of strings is given", expected="a tensor of numbers")
    array: np.ndarray = np.asarray(tensor)
    return array


def from_numpy(array: np.ndarray, like: object) -> object:
    """The array as an eager tensor."""
    import tensorflow as tf

    return tf.convert_to_tensor(array)
