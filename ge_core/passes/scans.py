"""Counted loops that read tensors slice by slice become scans.

    Loop(n, body(i, ...) { x_i = Gather(x, i, axis=a); ... })  =  Scan(..., x, body(..., x_i) { ... })

The loop runs exactly n times: neither condition ends it, and n is the length of every axis that is read so. Nothing
else looks at the counter. Frontends whose frameworks know while loops alone (TensorFlow's recurrent layers, `map_fn`
and `scan`; lists in ONNX files made from those) give such loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType, int32, int64
from ge_core.ir.graph import Graph, Node, Region, Value, constant_of
from ge_core.ir.traverse import walk
from ge_core.ir.types import TensorType
from ge_core.passes.base import Pass, PassContext
from ge_core.passes.retype import Retyper
from ge_core.passes.rewrite import erase

Slice = tuple[Value, int]  # a tensor outside of the loop, and the axis along which it is read


@dataclass(frozen=True)
class ScanLoops(Pass):
    """Enters regions. Results stay the same bit for bit."""

    def run(self, graph: Graph, ctx: PassContext) -> bool:
        retyper, changed = Retyper(graph), False
        for node in list(walk(graph)):
            rounds = _rounds(node)
            if rounds is None:
                continue
            reads: list[Node] = []
            reason = _reads(node.regions["body"], rounds, reads)
            if reason is not None:
                ctx.miss("loop-to-scan", node, reason)
            elif ctx.allow("loop-to-scan", node):
                _convert(node, reads, retyper)
                changed = True
        retyper.finish()
        return changed


def _rounds(node: Node) -> Size | None:
    """How often a loop runs, where that is a size known before it starts."""
    if node.op != "Loop" or node.inputs[0] is None or node.inputs[0].content is None:
        return None
    body, first = node.regions["body"], node.inputs[1]
    given, following = body.params[1], body.outputs[0]
    if first is not None and not _is_true(first):
        return None
    if not _is_true(following) and (following is not given or first is None):
        return None
    if any(use.kind != "output" or use.index != 0 for use in given.uses):
        return None
    return dims.maximum(node.inputs[0].content[0], 0)


def _is_true(value: Value) -> bool:
    constant = constant_of(value)
    array = None if constant is None else constant.known()
    return array is not None and bool(array.all())


def _reads(body: Region, rounds: Size, found: list[Node]) -> str | None:
    """The Gathers of one slice each, into `found`; or why the loop has to stay one."""
    waiting = [body.params[0]]
    while waiting:
        for use in waiting.pop().uses:
            user = use.user
            if use.kind != "input" or not isinstance(user, Node):
                return "the counter leaves the body or enters a region in it"
            if user.op == "Cast" and _holds(user.output.dtype, rounds):
                waiting.append(user.output)
            elif user.op == "Gather" and use.index == 1 and _is_slice(user, body, rounds):
                found.append(user)
            else:
                return f"{user!r} reads the counter"
    return None if found else "nothing is read slice by slice"


def _holds(dtype: DType, rounds: Size) -> bool:
    """Whether an integer type holds every counter; 2^31 rounds of an unknown number would take hours."""
    if not dtype.is_integer:
        return False
    most = dims.bounds(rounds)[1]
    return dtype in (int32, int64) if most is None else most - 1 <= dtype.max


def _is_slice(node: Node, body: Region, rounds: Size) -> bool:
    """Whether a Gather at the counter takes one slice of each round from a tensor outside of the loop."""
    data = node.inputs[0]
    if data is None or data.captured is None or data.owner is not body or not isinstance(data.type, TensorType):
        return False
    shape, result = data.type.shape, node.output
    if not shape or result.content is not None:
        return False
    axis = _axis(node)
    element = TensorType(data.dtype, (*shape[:axis], *shape[axis + 1 :]))
    return dims.equal(shape[axis], rounds) is True and result.type == element


def _axis(node: Node) -> int:
    axis = node.attrs.get("axis", 0)
    assert isinstance(axis, int) and node.inputs[0] is not None
    return axis % node.inputs[0].rank


def _convert(node: Node, reads: Sequence[Node], retyper: Retyper) -> None:
    """Put a Scan in the place of a Loop; the body moves over."""
    assert node.block is not None
    body = node.regions.pop("body")
    slices: dict[Slice, Value] = {}
    for read in reads:
        data = read.inputs[0]
        assert data is not None and data.captured is not None
        place = data.captured.outer, _axis(read)
        if place not in slices:
            slices[place] = body.add_param(read.output.name, read.output.type)
        read.output.replace_uses(slices[place])
        erase(read)
    body.set_outputs(body.outputs[1:])
    for param in body.params[:2]:
        body.remove_param(param)
    body.remove_unused_captures()
    axes = [axis for _, axis in slices]
    scan = Builder(node.block, before=node, loc=node.loc).op(
        "Scan",
        [*node.inputs[2:], *(data for data, _ in slices)],
        body=body,
        num_scan_inputs=len(slices),
        scan_input_axes=axes if any(axes) else None,
    )
    for old, new in zip(node.outputs, [scan] if isinstance(scan, Value) else scan, strict=True):
        retyper.replace(old, new, "loop-to-scan", made=True)
    erase(node)
