"""Patterns over the producers of a value, matched with backtracking; a failure says where and why.

    pattern = Node("Mul", X, Node("Sigmoid", X))

matches x * sigmoid(x) in either order, since Mul is commutative. A name binds one value: the second `X` must be the
same value as the first. Matching looks at one block; constants are seen through captures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import permutations
from typing import Any

import ml_dtypes
import numpy as np

from ge_core.ir import graph as ir
from ge_core.ir.dims import Size, Symbol, symbols
from ge_core.ir.graph import Value, constant_of, source_of
from ge_core.ir.types import Shape, TensorType
from ge_core.ops.schema import schema

COMMUTATIVE = frozenset(
    {"Add", "Mul", "And", "Or", "Xor", "Equal", "Max", "Min", "BitwiseAnd", "BitwiseOr", "BitwiseXor"}
)


MOST_COMPARED = 1 << 26
"""Bytes of a constant in a file that are read to see whether all of its elements are one number."""


class NoMatch(Exception):
    """A rule does not apply: the reason, and the node at which it was found."""

    def __init__(self, reason: str, node: ir.Node | None = None) -> None:
        super().__init__(reason)
        self.reason, self.node = reason, node


class NotApplicable(NoMatch):
    """The rule is about something else: no near miss."""


@dataclass
class Match:
    """What a pattern bound.

    Attributes:
        root: the node at which the pattern was tried.
        values: bound values by name.
        given: the symbols that a call binds from its inputs.
        matched: the nodes that take part, root first.
    """

    root: ir.Node
    values: dict[str, Value] = field(default_factory=dict)
    given: frozenset[Symbol] = frozenset()
    matched: list[ir.Node] = field(default_factory=list)
    named: dict[str, ir.Node] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Value:
        return self.values[name]

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def node(self, name: str) -> ir.Node:
        """The matched node that the pattern calls `name`."""
        return self.named[name]

    def has_node(self, name: str) -> bool:
        return name in self.named

    def require(self, condition: object, reason: str, node: ir.Node | None = None) -> None:
        """Go on only when the condition holds.

        Raises:
            NoMatch: it does not.
        """
        if not condition:
            raise NoMatch(reason, node or self.root)

    def applies(self, condition: object, reason: str) -> None:
        """Like `require`, for conditions whose failure is no news.

        Raises:
            NotApplicable: the condition does not hold.
        """
        if not condition:
            raise NotApplicable(reason, self.root)

    def shape(self, value: Value) -> Shape:
        """The shape of a value, which a `ge.Dims` can say anywhere in the graph.

        Raises:
            NoMatch: the rank is unknown, or a size depends on data.
        """
        t = value.type
        if not isinstance(t, TensorType) or t.shape is None:
            raise NoMatch(f"%{value.name} has no known rank", self.root)
        self.require(self.expressible(t.shape), f"a size of %{value.name} depends on data")
        return t.shape

    def expressible(self, sizes: Iterable[Size]) -> bool:
        """Whether sizes depend on the inputs' sizes alone."""
        return all(isinstance(s, int) or symbols(s) <= self.given for s in sizes)

    def scalar(self, name: str) -> float:
        """The only element of a bound constant.

        Raises:
            NoMatch: it is no constant of one element.
        """
        value = scalar_of(self.values[name])
        if value is None:
            raise NoMatch(f"%{self.values[name].name} is no scalar constant", self.root)
        return float(value)

    def shared_inside(self, allowed: Sequence[str] = ()) -> ir.Node | None:
        """A matched node, other than the root, that something outside the match reads too."""
        inside = set(self.matched)
        free = {self.named[n] for n in allowed if n in self.named}
        for node in self.matched:
            if node is self.root or node in free:
                continue
            for value in node.outputs:
                if any(use.user not in inside for use in value.uses):
                    return node
        return None


def scalar_of(value: Value | None) -> Any:
    """The element of a constant that has exactly one, else None."""
    constant = constant_of(value)
    if constant is None or constant.type.elements != 1:
        return None
    array = constant.known()
    return None if array is None else array.reshape(-1)[0]


