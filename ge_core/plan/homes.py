"""Decides which values share bytes, in the order in which the decisions build on each other.

What goes round a loop is tied first, then come views (they cost nothing), concats from the last to the first (an
input that is itself a concat is then already at home), results of branches and loops, states, and last in-place
steps in the order of execution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from ge_core.backend import operands
from ge_core.ir.dims import Symbol, equal, symbols
from ge_core.ir.graph import Block, Graph, Node, Use, Value, source_of
from ge_core.ir.traverse import effect_of, type_symbols
from ge_core.passes.rewrite import defined_sizes
from ge_core.plan.alias import Aliases, before, stored_bytes
from ge_core.plan.handed import squeezes_output
from ge_core.plan.lifetimes import CONTROL, Lifetimes, carried_count
from ge_core.plan.sizes import names_in
from ge_core.plan.views import concat_parts, viewed

InPlace: TypeAlias = Callable[[Node], Sequence[tuple[int, int]]]


@dataclass(frozen=True)
class Sharing:
    """Which kinds of sharing are on; each can be measured alone."""

    views: bool = True
    concats: bool = True
    control: bool = True
    states: bool = True
    in_place: bool = True


EVERYTHING, NOTHING = "everything shared", "nothing shared"
WAYS: dict[str, Sharing] = {
    EVERYTHING: Sharing(),
    "no step in place": Sharing(in_place=False),
    "concats copied": Sharing(concats=False),
    "concats copied, no step in place": Sharing(concats=False, in_place=False),
    NOTHING: Sharing(False, False, False, False, False),
}
"""Ways that planning tries; the last one gives each buffer bytes of its own."""


@dataclass
class Homes:
    """What was decided.

    Attributes:
        views: nodes that need no work.
        joined: concats of which at least one input is computed in its place; per input whether it is.
        idle: nodes that only tell views their shape, which the plan knows, and what outputs leave out.
    """

    views: set[Node] = field(default_factory=set)
    joined: dict[Node, list[bool]] = field(default_factory=dict)
    idle: set[Node] = field(default_factory=set)


def find_homes(graph: Graph, lives: Lifetimes, aliases: Aliases, in_place: InPlace, sharing: Sharing) -> Homes:
    """Merge alias classes where that is allowed and proven harmless."""
    homes = Homes()
    nodes = sorted(lives.time, key=lives.time.__getitem__)
    for node in nodes:
        if node.op in ("Loop", "Scan"):
            _tie_loop(node, aliases)
    if sharing.views:
        for node in nodes:
            _view(node, aliases, homes)
    for node in reversed(nodes):
        if _is_idle(node, aliases, homes):
            homes.idle.add(node)
    if sharing.concats:
        for node in reversed(nodes):
            _join_concat(node, aliases, homes)
    for node in nodes:
        if node.op in ("Loop", "Scan") and sharing.control:
            _home_loop(node, lives, aliases)
        elif node.op == "If" and sharing.control:
            _home_branches(node, lives, aliases)
    if sharing.states:
        _home_states(graph, lives, aliases, in_place)
    if sharing.in_place:
        settled = homes.views | homes.joined.keys() | homes.idle
        for node in nodes:
            if node.op not in CONTROL and node not in settled:
                _share_step(node, lives, aliases, in_place(node))
    return homes


def _view(node: Node, aliases: Aliases, homes: Homes) -> None:
    found = viewed(node)
    if found is None or any(aliases.of[source].kind == "object" for _, source, _ in found):
        return
    if not all(names_in([offset]) <= aliases.known for _, _, offset in found):
        return  # a place must be known when the call starts
    if defined_sizes(node):
        return  # the size is known only once the node has run
    for out, source, offset in found:
        aliases.view(out, source, offset)
    homes.views.add(node)


def _is_idle(node: Node, aliases: Aliases, homes: Homes) -> bool:
    """Whether nothing needs the node to run; a node that defines a size always has to."""
    if node.regions or not node.outputs or effect_of(node) != "pure":
        return False
    if squeezes_output(node):
        return True
    for value in node.outputs:
        defines = {s.name for s in (*type_symbols(value.type), *_content_symbols(value))} - aliases.known
        if defines or not value.has_uses or not all(_tells_a_shape(use, homes) for use in value.uses):
            return False
    return True


def _tells_a_shape(use: Use, homes: Homes) -> bool:
    if use.kind != "input" or not isinstance(use.user, Node):
        return False
    return use.user in homes.idle or (use.user in homes.views and use.index > 0)


def _content_symbols(value: Value) -> Iterator[Symbol]:
    for size in value.content or ():
        yield from symbols(size)


def _join_concat(node: Node, aliases: Aliases, homes: Homes) -> None:
    parts = concat_parts(node)
    if parts is None or node in homes.idle or not aliases.is_known(node.output):
        return
    values = [value for value, _ in parts]
    allowed = [
        (value, offset)
        for value, offset in parts
        if values.count(value) == 1 and value.producer is not None and aliases.of[value].root.owner is node.block
    ]
    done = dict(zip((v for v, _ in allowed), aliases.place_parts(allowed, node.output), strict=True))
    if any(done.values()):
        homes.joined[node] = [done.get(value, False) for value in values]


def _tie_loop(node: Node, aliases: Aliases) -> None:
    """The node's outputs are its params after the last round."""
    body = node.regions["body"]
    first = 2 if node.op == "Loop" else 0
    for i in range(carried_count(node)):
        param, final = body.params[first + i], node.outputs[i]
        same = aliases.of[param].kind == aliases.of[final].kind == "arena"
        if same and _same_bytes(param, final):
            aliases.view(final, param, 0)


