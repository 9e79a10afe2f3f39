"""Alias classes: values that share bytes, each at an offset from the class's start.

A class becomes one compound buffer. Views and parts join the class of what they look at. A value is *homed* in
another class where that saves a copy: a concat's input in its output, a branch's result in the If's, a loop's first
and next value in its param, a step's result in an operand that dies there, a new state in the old one. Homing is
refused unless it is proven that no byte is needed by two values at once.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import lru_cache

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.graph import Graph, Value
from ge_core.ir.types import Layout, TensorType, Type
from ge_core.plan.lifetimes import Lifetimes, Span
from ge_core.plan.plan import BufferKind
from ge_core.plan.sizes import has_bound, names_in

MOST_PAIRS = 4096
"""Pairs of members compared before homing is refused: keeps planning linear on long chains."""


@dataclass(eq=False)
class AliasClass:
    """Values that share bytes.

    Attributes:
        root: the value that the class began with.
        size: bytes of the whole; None for dynamic classes of unknown size and objects.
        members: each value's offset.
        born, dies: hull of the members' spans.
        index: of an input, constant or state.
    """

    root: Value
    kind: BufferKind
    size: Size | None
    members: dict[Value, Size] = field(default_factory=dict)
    born: int = 0
    dies: int = 0
    index: int = -1


def stored_bytes(value: Value) -> Size | None:
    """Bytes that a value takes in its layout; None for what has none (objects, unknown rank)."""
    return _bytes(value.type, value.layout)


@lru_cache(maxsize=65536)
def _bytes(type: Type, layout: Layout | None) -> Size | None:
    if not isinstance(type, TensorType) or type.shape is None or type.dtype.kind == "string":
        return None
    return type.nbytes() if layout is None else layout.nbytes(type)


def is_plain(value: Value) -> bool:
    """Whether the value is row-major with whole bytes and a known rank, so that reshaping it is free."""
    whole = isinstance(value.type, TensorType) and value.type.dtype.bits >= 8 and value.type.shape is not None
    return whole and (value.layout is None or value.layout.is_row_major)


def before(a: Size, b: Size) -> bool:
    """Whether a <= b for every binding."""
    return dims.less_equal(a, b) is True


class Aliases:
    """All alias classes of a graph.

    Args:
        known: names of the symbols that have values when a call starts.
    """

    def __init__(self, graph: Graph, lives: Lifetimes, known: Collection[str]) -> None:
        self.graph, self.lives, self.known = graph, lives, frozenset(known)
        self.of: dict[Value, AliasClass] = {}
        for i, value in enumerate(graph.inputs):
            self._external(value, "input", i)
        for i, value in enumerate(graph.constants):
            self._external(value, "constant", i)
        for i, state in enumerate(graph.states):
            self._external(state.read, "state", i)
        for value in lives.spans:
            if value not in self.of and value.captured is None:
                self._add(value, self.kind_of(value))
        for value in lives.spans:
            if value.captured is not None:
                self.view(value, value.captured.outer, 0)

    def classes(self) -> list[AliasClass]:
        """All classes in order of their first value."""
        return list(dict.fromkeys(self.of.values()))

    def place(self, value: Value) -> tuple[AliasClass, Size]:
        """A value's class and its offset there."""
        found = self.of[value]
        return found, found.members[value]

    def kind_of(self, value: Value) -> BufferKind:
        """Where a value that a step computes may lie."""
        size = stored_bytes(value)
        if size is None:
            return "object"
        return "arena" if has_bound(size, self.known) else "dynamic"

    def is_known(self, value: Value) -> bool:
        """Whether the value's shape is known when a call starts."""
        type = value.type
        if not isinstance(type, TensorType) or type.shape is None:
            return False
        return names_in(type.shape) <= self.known

    def view(self, value: Value, source: Value, offset: Size) -> None:
        """Put a value into the class of `source`, `offset` bytes after it, whatever else is there."""
        target, at = self.place(source)
        old = self.of.get(value)
        if old is target:
            return
        if old is None:
            self._join(value, target, at + offset)
            return
        base = at + offset - old.members[value]
        for member, inner in old.members.items():
            self._join(member, target, base + inner)

    def covers(self, value: Value) -> bool:
        """Whether the value is all of its class."""
        found, at = self.place(value)
        size = stored_bytes(value)
        return at == 0 and size is not None and size == found.size

    def home(self, value: Value, target: Value, offset: Size, joint: int | None) -> bool:
        """Move the class of `value` so that it lies `offset` bytes after `target`, when that is proven harmless.

        Args:
            joint: the one step in which bytes of both may be needed, since it reads one and writes the other.
        """
        guest, (host, at) = self.of[value], self.place(target)
        if guest is host:
            return guest.members[value] == at + offset
        if guest.kind != "arena" or host.kind not in ("arena", "state") or guest.size is None or host.size is None:
            return False
        if host.kind == "state" and not self._replaces(host, value):
            return False
        base = at + offset - guest.members[value]
        if not before(0, base) or not before(base + guest.size, host.size):
            return False
        if not self._harmless(guest, host, base, joint):
            return False
        for member, inner in guest.members.items():
            self._join(member, host, base + inner)
        return True

    def _replaces(self, held: AliasClass, value: Value) -> bool:
        """Whether a state's bytes may take a value: they must end as the state's next value in any case."""
        state = self.graph.states[held.index]
        write = state.write
        return write is not None and write is not state.read and (write is value or self.of[write] is held)

    def place_parts(self, parts: Collection[tuple[Value, Size]], whole: Value) -> list[bool]:
        """Home the parts of a concat in `whole`; their bytes are the same, so that no time is harmful."""
        done = []
        for value, offset in parts:
            guest, (host, at) = self.of[value], self.place(whole)
            fits = guest is not host and guest.kind == "arena" and host.kind == "arena" and self.covers(value)
            if fits:
                for member, inner in guest.members.items():
                    self._join(member, host, at + offset + inner)
            done.append(fits or (guest is host and guest.members[value] == at + offset))
        return done

    def share(self, a: Value, b: Value) -> bool:
        """Whether two values share bytes, or cannot be proven not to."""
        if a is b:
            return True
        found = self.of.get(a)
        if found is None or found is not self.of.get(b):
            return False
        return not _apart(found.members[a], stored_bytes(a), found.members[b], stored_bytes(b))

    def _external(self, value: Value, kind: BufferKind, index: int) -> None:
        self._add(value, kind)
        self.of[value].index = index

    def _add(self, value: Value, kind: BufferKind) -> None:
        born, dies = self._hull(value)
        self.of[value] = AliasClass(value, kind, stored_bytes(value), {value: 0}, born, dies)

    def _hull(self, value: Value) -> tuple[int, int]:
        spans = self.lives.spans[value]
        return spans[0][0], spans[-1][1]

    def _join(self, value: Value, target: AliasClass, offset: Size) -> None:
        born, dies = self._hull(value)
        target.members[value] = offset
        target.born, target.dies = min(target.born, born), max(target.dies, dies)
        self.of[value] = target

    def _harmless(self, guest: AliasClass, host: AliasClass, base: Size, joint: int | None) -> bool:
        """Whether no byte is needed by a member of each at once, apart from the joint step."""
        for first, second in ((guest, host), (host, guest)):
            if first.dies <= second.born or _meet((first.born, first.dies), (second.born, second.dies), joint):
                return True
        if len(guest.members) * len(host.members) > MOST_PAIRS:
            return False
        for a, offset_a in guest.members.items():
            size_a = stored_bytes(a)
            for b, offset_b in host.members.items():
                if _apart(base + offset_a, size_a, offset_b, stored_bytes(b)):
                    continue
                for x in self.lives.spans[a]:
                    for y in self.lives.spans[b]:
                        apart = x[1] <= y[0] or y[1] <= x[0]
                        if not apart and not _meet(x, y, joint) and not _meet(y, x, joint):
                            return False
        return True


def _meet(first: Span, second: Span, joint: int | None) -> bool:
    """Whether the first ends in the joint step, where the second begins: one is read there, the other written."""
    return joint is not None and first[0] < joint == second[0] and first[1] == joint + 1


def _apart(at: Size, size: Size | None, other_at: Size, other_size: Size | None) -> bool:
    """Whether two byte ranges are proven not to overlap."""
    if size is None or other_size is None:
        return False
    return before(at + size, other_at) or before(other_at + other_size, at)