def ints_of(value: Value | None) -> tuple[int, ...] | None:
    """The elements of a small integer tensor that are known and no expressions, else None."""
    content = None if value is None else value.content
    if content is None:
        return None
    numbers = tuple(s for s in content if isinstance(s, int))
    return numbers if len(numbers) == len(content) else None


class Trial:
    """One attempt to match: the deepest failure so far."""

    def __init__(self, root: ir.Node) -> None:
        self.root = root
        self.depth = 0
        self.reason = ""
        self.node = root

    def fail(self, m: Match, reason: str, node: ir.Node | None = None) -> None:
        if len(m.matched) >= self.depth:
            self.depth, self.reason, self.node = len(m.matched), reason, node or self.root


class Pattern:
    """Base of patterns; `match` yields every way to bind a value, undoing its bindings when asked for the next.

    Attributes:
        size: the least number of nodes that a match takes.
    """

    size: int = 0

    def match(self, value: Value | None, m: Match, trial: Trial) -> Iterator[None]:
        raise NotImplementedError


@dataclass(frozen=True)
class Any_(Pattern):
    """Any value; a name seen before must be the same value."""

    name: str = ""
    when: Callable[[Value], bool] | None = None
    what: str = "the wanted kind"

    def match(self, value: Value | None, m: Match, trial: Trial) -> Iterator[None]:
        if value is None:
            return trial.fail(m, f"operand {self.name} is omitted")
        if self.when is not None and not self.when(value):
            return trial.fail(m, f"%{value.name} is not {self.what}", value.producer)
        if not self.name:
            yield
            return
        bound = m.values.get(self.name)
        if bound is not None:
            if source_of(bound) is source_of(value):
                yield
            else:
                trial.fail(m, f"%{value.name} and %{bound.name} must be one value ({self.name})", value.producer)
            return
        m.values[self.name] = value
        yield
        del m.values[self.name]


class Bound(Pattern):
    """A pattern whose value also gets a name."""

    def __init__(self, name: str, inner: Pattern) -> None:
        self.name, self.inner, self.size = name, inner, inner.size

    def match(self, value: Value | None, m: Match, trial: Trial) -> Iterator[None]:
        for _ in Any_(self.name).match(value, m, trial):
            yield from self.inner.match(value, m, trial)


@dataclass(frozen=True)
class Scalar(Pattern):
    """A constant of one element; with `value`, one that equals it to a relative 1e-3 of the dtype's rounding.

    Attributes:
        value: the number, or None for any.
        rel: relative tolerance on top of the rounding of the constant's own element type.
    """

    name: str = ""
    value: float | None = None
    rel: float = 1e-6

    def match(self, value: Value | None, m: Match, trial: Trial) -> Iterator[None]:
        found = scalar_of(value)
        if value is None or found is None:
            shown = "an omitted operand" if value is None else f"%{value.name}"
            return trial.fail(m, f"{shown} is no scalar constant", value.producer if value is not None else None)
        if self.value is not None:
            dtype = value.tensor.dtype
            rel = max(self.rel, rounding(value) if dtype.is_float else 0.0)
            if not abs(float(found) - self.value) <= rel * abs(self.value):
                return trial.fail(m, f"the constant %{value.name} is {float(found)!r}, expected {self.value!r}")
        yield from Any_(self.name).match(value, m, trial)


def rounding(value: Value) -> float:
    """The relative rounding of a value's float type."""
    return float(ml_dtypes.finfo(value.tensor.dtype.numpy).eps)


@dataclass(frozen=True)
class Constant(Pattern):
    """A constant of the graph."""

    name: str = ""

    def match(self, value: Value | None, m: Match, trial: Trial) -> Iterator[None]:
        if constant_of(value) is None:
            shown = "an omitted operand" if value is None else f"%{value.name}"
            return trial.fail(m, f"{shown} is no constant")
        yield from Any_(self.name).match(value, m, trial)