def _home_loop(node: Node, lives: Lifetimes, aliases: Aliases) -> None:
    body = node.regions["body"]
    params, results = loop_values(node)
    first = 2 if node.op == "Loop" else 0
    for i, (param, result) in enumerate(zip(params, results, strict=True)):
        initial = node.input(first + i)
        assert initial is not None
        if _movable(initial, node.block, param, aliases):
            aliases.home(initial, param, 0, lives.time[node])
        if _movable(result, body, param, aliases):
            aliases.home(result, param, 0, lives.closing[body])


def loop_values(node: Node) -> tuple[Sequence[Value], Sequence[Value]]:
    """The params and results of a Loop's or Scan's body that go round."""
    body, count = node.regions["body"], carried_count(node)
    if node.op == "Loop":
        return body.params[2 : 2 + count], body.outputs[1 : 1 + count]
    return body.params[:count], body.outputs[:count]


def _home_branches(node: Node, lives: Lifetimes, aliases: Aliases) -> None:
    for region in node.regions.values():
        for result, out in zip(region.outputs, node.outputs, strict=True):
            if _movable(result, region, out, aliases):
                aliases.home(result, out, 0, lives.closing[region])


def _movable(value: Value, block: Block | None, target: Value, aliases: Aliases) -> bool:
    """Whether a value is all of a class that was begun in `block`, and as large as `target`."""
    return aliases.of[value].root.owner is block and aliases.covers(value) and _same_bytes(value, target)


def _same_bytes(a: Value, b: Value) -> bool:
    size_a, size_b = stored_bytes(a), stored_bytes(b)
    if size_a is None or size_b is None or a.layout != b.layout:
        return False
    return equal(size_a, size_b) is True


def _home_states(graph: Graph, lives: Lifetimes, aliases: Aliases, in_place: InPlace) -> None:
    for state in graph.states:
        write = state.write
        if write is None or write is state.read or not _movable(write, graph, state.read, aliases):
            continue
        producer = write.producer
        if producer is None:
            continue
        if producer.op not in CONTROL:
            index, held = producer.outputs.index(write), aliases.of[state.read]
            reads = [v for v in operands(producer) if v is not None and aliases.of[v] is held]
            whole = all(aliases.covers(v) and _same_bytes(v, write) for v in reads)
            pairs = list(in_place(producer)) if reads else []
            if not whole or not all(_only_declared(producer, v, index, aliases, pairs) for v in reads):
                continue
        aliases.home(write, state.read, 0, lives.time[producer])


def _share_step(node: Node, lives: Lifetimes, aliases: Aliases, pairs: Iterable[tuple[int, int]]) -> None:
    reads = operands(node)
    taken: set[int] = set()
    pairs = list(pairs)
    for i, j in pairs:
        operand = reads[i] if i < len(reads) else None
        if operand is None or j in taken or j >= len(node.outputs):
            continue
        result = node.outputs[j]
        if _fits(operand, result) and _only_declared(node, operand, j, aliases, pairs):
            joint = lives.time[node]
            if aliases.home(result, operand, 0, joint) or _take_in(operand, result, aliases, joint):
                taken.add(j)


def _take_in(operand: Value, result: Value, aliases: Aliases, joint: int) -> bool:
    """Move the operand to a result that has a home already; the result must cover the operand's whole class."""
    return aliases.covers(operand) and aliases.home(operand, result, 0, joint)


def _fits(operand: Value, result: Value) -> bool:
    """Whether the result, element by element, fits over the operand."""
    size, needed = stored_bytes(operand), stored_bytes(result)
    if size is None or needed is None or operand.layout != result.layout:
        return False
    return operand.dtype.bits == result.dtype.bits and before(needed, size)


def _only_declared(node: Node, operand: Value, output: int, aliases: Aliases, pairs: Iterable[tuple[int, int]]) -> bool:
    """Whether all operands that share bytes with `operand` are the same bytes, and declared for this output."""
    reads = operands(node)
    declared = {i for i, j in pairs if j == output}
    place, size = aliases.place(operand), stored_bytes(operand)
    for i, value in enumerate(reads):
        if value is None or not (aliases.share(value, operand) or aliases.share(source_of(value), operand)):
            continue
        same = aliases.place(value) == place and stored_bytes(value) == size and value.tensor == operand.tensor
        if not same or i not in declared:
            return False
    return True
