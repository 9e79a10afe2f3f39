"""Attributes of ONNX that are values here: a case for each that they may have."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ge_core.ir.builder import Builder
from ge_core.ir.graph import Value

from .forms import InexpressibleError, constant_ints


def by_cases(
    b: Builder, axis: Value, rank: int, what: str, make: Callable[[Builder, int], Value], *, cases: int | None = None
) -> Value:
    """What `make` builds for an axis that may come with the call: an If for each axis but the last.

    Args:
        what: names the axis in messages.
        cases: how many axes it may be, the first ones; by default all.
    """
    try:
        return make(b, constant_ints(axis, what)[0] % rank)
    except InexpressibleError:
        pass
    last = (rank if cases is None else cases) - 1
    at = b.Mod(b.Reshape(axis, b.constant(np.zeros(0, np.int64))), b.constant(rank, axis.dtype))

    def case(r: Builder, k: int) -> Value:
        if k == last:
            return make(r, k)
        made: Value = r.If(
            r.Equal(at, r.constant(k, axis.dtype)),
            then_branch=lambda t: [make(t, k)],
            else_branch=lambda e: [case(e, k + 1)],
        )
        return made

    return case(b, 0)
