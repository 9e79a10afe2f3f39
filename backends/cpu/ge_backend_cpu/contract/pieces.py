"""Matrix products of packed weights in pieces that BLAS computes in the calling thread.

The compiling processes have the other processors meanwhile, and BLAS's threads wait for each other without sleeping:
with nobody free to run them they take several times as long as one alone.
"""

from __future__ import annotations

import numpy as np

MOST = 1 << 17
"""Multiplications of a piece; common BLAS libraries share products of more than twice as many."""
_ROWS = 16


def multiplied(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """a [m, k] times b [k, n]; sums of long runs are added up in another order than BLAS's."""
    (m, k), n = a.shape, b.shape[1]
    found = np.zeros((m, n), np.result_type(a, b))
    depth = max(MOST // (min(m, _ROWS) * max(n, 1)), 1)
    for start in range(0, k, depth):
        part, factor = a[:, start : start + depth], b[start : start + depth]
        rows = max(MOST // max(factor.size, 1), 1)
        for row in range(0, m, rows):
            found[row : row + rows] += part[row : row + rows] @ factor
    return found
