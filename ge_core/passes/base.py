"""What a pass is, and what it is given.

A pass is a frozen dataclass: fields are options, `run` does the work and returns whether it changed anything.
It is called as `pass_(graph, ctx)`; in debug the call checks the claim of change against the graph's text.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from ge_core.errors import OptionError, PassError
from ge_core.ir.graph import Graph, Node
from ge_core.ir.location import UNKNOWN
from ge_core.ir.printer import print_graph
from ge_core.passes.report import PassReport, Rewrite, node_name

SWITCHES = frozenset({"fusion", "memory", "reorder", "dce", "fold", "layout", "select"})
ALL_SWITCHES = SWITCHES | {"measure"}
"""With those that `optimize="max"` alone turns on: selection by what kernels take on this machine."""
PRECISIONS = ("accuracy", "balanced", "speed")


@dataclass(frozen=True)
class Limits:
    """Bounds of the passes.

    Attributes:
        fold_growth: bytes by which a folded result may exceed the constants it is computed from.
        fold_work: elements that folding may compute for one node.
        rounds: repetitions of a fixpoint before it is an error.
        rewrites_per_node: rewrites of one run for each node of the graph before it is an error (two rules that
            undo each other).
    """

    fold_growth: int = 4096
    fold_work: int = 1 << 26
    rounds: int = 12
    rewrites_per_node: int = 40


def debug_from_environment() -> bool:
    """Whether GE_DEBUG is set to something but 0."""
    return os.environ.get("GE_DEBUG", "0") not in ("", "0")


@dataclass
class PassContext:
    """Options and records shared by the passes of one compilation.

    Attributes:
        switches: which optimisations are on, out of `ALL_SWITCHES`.
        precision: accuracy, balanced or speed.
        debug: verify before and after every pass and check every claim of change; also by GE_DEBUG=1.
        explain: record near misses in the report.
        stop_after: do no more than this many rewrites (for bisecting).
        print_after: names of passes after which the graph is printed to standard error.
        save_to: folder that receives the graph's text after every pass that changed it, and failing graphs.
    """

    switches: frozenset[str] = SWITCHES
    precision: str = "balanced"
    debug: bool = field(default_factory=debug_from_environment)
    explain: bool = False
    stop_after: int | None = None
    print_after: frozenset[str] = frozenset()
    save_to: Path | None = None
    limits: Limits = Limits()
    report: PassReport = field(default_factory=PassReport)
    running: list[str] = field(default_factory=list)
    _settled: dict[int, int] = field(default_factory=dict, repr=False)
    _epoch: int = 0
    _graph: Graph | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Raise OptionError for a switch or precision that does not exist."""
        unknown = sorted(set(self.switches) - ALL_SWITCHES)
        if unknown:
            raise OptionError(f"unknown optimisation {', '.join(unknown)}", expected=", ".join(sorted(ALL_SWITCHES)))
        if self.precision not in PRECISIONS:
            raise OptionError(f"unknown precision {self.precision!r}", expected=", ".join(PRECISIONS))

    @property
    def rewrites(self) -> int:
        """Number of rewrites so far."""
        return len(self.report.trail)

    @property
    def exhausted(self) -> bool:
        """Whether `stop_after` rewrites have been done."""
        return self.stop_after is not None and self.rewrites >= self.stop_after

    def allow(self, rule: str, node: Node | None = None) -> bool:
        """Ask before each change of the graph; records it. False once `stop_after` is reached.

        Args:
            rule: the rewrite rule, or what the pass is about to do.
            node: where it starts, None for a change that belongs to no node.
        """
        if self.exhausted:
            return False
        op, name, loc = ("", "", UNKNOWN) if node is None else (node.op, node_name(node), node.loc)
        pass_name = self.running[-1] if self.running else ""
        self.report.trail.append(Rewrite(self.rewrites + 1, pass_name, rule, op, name, loc))
        return True

    def start(self, graph: Graph) -> None:
        """A manager begins with a graph: nothing is known of it."""
        self._graph, self._settled = graph, {}

    def is_settled(self, p: Pass, graph: Graph) -> bool:
        """Whether a pass found nothing to do in a graph that has not changed since."""
        return self._graph is graph and self._settled.get(id(p)) == self._epoch

    def settle(self, p: Pass, changed: bool) -> None:
        """Note the outcome of a pass."""
        if changed:
            self._epoch += 1
        else:
            self._settled[id(p)] = self._epoch

    def unsettled(self, message: str) -> None:
        """Rewrites that do not end: an error in debug, else a note, since the graph is valid at every moment.

        Raises:
            PassError: in debug.
        """
        if self.debug:
            raise PassError(message, expected="a fixpoint", fix="find the two rules that undo each other")
        self.report.notes.append(message)

    def miss(self, rule: str, node: Node, reason: str) -> None:
        """Record why a rule that nearly matched did not apply, when asked to explain."""
        if self.explain:
            self.report.miss(self.running[-1] if self.running else "", rule, node, reason)


@dataclass(frozen=True)
class Pass(ABC):
    """Base of all passes.

    Attributes:
        regions: "enters" when the pass works inside regions too, "top" when it leaves them alone.
    """

    regions: ClassVar[Literal["enters", "top"]] = "enters"

    @property
    def name(self) -> str:
        """The class name in kebab-case."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", type(self).__name__).lower()

    @abstractmethod
    def run(self, graph: Graph, ctx: PassContext) -> bool:
        """Change the graph in place; whether anything changed."""

    def __call__(self, graph: Graph, ctx: PassContext) -> bool:
        """Run, and in debug check the claim of change.

        Raises:
            PassError: the graph changed and the pass denies it, or the other way round.
        """
        ctx.running.append(self.name)
        try:
            if not ctx.debug:
                return self.run(graph, ctx)
            before = print_graph(graph, locations=True)
            changed = self.run(graph, ctx)
            if changed != (print_graph(graph, locations=True) != before):
                raise PassError(
                    f"pass {self.name} says that it {'changed' if changed else 'did not change'} the graph, "
                    f"which is {'the same' if changed else 'another'} now",
                    fix="return whether the graph changed from run()",
                )
            return changed
        finally:
            ctx.running.pop()
