"""Memory between pages that may not be touched: a kernel that leaves its buffers ends the process."""

from __future__ import annotations

import ctypes
import mmap
from typing import Any

import numpy as np

_PAGE = mmap.PAGESIZE
_LIBC = ctypes.CDLL(None, use_errno=True)


class Guarded:
    """Allocates arrays whose end (or start) touches a page without access.

    Args:
        at_end: whether the end touches the page behind, else the start the page before.
    """

    def __init__(self, at_end: bool = True) -> None:
        self.at_end = at_end
        self._kept: list[Any] = []

    def bytes(self, nbytes: int, alignment: int = 64) -> np.ndarray:
        """`nbytes` bytes, filled with 0xFF; the start is aligned, the end only as far as that allows."""
        room = -(-max(nbytes, 1) // _PAGE) * _PAGE
        area = mmap.mmap(-1, room + 2 * _PAGE)
        whole = np.frombuffer(area, np.uint8)
        address = whole.ctypes.data
        for page in (address, address + _PAGE + room):
            if _LIBC.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(_PAGE), 0) != 0:
                raise OSError(ctypes.get_errno(), "mprotect")
        self._kept.append(area)
        start = _PAGE
        if self.at_end:
            start += (room - nbytes) // alignment * alignment
        found = whole[start : start + nbytes]
        found[:] = 0xFF
        return found

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """An array aligned to its elements alone."""
        dtype = np.dtype(dtype)
        nbytes = dtype.itemsize * int(np.prod(shape, dtype=np.int64))
        return self.bytes(nbytes, dtype.itemsize).view(dtype).reshape(shape)

    def copy(self, array: np.ndarray) -> np.ndarray:
        """A copy between the pages."""
        found = self.empty(array.shape, array.dtype)
        found[...] = array
        return found
