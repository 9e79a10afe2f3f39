"""ONNX's tensors as numpy arrays and back; callers of ONNX models mostly pass numpy arrays themselves."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def to_numpy(tensor: object) -> np.ndarray | None:
    """The values of a TensorProto; None for anything else."""
    onnx: Any = sys.modules.get("onnx")
    if onnx is None or not isinstance(tensor, onnx.TensorProto):
        return None
    from onnx import numpy_helper

    array: np.ndarray = numpy_helper.to_array(tensor)
    return array


def from_numpy(array: np.ndarray, like: object) -> object:
    """The array as a TensorProto with the name of `like`."""
    from onnx import numpy_helper

    return numpy_helper.from_array(array, getattr(like, "name", None))
