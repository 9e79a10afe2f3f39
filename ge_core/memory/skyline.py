"""Placing on top: for problems with too many interfering pairs to list them.

The heights over time are one array; a buffer goes on top of what its life covers and fills no holes. Long-lived
buffers first is the order that wastes least, since nested lives (a training step) then stack without holes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ge_core.memory.problem import Problem


def on_top(problem: Problem, order: Sequence[int]) -> list[int]:
    """Place in `order`, each at the lowest place above all that was placed before in its life.

    Returns one place per buffer. O(lives), counted in moments at which some buffer is born.
    """
    count = len(problem)
    moments = sorted({time for rects in problem.rects for time, *_ in rects} or set(problem.start))
    # Python integers beyond what int64 holds: heights never pass the sum of the sizes and of the fixed places.
    reach = sum(problem.size) + sum(problem.alignment) + sum(at or 0 for at in problem.fixed)
    height = np.zeros(len(moments), dtype=np.int64 if reach < 2**62 else object)
    place = [-1] * count
    if not problem.rects:
        first = np.searchsorted(moments, problem.start).tolist()
        last = np.searchsorted(moments, problem.end).tolist()
        size, alignment = problem.size, problem.alignment
        for p in order:
            span = height[first[p] : last[p]]
            here = int(span.max())
            step = alignment[p]
            if step:
                here = -(-here // step) * step
            place[p] = here
            span[:] = here + size[p]
        return place
    spans = [
        [(*np.searchsorted(moments, (start, end)).tolist(), low, high) for start, end, low, high in rects]
        for rects in problem.rects
    ]
    fixed = [p for p, at in enumerate(problem.fixed) if at is not None]
    for p in (*fixed, *order):
        if place[p] >= 0:
            continue
        at = problem.fixed[p]
        if at is None:
            here = max(0, *(int(height[a:b].max()) - low for a, b, low, _ in spans[p]))
            step = problem.alignment[p]
            at = -(-here // step) * step if step else here
        place[p] = at
        for a, b, _, high in spans[p]:
            np.maximum(height[a:b], at + high, out=height[a:b])
    return place
