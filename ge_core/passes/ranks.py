"""Decides branches by the ranks that their results may have.

Exporters write `squeeze` of one axis as an If: where the axis has size 1 a Squeeze, else the value as it is, so that
the number of axes depends on the call. Often all that follows needs one of the two, and fails with the other: the
branch that gives it then stands in the If's place, behind an assertion that its condition holds.

    y = If(n == 1, x[a, b, 1] squeezed, x[a, b, n]); h = LSTM(unsqueezed y, ...)      becomes
    assert n == 1; y = x squeezed; h = LSTM(unsqueezed y, ...)
"""

from __future__ import annotations

from dataclasses import dataclass

from ge_core.errors import TypeRuleError
from ge_core.ir.builder import Builder
from ge_core.ir.constant import Content
from ge_core.ir.graph import Graph, Node, Value, constant_of
from ge_core.ir.traverse import walk
from ge_core.ir.types import TensorType, Type
from ge_core.ops.infer import refresh
from ge_core.passes.base import Pass, PassContext
from ge_core.passes.infer_types import InferTypes
from ge_core.passes.inline import inline_region

_BRANCHES = ("then_branch", "else_branch")


@dataclass(frozen=True)
class DecideByRank(Pass):
    """Enters regions. A call that the other branch would have made fail fails at the assertion."""

    def run(self, graph: Graph, ctx: PassContext) -> bool:
        changed = False
        for node in list(walk(graph)):
            if node.block is None or not _is_open(node):
                continue
            failures = {branch: _failure(node, branch) for branch in _BRANCHES}
            left = [branch for branch, failure in failures.items() if failure is None]
            if len(left) != 1 or not ctx.allow("branch-by-rank", node):
                continue
            (other,) = (failure for failure in failures.values() if failure is not None)
            _decide(node, left[0], other)
            InferTypes().run(graph, ctx)
            changed = True
        return changed


def _is_open(node: Node) -> bool:
    """Whether the branches of an If give a value of different ranks."""
    if node.op != "If":
        return False
    pairs = zip(*(node.regions[branch].outputs for branch in _BRANCHES), strict=True)
    types = [(a.type, b.type) for a, b in pairs]
    return any(
        isinstance(a, TensorType) and isinstance(b, TensorType)
        and a.shape is not None and b.shape is not None and len(a.shape) != len(b.shape)
        for a, b in types
    )  # fmt: skip


def _failure(node: Node, branch: str) -> str | None:
    """Why what follows an If in its block fails with a branch's results; None where nothing says that it does."""
    trial = _Trial()
    try:
        trial.take(node, branch)
        later = node.next
        while later is not None:
            trial.infer(later)
            later = later.next
    except TypeRuleError as error:
        return error.what
    finally:
        trial.undo()
    return None


class _Trial:
    """Types that would hold if an If took one branch."""

    def __init__(self) -> None:
        self._before: dict[Value, tuple[Type, Content | None]] = {}

    def infer(self, node: Node) -> None:
        """Infer a node; an If whose condition is known by now takes its branch, others stand as they are.

        Raises:
            TypeRuleError: the node cannot run.
        """
        branch = _known(node) if node.op == "If" else None
        if branch is not None:
            region = node.regions[branch]
            for capture in region.captures:
                self._set(capture.param, capture.outer)
            for inner in region.nodes:
                self.infer(inner)
            self.take(node, branch)
            return
        for value in node.outputs:
            self._keep(value)
        refresh(node)

    def take(self, node: Node, branch: str) -> None:
        """Give an If the results of a branch."""
        for value, result in zip(node.outputs, node.regions[branch].outputs, strict=True):
            self._set(value, result)

    def undo(self) -> None:
        """Put back what was there."""
        for value, (type, content) in self._before.items():
            value.type, value.content = type, content

    def _keep(self, value: Value) -> None:
        self._before.setdefault(value, (value.type, value.content))

    def _set(self, value: Value, like: Value) -> None:
        self._keep(value)
        value.type, value.content = like.type, like.content


def _put(node: Node, branch: str) -> None:
    """Put a branch in the place of an If."""
    assert node.block is not None
    results = inline_region(node.regions[branch], node, ())
    for old, new in zip(node.outputs, results, strict=True):
        old.replace_uses(new)
    node.block.nodes.remove(node)


def _known(node: Node) -> str | None:
    """The branch that an If takes, where its condition is known."""
    condition = node.inputs[0]
    constant = constant_of(condition)
    known = None if constant is None else constant.known()
    if known is not None:
        return _BRANCHES[0] if bool(known.reshape(-1)[0]) else _BRANCHES[1]
    content = None if condition is None else condition.content
    if content is None or len(content) != 1 or not isinstance(content[0], int):
        return None
    return _BRANCHES[0] if content[0] else _BRANCHES[1]


def _decide(node: Node, branch: str, other: str) -> None:
    """The branch instead of the If, behind the assertion that it is the one to take."""
    assert node.block is not None
    b, condition = Builder(node.block, before=node, loc=node.loc), node.inputs[0]
    assert condition is not None
    holds = condition if branch == _BRANCHES[0] else b.Not(condition)
    b.ge.Check(holds, message=f"the other branch gives another number of axes, with which {other}")
    _put(node, branch)
