"""Lowers a node, or a group of nodes, to launches of loop nests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ge_backend_cpu.kernel import Kernel, Launch, result, source
from ge_backend_cpu.loops.checks import unread_checks
from ge_backend_cpu.loops.expr import compute_kind
from ge_backend_cpu.loops.index import Affine, Axis, CutAxis, SplitAxis, Unsupported
from ge_backend_cpu.loops.part import Part
from ge_backend_cpu.loops.raw import stored_form
from ge_backend_cpu.loops.registry import rules
from ge_backend_cpu.loops.schedule import Schedule, Target, schedule
from ge_backend_cpu.loops.tensor import Domain, Index, Tensor, Tracer, address
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType, boolean
from ge_core.ir.graph import Node, Value, source_of
from ge_core.ir.types import Layout, Shape, TensorType

MOST_BOXES = 64
"""Parts of a domain that one group is computed in at most."""


LAUNCH = 50_000
"""Picoseconds that a launch of its own costs beyond its work."""


@dataclass(frozen=True)
class Lowered:
    """What runs for a part.

    Attributes:
        in_place: pairs (operand, output) that may share memory.
        picoseconds: estimate.
    """

    launches: tuple[Launch, ...]
    in_place: tuple[tuple[int, int], ...] = ()
    workspace: Size = 0
    picoseconds: Size = 0


_known: dict[Any, Lowered | Unsupported] = {}
KNOWN = 4096
"""Lowered parts that are remembered: layers repeat."""


def lower(part: Part, inputs: Sequence[Layout | None] = (), outputs: Sequence[Layout | None] = ()) -> Lowered:
    """Launches for nodes whose operators all have rules; operands are stored as told, by default row-major.

    Raises:
        Unsupported: loop nests cannot compute it.
    """
    layouts = [None if k >= len(inputs) else inputs[k] for k in range(len(part.sources))]
    results = [None if k >= len(outputs) else outputs[k] for k in range(len(part.outputs))]
    key = part.key([*layouts, *results])
    if key not in _known:
        if len(_known) >= KNOWN:
            _known.clear()
        try:
            _known[key] = _Lowering(part, layouts, results).run()
        except Unsupported as reason:
            _known[key] = reason
    found = _known[key]
    if isinstance(found, Unsupported):
        raise found
    return found


class _Lowering:
    def __init__(self, part: Part, layouts: Sequence[Layout | None], results: Sequence[Layout | None]) -> None:
        self.part, self.layouts, self.results = part, layouts, list(results)
        self.tracer = Tracer()
        self.dtypes: list[DType] = [_dtype(v) for v in (*part.sources, *part.outputs)]
        self.shapes: list[Shape] = []
        self.launches: list[Launch] = []
        self.checks: list[Launch] = []
        self.in_place: tuple[tuple[int, int], ...] = ()
        self.picoseconds: Size = 0

    def run(self) -> Lowered:
        tensors = [self._stored(k, tensor) for k, tensor in enumerate(self._traced())]
        self.shapes = [t.shape for t in tensors]
        pending = list(range(len(tensors)))
        while pending:
            first = pending[0]
            group = [k for k in pending if _same(tensors[k], tensors[first], self.results[k], self.results[first])]
            followers = [k for k in pending if k not in group and _reduced_form(tensors[k], tensors[first])]
            for domain, targets in self._boxes(tensors, group, followers):
                self._launch(domain, targets)
            pending = [k for k in pending if k not in group and k not in followers]
        in_place = self.in_place if len(self.launches) == 1 else ()
        launches = (*self.checks, *self.launches)
        return Lowered(launches, in_place, 0, self.picoseconds + LAUNCH * len(self.launches))

    def _stored(self, k: int, tensor: Tensor) -> Tensor:
        """A result as it is stored: with its halo and its rounding up to whole blocks, filled, as elements."""
        layout = self.results[k]
        if layout is None or layout.is_row_major:
            self.results[k] = None
            return tensor.plain or tensor
        halo = layout.halo or ((0, 0),) * tensor.rank
        sizes = [size + before + after for size, (before, after) in zip(tensor.shape, halo, strict=True)]
        blocks: dict[int, int] = {}
        for axis, block in layout.blocks:
            blocks[axis] = blocks.get(axis, 1) * block
        for axis, block in blocks.items():
            sizes[axis] = dims.ceildiv(sizes[axis], block) * block
        self.results[k] = Layout(layout.order, layout.blocks)
        if _same_shape(sizes, tensor.shape):
            return tensor
        kind = compute_kind(tensor.dtype)
        number = float(layout.fill) if kind.is_float else int(layout.fill)
        fill = self.tracer.full(number, tensor.dtype, ())
        return self.tracer.pad(tensor, tuple(sizes), [before for before, _ in halo], fill)

    # From nodes to tensors

    def _traced(self) -> list[Tensor]:
        known: dict[Value, Tensor] = {}
        for k, value in enumerate(self.part.sources):
            if value is not None and value not in known:
                known[value] = self._operand(k, value)
        for node in self.part.nodes:
            for value, tensor in zip(node.outputs, self._applied(node, known), strict=True):
                known[value] = tensor
        return [known[v] for v in self.part.outputs]

    def _operand(self, k: int, value: Value) -> Tensor:
        if not isinstance(value.type, TensorType) or value.type.shape is None:
            raise Unsupported(f"an operand of type {value.type}")
        constant = source_of(value).constant
        array = None if constant is None or value.type.elements != 1 else constant.known()
        if array is not None:
            simple = self.tracer.constant(array, value.dtype, value.shape)
            if simple is not None:
                return simple
        return self.tracer.operand(k, value.dtype, value.shape, self.layouts[k])

    def _applied(self, node: Node, known: dict[Value, Tensor]) -> list[Tensor]:
        rule = rules().get(node.op)
        if rule is None:
            raise Unsupported(f"{node.op} is no loop nest")
        for v in node.outputs:
            if not isinstance(v.type, TensorType) or v.type.shape is None:
                raise Unsupported(f"a result of type {v.type}")
        found = list(rule(self.tracer, node, [None if v is None else known.get(v) for v in node.inputs]))
        assert len(found) == len(node.outputs), node.op
        return found

    # From tensors to nests

    def _boxes(
        self, tensors: Sequence[Tensor], group: Sequence[int], followers: Sequence[int]
    ) -> list[tuple[Domain, list[Target]]]:
        """Boxes that together make up the outputs' shape, with the stores of each."""
        work = [Domain.of(tensors[group[0]].shape)]
        done: list[tuple[Domain, list[Target]]] = []
        while work:
            domain = work.pop()
            self.tracer.main = domain
            try:
                targets = [self._target(k, tensors[k], domain.index) for k in group]
                targets += [self._target(k, tensors[k], _reduced_index(domain, tensors[k].shape)) for k in followers]
            except SplitAxis as need:
                if need.axis not in domain.axes:
                    raise Unsupported(str(need)) from need
                work.append(domain.split(need.axis, need.inner))
            except CutAxis as need:
                if need.axis not in domain.axes:
                    raise Unsupported(str(need)) from need
                work += reversed(domain.cut(need.axis, need.place))
            else:
                done.append((domain, targets))
            if len(work) + len(done) > MOST_BOXES:
                raise Unsupported(f"more than {MOST_BOXES} parts")
        return done

    def _target(self, k: int, tensor: Tensor, index: Index) -> Target:
        number = len(self.part.sources) + k
        value = tensor.at(index)
        return Target(number, self.dtypes[number], address(tensor.shape, self.results[k])(index), value)

    def _launch(self, domain: Domain, targets: Sequence[Target]) -> None:
        count = len(self.part.sources)
        layout = self.results[targets[0].operand - count]
        dtypes, targets = self._stored_forms(targets)
        plan = schedule(_storage_order(domain, layout), targets, dtypes)
        if dims.less_equal(1, dims.product([a.size for a in domain.axes])) is not True:
            # those too that no address holds, since what they count has no size
            made = [e for e in self.tracer.space.checks if e.axes <= set(domain.axes)]
            self.checks += unread_checks(domain.axes, [*(t.value for t in targets), *made], self.dtypes)
        self.launches.append(
            Launch(
                kernel=Kernel("loops", plan.program.to_json()),
                operands=tuple(source(k) if k < count else result(k - count) for k in plan.operands),
                params=plan.params,
                extent=plan.extent,
                picoseconds=plan.picoseconds,
                barrier=not self.launches,
            )
        )
        self.picoseconds = self.picoseconds + plan.picoseconds
        self.in_place = tuple(self._in_place(plan, targets))

    def _stored_forms(self, targets: Sequence[Target]) -> tuple[list[DType], list[Target]]:
        """Element types and stores, with small floats that are not computed with as integers."""
        dtypes, found = list(self.dtypes), []
        for target in targets:
            bits = stored_form(self.tracer.space, target.value, target.dtype)
            if bits is not None:
                target = Target(target.operand, bits.kind, target.at, bits)
                dtypes[target.operand] = bits.kind
            found.append(target)
        return dtypes, found

    def _in_place(self, plan: Schedule, targets: Sequence[Target]) -> list[tuple[int, int]]:
        count = len(self.part.sources)
        pairs = []
        for k, last in plan.last_read.items():
            if not 0 <= k < count or k in plan.reads_elsewhere or self._is_constant(k):
                continue
            for target in targets:
                same = self.dtypes[k].bits == target.dtype.bits
                if same and last <= plan.first_write[target.operand]:
                    pairs.append((k, target.operand - count))
        return pairs

    def _is_constant(self, k: int) -> bool:
        value = self.part.sources[k]
        return value is not None and source_of(value).constant is not None


