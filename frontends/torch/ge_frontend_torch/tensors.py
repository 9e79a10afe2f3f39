"""torch tensors as numpy arrays and back, on the same memory where possible.

numpy has no bfloat16 and no 8-bit floats, and its DLPack refuses them; so these cross as integers of the same
width and are viewed as ml_dtypes' types on numpy's side. torch is looked up, never imported: a torch tensor
cannot exist before torch.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from ge_core.errors import InputError

# torch's name of the type, numpy's type, the integer that carries its bits.
_AS_INTEGER = (
    ("bfloat16", np.dtype(ml_dtypes.bfloat16), "int16"),
    ("float8_e4m3fn", np.dtype(ml_dtypes.float8_e4m3fn), "uint8"),
    ("float8_e4m3fnuz", np.dtype(ml_dtypes.float8_e4m3fnuz), "uint8"),
    ("float8_e5m2", np.dtype(ml_dtypes.float8_e5m2), "uint8"),
    ("float8_e5m2fnuz", np.dtype(ml_dtypes.float8_e5m2fnuz), "uint8"),
    ("float8_e8m0fnu", np.dtype(ml_dtypes.float8_e8m0fnu), "uint8"),
)
_SHARED = {
    np.dtype(name) for name in ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool")
}
"""numpy's types that torch shares as they are."""


@lru_cache(maxsize=1)
def _shared_types() -> frozenset[Any]:
    import torch

    return frozenset(getattr(torch, dtype.name) for dtype in _SHARED)


def to_numpy(tensor: object) -> np.ndarray | None:
    """The tensor's values; None when it is no torch tensor.

    A dense tensor on the CPU shares its memory; one on a device is copied.

    Raises:
        InputError: the tensor has no values (`meta` or fake), or no dense ones (sparse, quantised, complex).
    """
    torch: Any = sys.modules.get("torch")
    if torch is None or not isinstance(tensor, torch.Tensor):
        return None
    if type(tensor) is torch.Tensor and tensor.dtype in _shared_types():
        try:
            return tensor.numpy()  # torch refuses what has no dense values of its own on the CPU
        except (RuntimeError, TypeError):
            pass
    _check_readable(torch, tensor)
    plain: Any = tensor.detach().cpu().resolve_neg()
    for name, dtype, carrier in _AS_INTEGER:
        if plain.dtype == getattr(torch, name, None):
            # A rank-0 or strided tensor may be viewed too, since the width does not change.
            bits: np.ndarray = plain.view(getattr(torch, carrier)).numpy()
            return bits.view(dtype)
    array: np.ndarray = plain.numpy()
    return array


def from_numpy(array: np.ndarray, like: object) -> object:
    """The array as a torch tensor on the device of `like`.

    Shares memory with a writable array when `like` is on the CPU; otherwise copies once.
    """
    import torch

    if isinstance(like, torch.Tensor) and like.is_cpu and array.dtype in _SHARED and array.flags.carray:
        return torch.from_numpy(array)
    shared: np.ndarray = array if _torch_takes(array) else np.array(array, array.dtype.newbyteorder("="), order="C")
    tensor = None
    for name, dtype, carrier in _AS_INTEGER:
        if shared.dtype == dtype:
            tensor = torch.from_numpy(shared.view(carrier)).view(getattr(torch, name))
    if tensor is None:
        tensor = torch.from_numpy(shared)
    return tensor.to(like.device) if isinstance(like, torch.Tensor) else tensor


def _torch_takes(array: np.ndarray) -> bool:
    """Whether torch can share this memory: writable, native byte order, no negative strides."""
    return array.flags.writeable and array.dtype.isnative and all(stride >= 0 for stride in array.strides)


def _check_readable(torch: Any, tensor: Any) -> None:
    what = ""
    if tensor.is_meta or type(tensor).__name__ == "FakeTensor":
        what = "has no values: it is on the device 'meta' or a fake tensor"
    elif tensor.layout != torch.strided:
        what = f"is sparse ({tensor.layout})"
    elif tensor.is_quantized:
        what = f"is quantised ({tensor.dtype})"
    elif tensor.is_complex():
        what = f"is complex ({tensor.dtype})"
    if what:
        raise InputError(
            f"a tensor of shape {tuple(tensor.shape)} {what}",
            expected="a dense tensor of real numbers, integers or booleans, with values",
        )
