"""Square blocks transposed in registers."""

from __future__ import annotations

from collections.abc import Sequence

from ge_backend_cpu.emit import Function
from ge_backend_cpu.integers import Value


def transposed(f: Function, rows: Sequence[Value]) -> list[Value]:
    """The columns of a square block of vectors, as many as each has elements (a power of two).

    Blocks of half the size change places, then in each of them blocks of a quarter, and so on.
    """
    found, count = list(rows), len(rows)
    step = count // 2
    while step:
        low = [k + count - step if k & step else k for k in range(count)]
        high = [k + count if k & step else k + step for k in range(count)]
        for i in range(count):
            if not i & step:
                a, b = found[i], found[i + step]
                found[i], found[i + step] = f.shuffle(a, b, low), f.shuffle(a, b, high)
        step //= 2
    return found