def _dtype(value: Value | None) -> DType:
    """Of an operand; of an omitted one, or one that is no tensor, any."""
    return value.type.dtype if value is not None and isinstance(value.type, TensorType) else boolean


def _same(a: Tensor, b: Tensor, layout_a: Layout | None, layout_b: Layout | None) -> bool:
    return _same_shape(a.shape, b.shape) and layout_a == layout_b


def _same_shape(a: Sequence[Size], b: Sequence[Size]) -> bool:
    return len(a) == len(b) and all(dims.equal(x, y) is True for x, y in zip(a, b, strict=True))


def _reduced_form(small: Tensor, large: Tensor) -> bool:
    """Whether a result has the shape of another one with some dims of size 1, and is written wherever that one is.

    Where the other one may have no element, nothing would be written.
    """
    if small.rank != large.rank or small.rank == 0:
        return False
    return all(
        dims.equal(a, b) is True or (a == 1 and (dims.bounds(b)[0] or 0) >= 1)
        for a, b in zip(small.shape, large.shape, strict=True)
    )


def _reduced_index(domain: Domain, small: Shape) -> Index:
    return tuple(Affine() if d == 1 else i for d, i in zip(small, domain.index, strict=True))


def _storage_order(domain: Domain, layout: Layout | None) -> list[Axis]:
    """The domain's axes in the order in which the result is stored."""
    if layout is None:
        return list(domain.axes)
    inner = [axis for axis, _ in layout.blocks]
    ordered: list[Axis] = []
    blocked: list[Axis] = []
    for dim in layout.order:
        own = [a for a in domain.axes if domain.index[dim].coefficient(a) != 0]
        count = inner.count(dim)
        ordered += own[: len(own) - count] if count else own
        blocked += own[len(own) - count :] if count else []
    return ordered + blocked
