"""What the passes did: runs with times, every rewrite in order, and why near misses did not match."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ge_core.ir.graph import Node
from ge_core.ir.location import Location

MAX_MISSES = 1000


@dataclass(frozen=True)
class PassRun:
    """One run of a pass.

    Attributes:
        name: the pass; inner passes of a manager are runs of their own.
        seconds: wall time.
        nodes_before, nodes_after: number of nodes, regions included.
    """

    name: str
    seconds: float
    changed: bool
    rewrites: int
    nodes_before: int
    nodes_after: int


@dataclass(frozen=True)
class Rewrite:
    """One change of the graph: the unit of `stop_after` and of bisecting.

    Attributes:
        index: 1 for the first rewrite of a compilation.
        rule: the rewrite rule, or what the pass did.
        node: the name of the first output of the node it started from.
    """

    index: int
    pass_name: str
    rule: str
    op: str
    node: str
    loc: Location

    def __str__(self) -> str:
        place = f" ({self.loc})" if str(self.loc) else ""
        return f"rewrite {self.index}: {self.pass_name}/{self.rule} at {self.op} %{self.node}{place}"


@dataclass(frozen=True)
class Miss:
    """A rule that matched several nodes and then stopped: at which node, and why."""

    pass_name: str
    rule: str
    op: str
    node: str
    reason: str
    loc: Location

    def __str__(self) -> str:
        place = f" ({self.loc})" if str(self.loc) else ""
        return f"{self.pass_name}/{self.rule} did not apply at {self.op} %{self.node}{place}: {self.reason}"


def node_name(node: Node) -> str:
    """How a node is called in reports: by its first output."""
    return node.outputs[0].name if node.outputs else ""


@dataclass
class PassReport:
    """Collected over one compilation."""

    runs: list[PassRun] = field(default_factory=list)
    trail: list[Rewrite] = field(default_factory=list)
    misses: list[Miss] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _seen: set[Miss] = field(default_factory=set, repr=False)

    def counts(self) -> Counter[tuple[str, str]]:
        """How often each (pass, rule) changed the graph."""
        return Counter((r.pass_name, r.rule) for r in self.trail)

    def miss(self, pass_name: str, rule: str, node: Node, reason: str) -> None:
        """Record a near miss, each once; the first thousand are kept."""
        miss = Miss(pass_name, rule, node.op, node_name(node), reason, node.loc)
        if len(self.misses) < MAX_MISSES and miss not in self._seen:
            self._seen.add(miss)
            self.misses.append(miss)

    def seconds(self) -> dict[str, float]:
        """Total seconds by pass."""
        total: dict[str, float] = {}
        for run in self.runs:
            total[run.name] = total.get(run.name, 0.0) + run.seconds
        return total
