"""Which groups of loop operators pay: a node joins when the nest of all is estimated to take less than two nests.

Element by element operators of one shape always do. For everything else the nests are made, and their estimates
compared; equal pieces of a graph, which layers are, are judged once.
"""

from __future__ import annotations

from ge_backend_cpu.implementations import joins
from ge_backend_cpu.loops.index import Unsupported
from ge_backend_cpu.loops.lower import lower
from ge_backend_cpu.loops.part import Part
from ge_backend_cpu.loops.registry import rules
from ge_core.backend import Group, Refusal, operands
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.graph import Node, Value
from ge_core.ir.types import Shape, TensorType
from ge_core.ops.pointwise import POINTWISE
from ge_core.plan.views import viewed

MOST_NODES = 64
"""A longer chain gains nothing more, and judging takes time."""
MOST_OPERANDS = 24
"""More pointers than this do not fit into registers."""
MOST_LAUNCHES = 6
"""Parts that one group is computed in at most."""
TYPICAL = 128
"""What a symbolic size is taken to be."""

_PLAIN = frozenset({*POINTWISE, "Cast", "CastLike"}) - {"Identity"}


@joins
def judge(group: Group, node: Node) -> bool | Refusal:
    """Whether a group of loop operators may grow by a node."""
    if node.op not in rules():
        return Refusal("no-loop", f"{node.op} is computed by a kernel of its own")
    other = next((n.op for n in group.nodes if n.op not in rules()), None)
    if other is not None:
        return Refusal("no-loop", f"{other} is computed by a kernel of its own")
    grown = Group((*group.nodes, node))
    refusal = _too_large(grown)
    if refusal is not None:
        return refusal
    if _one_shape(grown):
        return True
    return _pays(grown, (group, Group((node,))))


def may_merge(parts: tuple[Group, Group], together: Group) -> bool | Refusal:
    """Whether two groups of loop operators may be one."""
    if any(n.op not in rules() for n in together.nodes):
        return Refusal("no-loop", "one of them is computed by a kernel of its own")
    refusal = _too_large(together)
    if refusal is not None:
        return refusal
    if _one_shape(together):
        return True
    return _pays(together, parts)


def _too_large(group: Group) -> Refusal | None:
    if len(group.nodes) > MOST_NODES:
        return Refusal("too-large", f"together they have more than {MOST_NODES} nodes")
    if len(group.inputs) + len(group.outputs) > MOST_OPERANDS:
        return Refusal("too-many-operands", f"together they have more than {MOST_OPERANDS} operands")
    return None


def _one_shape(group: Group) -> bool:
    """Whether all nodes work element by element on one shape, and it is known how their operands broadcast."""
    shape = _shape(group.nodes[-1].outputs[0])
    if shape is None or not all(n.op in _PLAIN for n in group.nodes):
        return False
    for value in (v for n in group.nodes for v in (*operands(n), *n.outputs)):
        own = None if value is None else _shape(value)
        if value is None:
            continue
        if own is None or value.dtype.kind in ("complex", "string") or value.dtype.bits < 8:
            return False
        inside = value.producer in group.nodes
        if inside and not _equal(own, shape):
            return False
        if len(own) > len(shape) or not all(
            d == 1 or d == s for d, s in zip(reversed(own), reversed(shape), strict=False)
        ):
            return False
    return True


def _shape(value: Value) -> Shape | None:
    return value.type.shape if isinstance(value.type, TensorType) else None


def _equal(a: Shape, b: Shape) -> bool:
    return len(a) == len(b) and all(x == y for x, y in zip(a, b, strict=True))


def _pays(whole: Group, parts: tuple[Group, Group]) -> bool | Refusal:
    """Compare the nest of all with two nests."""
    try:
        together = lower(Part.of_group(whole))
    except Unsupported as reason:
        return Refusal("not-one-nest", str(reason))
    if len(together.launches) > MOST_LAUNCHES:
        return Refusal("too-many-parts", f"together they need {len(together.launches)} loop nests")
    try:
        first, second = lower(Part.of_group(parts[0])).picoseconds, _alone(parts[1])
    except Unsupported as reason:
        return Refusal("no-loop", str(reason))
    one, two = typical(together.picoseconds), typical(first) + typical(second)
    if one < two or (one == two and second == 0):
        return True
    return Refusal("no-gain", f"one nest would take {one / 1e6:.1f} us, two take {two / 1e6:.1f} us")


def _alone(group: Group) -> Size:
    if len(group.nodes) == 1 and viewed(group.nodes[0]) is not None:
        return 0
    return lower(Part.of_group(group)).picoseconds


def typical(picoseconds: Size) -> int:
    """An estimate at sizes that stand for the usual ones."""
    symbols = dims.symbols(picoseconds)
    env = {s.name: min(max(s.lo, TYPICAL), s.hi if s.hi is not None else TYPICAL) for s in symbols}
    return dims.evaluate(picoseconds, env)
