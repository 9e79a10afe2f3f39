"""The manager of passes, itself a pass: runs them in order, once or until nothing changes."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from ge_core.errors import GeError, PassError
from ge_core.ir.graph import Graph
from ge_core.ir.printer import print_graph
from ge_core.ir.traverse import walk
from ge_core.ir.verifier import verify
from ge_core.passes.base import Pass, PassContext
from ge_core.passes.report import PassRun
from ge_core.passes.saved import Snapshot


@dataclass(frozen=True)
class PassManager(Pass):
    """Runs passes in order.

    Attributes:
        passes: what to run.
        label: the name in reports.
        fixpoint: repeat the whole list until no pass changes anything; bounded by `Limits.rounds`.

    In debug the graph is verified before and after each pass. When a pass fails, the error names it and the passes
    before it, and the graph stands in a file together with the command that repeats the failure.
    """

    passes: tuple[Pass, ...]
    label: str = "passes"
    fixpoint: bool = False

    @property
    def name(self) -> str:
        return self.label

    def run(self, graph: Graph, ctx: PassContext) -> bool:
        if len(ctx.running) <= 1:
            ctx.start(graph)
        changed = False
        for _ in range(ctx.limits.rounds if self.fixpoint else 1):
            again = False
            for p in self.passes:
                again |= self._one(p, graph, ctx)
            changed |= again
            if not again:
                return changed
        if self.fixpoint:
            last = sorted({r.rule for r in ctx.report.trail[-20:]})
            ctx.unsettled(
                f"the passes {self.label} still change the graph after {ctx.limits.rounds} rounds; among the last "
                f"rewrites: {', '.join(last)}"
            )
        return changed

    def _one(self, p: Pass, graph: Graph, ctx: PassContext) -> bool:
        if isinstance(p, PassManager):
            return p(graph, ctx)
        if ctx.is_settled(p, graph):
            return False
        before = None
        if ctx.debug:
            before = Snapshot.of(graph)
            _verify(graph, f"before pass {p.name}", ctx)
        nodes, rewrites, start = _count(graph), ctx.rewrites, time.perf_counter()
        try:
            changed = p(graph, ctx)
            seconds = time.perf_counter() - start
            if ctx.debug and changed:
                _verify(graph, f"after pass {p.name}", ctx)
        except Exception as e:
            raise _failure(p, ctx, before, e) from e
        ctx.settle(p, changed)
        after = _count(graph) if changed else nodes
        ctx.report.runs.append(PassRun(p.name, seconds, changed, ctx.rewrites - rewrites, nodes, after))
        if p.name in ctx.print_after:
            print(f"graph after {p.name}:\n{print_graph(graph)}", file=sys.stderr)
        if ctx.save_to is not None and changed:
            Snapshot.of(graph).save(ctx.save_to / f"{len(ctx.report.runs):03d}-{p.name}.txt")
        return changed


def _count(graph: Graph) -> int:
    return sum(1 for _ in walk(graph))


def _verify(graph: Graph, when: str, ctx: PassContext) -> None:
    try:
        verify(graph)
    except GeError as e:
        raise PassError(f"invalid graph {when}: {e.what}", details=e.details) from e


def _failure(p: Pass, ctx: PassContext, before: Snapshot | None, cause: Exception) -> PassError:
    """The error of a failed pass, with the graph in a file."""
    earlier = [r.name for r in ctx.report.runs]
    folder = ctx.save_to or Path(tempfile.gettempdir())
    what = cause.what if isinstance(cause, GeError) else f"{type(cause).__name__}: {cause}"
    details = list(cause.details) if isinstance(cause, GeError) else []
    details.append(f"passes before it: {', '.join(earlier) or 'none'}")
    if ctx.report.trail:
        details.append(f"last: {ctx.report.trail[-1]}")
    if before is None:
        fix = "set GE_DEBUG=1 and run again: the graph before the pass and a command to repeat it will be saved"
    else:
        path = folder / f"ge-{os.getpid()}-{p.name}.txt"
        try:
            before.save(path)
            fix = f"python -m ge_core.passes {path} {p.name}"
        except (OSError, GeError) as e:
            fix = f"the graph could not be saved: {e}"
    return PassError(
        f"pass {p.name} failed: {what}",
        where=cause.where if isinstance(cause, GeError) else None,
        details=details,
        fix=fix,
    )
