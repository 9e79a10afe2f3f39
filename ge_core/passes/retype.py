"""Carries a change of a value's type or content to everything that reads it.

Where a data-dependent size turns out to be an expression of other sizes, its symbol is replaced in the whole graph.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping

from ge_core.errors import PassError
from ge_core.ir import dims
from ge_core.ir.dims import Dim, Size, Symbol
from ge_core.ir.graph import Attr, Graph, Node, Region, Value
from ge_core.ir.traverse import type_symbols, values, walk
from ge_core.ir.types import OptionalType, SequenceType, TensorType, Type, compatible
from ge_core.ops.infer import refresh

OnChange = Callable[[Node], None]


class Retyper:
    """Refreshes types along the uses, and collects symbols to replace.

    Args:
        graph: the graph being rewritten.
        changed: called for every node whose outputs changed their type or content.
    """

    def __init__(self, graph: Graph, changed: OnChange | None = None) -> None:
        self.graph, self.changed = graph, changed
        self.inputs = input_symbols(graph)
        self.renamed: dict[Symbol, Size] = {}

    def replace(self, old: Value, new: Value, rule: str, made: bool = False) -> None:
        """Let every use of `old` read `new`; check that the types agree, and refresh the readers where they differ.

        Args:
            rule: for messages.
            made: `new` was made for this: it takes over the name, so that a value keeps it through every rewrite.

        Raises:
            PassError: the rule gave a value of another element type, rank or provably other size.
        """
        if not compatible(old.type, new.type):
            raise PassError(f"rule {rule} replaces %{old.name}: {old.type} by %{new.name}: {new.type}")
        old.replace_uses(new)
        if made:
            old.name, new.name = new.name, old.name
        if old.type != new.type or old.content != new.content:
            self._learn(old.type, new.type)
            self.readers(new)

    def readers(self, value: Value) -> None:
        """Refresh everything that reads a value, and on."""
        queue: deque[Value] = deque([value])
        while queue:
            for user in list(dict.fromkeys(use.user for use in queue.popleft().uses)):
                if isinstance(user, Node):
                    queue.extend(self._refresh(user))
                elif isinstance(user, Region):
                    queue.extend(self._captures(user))
                    if user.node is not None and user.node.block is not None:
                        queue.extend(self._refresh(user.node))

    def _captures(self, region: Region) -> Iterable[Value]:
        for c in region.captures:
            if c.param.type != c.outer.type or c.param.content != c.outer.content:
                c.param.type, c.param.content = c.outer.type, c.outer.content
                yield c.param

    def node(self, node: Node) -> bool:
        """Refresh one node and everything that depends on it; whether a type or content changed."""
        moved = list(self._refresh(node))
        for value in moved:
            self.readers(value)
        return bool(moved)

    def _refresh(self, node: Node) -> Iterable[Value]:
        before = [(v.type, v.content) for v in node.outputs]
        refresh(node)
        moved = []
        for value, (type, content) in zip(node.outputs, before, strict=True):
            value.type = _more_definite(type, value.type)
            if value.type != type or value.content != content:
                self._learn(type, value.type)
                moved.append(value)
        if moved and self.changed is not None:
            self.changed(node)
        return moved

    def _learn(self, old: Type, new: Type) -> None:
        """Note the data-dependent symbols of `old` that `new` expresses by other sizes."""
        if not isinstance(old, TensorType) or not isinstance(new, TensorType) or old.shape is None:
            return
        for a, b in zip(old.shape, new.shape or (), strict=False):
            s = bare_symbol(a)
            if s is not None and a != b and s not in self.inputs and s not in dims.symbols(b):
                self.renamed.setdefault(s, b)

    def finish(self) -> bool:
        """Replace the collected symbols in the whole graph; whether there were any."""
        if not self.renamed:
            return False
        table = self.renamed
        self.renamed = {}
        for _ in range(len(table)):  # a replacement may mention a symbol that is itself replaced
            if not any(s in table for e in table.values() for s in dims.symbols(e)):
                break
            table = {s: dims.substitute(e, table) for s, e in table.items()}
        substitute(self.graph, table)
        return True


def input_symbols(graph: Graph) -> frozenset[Symbol]:
    """The symbols that a call binds from its inputs."""
    return frozenset(s for v in graph.inputs for s in type_symbols(v.type))


def bare_symbol(size: Size) -> Symbol | None:
    """The symbol that a size consists of, None for anything else."""
    if isinstance(size, Dim) and len(size.terms) == 1:
        (monomial, coefficient) = size.terms[0]
        if coefficient == 1 and len(monomial) == 1 and monomial[0][1] == 1:
            atom = monomial[0][0]
            return atom if isinstance(atom, Symbol) else None
    return None


def _more_definite(old: Type, new: Type) -> Type:
    """`new`, with the numbers that only `old` knows (a frontend may know more than a type rule)."""
    if not isinstance(old, TensorType) or not isinstance(new, TensorType) or old.shape is None or old == new:
        return new
    if new.shape is None:
        return TensorType(new.dtype, old.shape)
    if len(old.shape) != len(new.shape):
        return new
    sizes = (
        a if isinstance(a, int) and not isinstance(b, int) else b for a, b in zip(old.shape, new.shape, strict=True)
    )
    return TensorType(new.dtype, tuple(sizes))


def substitute(graph: Graph, table: Mapping[Symbol, Size]) -> None:
    """Replace symbols by sizes in every type, content and attribute of a graph."""

    def size(d: Size) -> Size:
        return dims.substitute(d, table) if isinstance(d, Dim) else d

    for value in values(graph):
        value.type = _typed(value.type, size)
        if value.content is not None:
            value.content = tuple(map(size, value.content))
    for node in walk(graph):
        for key, attr in node.attrs.items():
            node.attrs[key] = _attribute(attr, size)


def _typed(t: Type, size: Callable[[Size], Size]) -> Type:
    if isinstance(t, SequenceType):
        element = _typed(t.element, size)
        assert isinstance(element, (TensorType, OptionalType))
        return SequenceType(element)
    if isinstance(t, OptionalType):
        inner = _typed(t.element, size)
        assert isinstance(inner, (TensorType, SequenceType))
        return OptionalType(inner)
    return t if t.shape is None or t.is_static else TensorType(t.dtype, tuple(map(size, t.shape)))


def _attribute(attr: Attr, size: Callable[[Size], Size]) -> Attr:
    if isinstance(attr, Dim):
        return size(attr)
    if isinstance(attr, tuple):
        return tuple(size(a) if isinstance(a, Dim) else a for a in attr)
    return attr
