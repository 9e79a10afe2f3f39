"""Paddle's tensors as numpy arrays and back. Paddle is looked up, never imported: a tensor cannot exist before it.

numpy has no bfloat16 and no 8-bit floats: they cross as integers of the same width and are viewed as ml_dtypes'
types on numpy's side.
"""

from __future__ import annotations

import sys
from typing import Any

import ml_dtypes
import numpy as np

from ge_core.errors import InputError

_CARRIED = {
    "bfloat16": (np.dtype(ml_dtypes.bfloat16), np.uint16),
    "float8_e4m3fn": (np.dtype(ml_dtypes.float8_e4m3fn), np.uint8),
    "float8_e5m2": (np.dtype(ml_dtypes.float8_e5m2), np.uint8),
}


def to_numpy(tensor: object) -> np.ndarray | None:
    """The tensor's values, on its memory when it is dense and on the CPU; None when it is no tensor of Paddle's.

    Raises:
        InputError: the tensor has no values, or no dense ones, or they are complex.
    """
    paddle: Any = sys.modules.get("paddle")
    if paddle is None or not isinstance(tensor, getattr(paddle, "Tensor", ())):
        return None
    plain: Any = tensor
    if not plain.is_dense() or not (plain._is_initialized() or plain.size == 0):
        raise InputError("a tensor of Paddle's is not dense or has no values", expected="a dense tensor")
    name = str(plain.dtype).removeprefix("paddle.")
    if name.startswith("complex"):
        raise InputError("a tensor is complex", expected="a tensor of real numbers, integers or booleans")
    if name in _CARRIED:
        dtype, carrier = _CARRIED[name]
        bits: np.ndarray = np.asarray(plain.detach().numpy())
        return bits.view(carrier).view(dtype)
    dense = plain.detach() if plain.place.is_cpu_place() else plain.detach().cpu()
    if name == "bool" or dense.size == 0:  # what numpy does not take through DLPack
        return np.asarray(dense.numpy())
    array: np.ndarray = np.from_dlpack(dense)
    return array


def from_numpy(array: np.ndarray, like: object) -> object:
    """The array as a tensor of Paddle's; a copy."""
    import paddle

    for name, (dtype, carrier) in _CARRIED.items():
        if array.dtype == dtype:
            if name == "bfloat16":
                return paddle.to_tensor(np.ascontiguousarray(array).view(carrier), dtype="bfloat16")
            return paddle.to_tensor(array.astype(np.float32)).astype(name)
    return paddle.to_tensor(np.ascontiguousarray(array).reshape(array.shape))
