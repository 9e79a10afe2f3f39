"""A matrix in bytes: every column as int8 times a scale, w[:, j] ≈ q[:, j] s[j] with s[j] = max |w[:, j]| / 127.

It is worked on in blocks that stay in a cache, by all processors: large temporaries would cost more than all of the
arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from ge_core.processors import processors

BLOCK = 1 << 16
"""Elements of a block."""
_LEAST_BLOCKS = 4
"""Blocks for which a thread is worth its start."""

_T = TypeVar("_T")


@dataclass(frozen=True)
class Bytes:
    """A matrix in bytes.

    Attributes:
        stored: int8, of the matrix's shape and memory order.
        scales: float32, one for each column.
        lost: the root mean square of what rounding costs, relative to that of the matrix.
    """

    stored: np.ndarray
    scales: np.ndarray
    lost: float


def in_bytes(weights: np.ndarray, columns: int) -> Bytes | None:
    """A float32 matrix in bytes; None where a column is not finite, or too small for a scale.

    Args:
        columns: the axis along which the columns lie side by side.
    """
    turned = weights.strides[0] < weights.strides[1]
    matrix = weights.T if turned else weights
    by_rows = (columns == 1) == turned  # a scale for each row of `matrix`, whose rows lie in memory one by one
    largest = _largest(matrix, by_rows)
    if not np.isfinite(largest).all():
        return None
    scales = np.where(largest > 0, largest / np.float32(127), np.float32(1)).astype(np.float32)
    if not (scales >= np.finfo(np.float32).tiny).all():
        return None
    stored = np.empty(matrix.shape, np.int8)
    wide = scales[:, None] if by_rows else scales[None, :]

    def rounded(rows: slice) -> tuple[float, float]:
        block, own = matrix[rows], wide[rows] if by_rows else wide
        work = block / own
        np.rint(work, out=work)
        np.copyto(stored[rows], work, casting="unsafe")
        work *= own
        work -= block
        return float(np.vdot(work, work)), float(np.vdot(block, block))

    sums = np.array(_in_blocks(matrix, rounded), np.float64).reshape(-1, 2).sum(axis=0)
    lost = float(np.sqrt(sums[0] / sums[1])) if sums[1] > 0 else 0.0
    return Bytes(stored.T if turned else stored, scales, lost)


def _largest(matrix: np.ndarray, by_rows: bool) -> np.ndarray:
    """The largest magnitude of each row, or of each column; NaN where there is one."""
    axis = 1 if by_rows else 0
    if not matrix.size:
        return np.zeros(matrix.shape[1 - axis], np.float32)
    found = _in_blocks(matrix, lambda rows: np.maximum(matrix[rows].max(axis=axis), -matrix[rows].min(axis=axis)))
    return np.concatenate(found) if by_rows else np.maximum.reduce(found)


def _in_blocks(matrix: np.ndarray, work: Callable[[slice], _T]) -> list[_T]:
    """Work on the rows of a matrix, block by block, in threads: numpy leaves the interpreter while it computes."""
    rows, columns = matrix.shape
    step = max(BLOCK // max(columns, 1), 1)
    blocks = [slice(start, min(start + step, rows)) for start in range(0, rows, step)]
    threads = min(processors(), len(blocks) // _LEAST_BLOCKS)
    if threads < 2:
        return [work(block) for block in blocks]
    share = -(-len(blocks) // threads)
    shares = [blocks[start : start + share] for start in range(0, len(blocks), share)]
    with ThreadPoolExecutor(max_workers=threads) as pool:
        return [found for part in pool.map(lambda own: [work(block) for block in own], shares) for found in part]