class Node(Pattern):
    """The only output (or output `out`) of a node.

    Args:
        ops: operator name, or several separated by `|`.
        inputs: patterns of the leading inputs; further inputs must be omitted, unless `rest`.
        name: for `Match.node`.
        attrs: attributes with the value they must have (missing ones count with the schema's default).
    """

    def __init__(
        self, ops: str, *inputs: Pattern, name: str = "", out: int = 0, rest: bool = False, **attrs: Any
    ) -> None:
        self.ops = frozenset(ops.split("|"))
        self.inputs, self.name, self.out, self.rest, self.attrs = inputs, name, out, rest, attrs
        self.size = 1 + sum(p.size for p in inputs)

    def match(self, value: Value | None, m: Match, trial: Trial) -> Iterator[None]:
        if value is None:
            return trial.fail(m, f"expected {self.shown}, the operand is omitted")
        node = value.producer
        if node is None:
            return trial.fail(m, f"expected {self.shown}, %{value.name} is no node's output")
        if node.op not in self.ops:
            return trial.fail(m, f"expected {self.shown}, %{value.name} is {node.op}", node)
        if node.outputs[self.out] is not value:
            return trial.fail(m, f"%{value.name} is another output of {node.op}", node)
        yield from self.match_node(node, m, trial)

    @property
    def shown(self) -> str:
        return " or ".join(sorted(self.ops))

    def match_node(self, node: ir.Node, m: Match, trial: Trial) -> Iterator[None]:
        """Like `match`, from the node itself."""
        for key, wanted in self.attrs.items():
            have = attribute(node, key)
            if have != wanted:
                return trial.fail(m, f"{key} is {have!r}, expected {wanted!r}", node)
        operands = list(node.inputs)
        while operands and operands[-1] is None:
            operands.pop()
        if len(operands) > len(self.inputs) and not self.rest:
            return trial.fail(m, f"{node.op} has {len(operands)} inputs, expected {len(self.inputs)}", node)
        m.matched.append(node)
        if self.name:
            m.named[self.name] = node
        padded = operands + [None] * (len(self.inputs) - len(operands))
        orders: Sequence[Sequence[Value | None]] = [padded]
        if node.op in COMMUTATIVE and len(self.inputs) == len(operands) <= 3:
            orders = list(permutations(padded))
        for order in orders:
            yield from self._operands(0, order, m, trial)
        m.matched.pop()
        if self.name:
            del m.named[self.name]

    def _operands(self, at: int, operands: Sequence[Value | None], m: Match, trial: Trial) -> Iterator[None]:
        if at == len(self.inputs):
            yield
            return
        for _ in self.inputs[at].match(operands[at], m, trial):
            yield from self._operands(at + 1, operands, m, trial)


@dataclass(frozen=True)
class Omitted(Pattern):
    """An optional input that is not given."""

    def match(self, value: Value | None, m: Match, trial: Trial) -> Iterator[None]:
        if value is None:
            yield
        else:
            trial.fail(m, f"%{value.name} is given, expected an omitted operand")


class Either(Pattern):
    """Any of several patterns, in order."""

    def __init__(self, *patterns: Pattern) -> None:
        self.patterns, self.size = patterns, min(p.size for p in patterns)

    def match(self, value: Value | None, m: Match, trial: Trial) -> Iterator[None]:
        for p in self.patterns:
            yield from p.match(value, m, trial)


def maybe(ops: str, inner: Pattern, name: str = "", **attrs: Any) -> Pattern:
    """`inner`, or `inner` behind one node of `ops`."""
    return Either(Node(ops, inner, name=name, **attrs), inner)


def attribute(node: ir.Node, name: str) -> Any:
    """An attribute of a node, else the schema's default."""
    if name in node.attrs:
        return node.attrs[name]
    declared = schema(node.op).attributes.get(name)
    return None if declared is None else declared.default


def same_shape(a: Value, b: Value) -> bool:
    """Whether both are tensors of known, structurally equal shape."""
    return (
        isinstance(a.type, TensorType)
        and isinstance(b.type, TensorType)
        and a.type.shape is not None
        and a.type.shape == b.type.shape
    )


def is_all(value: Value | None, number: float) -> bool:
    """Whether a value is a constant all of whose elements equal `number` (NaN never does).

    Args:
        number: compared with ==, so that 0.0 also accepts -0.0.
    """
    constant = constant_of(value)
    if constant is None or constant.type.dtype.kind in ("string", "complex"):
        return False
    array = constant.known(MOST_COMPARED)
    if array is None or array.size == 0 or float(array.reshape(-1)[0]) != number:
        return False
    return bool(np.all(array == array.dtype.type(number)))
