"""Finds the one rewrite that makes a graph wrong."""

from __future__ import annotations

from collections.abc import Callable

from ge_core.ir.graph import Graph
from ge_core.passes.base import Pass, PassContext
from ge_core.passes.report import Rewrite


def guilty_rewrite(
    make: Callable[[], Graph],
    is_right: Callable[[Graph], bool],
    passes: Pass,
    context: Callable[[int | None], PassContext],
) -> Rewrite | None:
    """The first rewrite after which a graph is no longer right, found by repeating the passes in halves.

    Args:
        make: a fresh copy of the graph.
        is_right: judges an optimised graph, usually by comparing its results with the original's.
        passes: what to run.
        context: a fresh context that stops after the given number of rewrites (None: never).

    Returns:
        None when the graph is right after all rewrites; otherwise the guilty one.
    """

    def after(count: int | None) -> tuple[bool, list[Rewrite]]:
        graph, ctx = make(), context(count)
        passes(graph, ctx)
        return is_right(graph), ctx.report.trail

    right, trail = after(None)
    if right:
        return None
    good, bad = 0, len(trail)
    while bad - good > 1:
        middle = (good + bad) // 2
        if after(middle)[0]:
            good = middle
        else:
            bad = middle
    return after(bad)[1][-1]
