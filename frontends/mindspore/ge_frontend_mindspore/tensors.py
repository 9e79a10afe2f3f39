"""MindSpore tensors as numpy arrays and back."""

from __future__ import annotations

import sys
from typing import Any

import ml_dtypes
import numpy as np

from ge_core.errors import InputError


def to_numpy(tensor: object) -> np.ndarray | None:
    """The tensor's values; None when it is no MindSpore tensor.

    Shares memory with the tensor where MindSpore does; bfloat16 comes as an ml_dtypes array.

    Raises:
        InputError: the tensor has sizes that are not known, or holds complex numbers.
    """
    mindspore: Any = sys.modules.get("mindspore")
    if mindspore is None or not isinstance(tensor, mindspore.Tensor):
        return None
    if any(d is None or d < 0 for d in tensor.shape):
        raise InputError(f"a tensor of shape {tuple(tensor.shape)} has no values", expected="a tensor with values")
    if tensor.dtype == mindspore.bfloat16:
        array: np.ndarray = tensor.asnumpy() if _knows_bfloat16(tensor) else tensor.float().asnumpy()
        return array.astype(ml_dtypes.bfloat16, copy=False)
    array = tensor.asnumpy()
    if array.dtype.kind == "c":
        raise InputError(f"a tensor of shape {tuple(tensor.shape)} is complex", expected="real numbers or integers")
    return array


def _knows_bfloat16(tensor: Any) -> bool:
    """Whether MindSpore gives bfloat16 as an array of the same bits."""
    try:
        return bool(tensor.asnumpy().dtype == ml_dtypes.bfloat16)
    except (TypeError, RuntimeError):
        return False


def from_numpy(array: np.ndarray, like: object) -> object:
    """The array as a MindSpore tensor; its values are copied once."""
    import mindspore

    array = np.asarray(array, order="C")  # keeps rank 0, unlike ascontiguousarray
    if array.dtype == ml_dtypes.bfloat16:
        return mindspore.Tensor(array.astype(np.float32)).astype(mindspore.bfloat16)
    return mindspore.Tensor(array)
