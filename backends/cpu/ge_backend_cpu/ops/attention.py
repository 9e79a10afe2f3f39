"""Attention: keys and values in panels, then one pass over them for every block of queries."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ge_backend_cpu.contract.arithmetic import Arithmetic
from ge_backend_cpu.contract.attention import QUERIES, Attention
from ge_backend_cpu.contract.cost import example, figures
from ge_backend_cpu.contract.matrix import Matrix
from ge_backend_cpu.contract.plan import Plan
from ge_backend_cpu.contract.tile import PANEL
from ge_backend_cpu.contract.windows import NodeAttributes
from ge_backend_cpu.implementations import implementation
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Launch, Operand, launch_data, result, source
from ge_core.backend import Implementation, Options
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import float32
from ge_core.ir.graph import Node, Value

MOST_DEPTH = 256
"""Elements of a head whose sums a thread keeps at hand."""


@implementation("Attention")
def attention(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    """A kernel for attention in float32 or half whose scores nobody reads."""
    q, k, v, mask = (node.input(i) for i in range(4))
    assert q is not None and k is not None and v is not None
    attributes = NodeAttributes(node)
    heads, kv_heads = (
        value.shape[1] if value.rank == 4 else attributes.attr(name)
        for value, name in ((q, "q_num_heads"), (k, "kv_num_heads"))
    )
    depth = tuple(
        value.shape[3] if value.rank == 4 else dims.floordiv(value.shape[2], count)
        for value, count in ((k, kv_heads), (v, kv_heads))
    )
    sizes = tuple(d for d in depth if isinstance(d, int) and 0 < d <= MOST_DEPTH)
    precision = attributes.attr("softmax_precision")
    dtypes = {value.dtype.name for value in (q, k, v)}
    if len(node.outputs) > 3 or len(sizes) < 2 or not dtypes <= {"float32", "float16", "bfloat16"}:
        return ()
    if precision not in (None, float32) or not isinstance(heads, int) or not isinstance(kv_heads, int):
        return ()
    strides = None if mask is None else _mask_strides(mask)
    if mask is not None and (strides is None or mask.dtype.name not in (*dtypes, "float32", "bool")):
        return ()
    return [_planned(node, isa, (heads, kv_heads), (sizes[0], sizes[1]), strides)]


def _mask_strides(mask: Value) -> tuple[Size, Size, Size] | None:
    """Strides of the mask by batch, head and query; None when it is not known what is repeated."""
    shape = (*(1,) * (4 - mask.rank), *mask.shape)
    step: Size = shape[3]
    found: list[Size] = []
    for size in reversed(shape[:3]):
        if not isinstance(size, int) and dims.less_equal(2, size) is not True:
            return None
        found.insert(0, 0 if size == 1 else step)
        step = step * size
    return found[0], found[1], found[2]


def _head_strides(value: Value, heads: int, depth: int) -> tuple[Size, Size, Size]:
    """Strides by batch, head and row of [B, H, S, D] or [B, S, H*D]."""
    if value.rank == 4:
        return heads * value.shape[2] * depth, value.shape[2] * depth, depth
    return value.shape[1] * heads * depth, depth, heads * depth


def _planned(
    node: Node, isa: Isa, heads: tuple[int, int], depth: tuple[int, int], mask: tuple[Size, Size, Size] | None
) -> Implementation:
    q, k, v = (node.input(i) for i in range(3))
    past_key, past_value, lengths = (node.input(i) for i in range(4, 7))
    assert q is not None and k is not None and v is not None
    attributes = NodeAttributes(node)
    plan, sums = Plan(isa), Arithmetic("float32")
    batch, queries = q.shape[0], q.shape[-2]
    past: Size = 0 if past_key is None else past_key.shape[2]
    keys = past + k.shape[-2]
    panels = []
    for number, (value, before, size) in enumerate(((k, past_key, depth[0]), (v, past_value, depth[1])), 1):
        steps = _head_strides(value, heads[1], size)
        at, new = source(number), value.shape[-2]
        if before is not None or len(node.outputs) > number:
            whole = (
                result(number)
                if len(node.outputs) > number
                else plan.reserve(batch * heads[1] * keys * size, value.dtype)
            )
            _joined(plan, value, before, number, steps, (batch, heads[1]), size, whole, past)
            at, steps, new = whole, (heads[1] * keys * size, keys * size, size), keys
        matrix = Matrix(at, value.dtype, new, size, steps[2], 1, steps[:2])
        dense = dims.equal(steps[2], size) is True and dims.equal(steps[1], new * size) is True
        as_rows = number == 2 and dense and value.dtype == float32 and size % PANEL == 0
        if not as_rows:
            matrix = plan.panels(matrix.transposed if number == 1 else matrix, (batch, heads[1]), float32)
        panels.append(matrix.at)
    q_steps, y_steps = _head_strides(q, heads[0], depth[0]), _head_strides(node.outputs[0], heads[0], depth[1])
    q_at: Operand = source(0)
    if q.dtype != float32:
        inner = q.shape[-1]
        rows = dims.product(q.shape[:-1])
        q_at = plan.rows(Matrix(source(0), q.dtype, rows, inner, inner, 1), (), sums).at
    mask_value = node.input(3)
    scale = attributes.attr("scale")
    left, right = attributes.attr("left_window_size"), attributes.attr("right_window_size")
    form = Attention(
        y=node.outputs[0].dtype.name,
        depth=depth,
        rows=min(queries, QUERIES) if isinstance(queries, int) else 0,
        scale=1 / math.sqrt(depth[0]) if scale is None else scale,
        softcap=attributes.attr("softcap"),
        mask="" if mask_value is None else mask_value.dtype.name,
        rows_of_values=as_rows,
        causal=bool(attributes.attr("is_causal")),
        left=left >= 0,
        right=right >= 0,
        lengths="" if lengths is None else lengths.dtype.name,
    )
    block = form.block
    parts = dims.ceildiv(queries, block)
    each = dims.ceildiv(keys, PANEL) * PANEL
    values: dict[str, Size] = {
        "heads": heads[0], "shared": heads[0] // heads[1], "queries": queries, "keys": keys, "past": past,
        "left": left, "right": right, "parts": parts, "q_b": q_steps[0], "q_h": q_steps[1], "q_s": q_steps[2],
        "k_b": each * depth[0], "v_b": keys * -(-depth[1] // PANEL) * PANEL, "y_b": y_steps[0], "y_h": y_steps[1],
        "y_s": y_steps[2],
    }  # fmt: skip
    if mask is not None and mask_value is not None:
        values |= {"mask_b": mask[0], "mask_h": mask[1], "mask_s": mask[2], "mask_keys": mask_value.shape[-1]}
    extra = [source(i) for i, value in ((3, mask_value), (6, lengths)) if value is not None]
    speed = figures(isa)
    work = batch * heads[0] * queries * keys * (sum(depth) * speed.multiply_picoseconds() + 400)
    plan.launches.append(
        Launch(
            kernel=form.kernel(),
            operands=(q_at, *panels, *extra, result()),
            params=form.params(values),
            extent=batch * heads[0] * parts,
            picoseconds=work,
            uneven=form.causal,
        )
    )
    seconds = sum(example(launch.picoseconds) for launch in plan.launches) * 1e-12
    return Implementation(
        name="attention",
        workspace=plan.workspace,
        cost=seconds,
        precision="accurate",
        data=launch_data(plan.launches, plan.recipes),
    )


def _joined(
    plan: Plan,
    value: Value,
    before: Value | None,
    number: int,
    steps: tuple[Size, Size, Size],
    batch: tuple[Size, Size],
    size: int,
    target: Operand,
    past: Size,
) -> None:
    """What was there before, then the new rows, as [B, H, S, D]."""
    new = value.shape[-2]
    whole = (past + new) * size
    if before is not None:
        old = Matrix(source(number + 3), value.dtype, past, size, size, 1, (batch[1] * past * size, past * size))
        plan.copy_rows(old, batch, target, whole)
    matrix = Matrix(source(number), value.dtype, new, size, steps[2], 1, steps[:2])
    offset = past * size * (value.dtype.bits // 8)
    moved = Operand(target.kind, target.index, target.offset + offset, target.key)
    plan.copy_rows(matrix, batch, moved, whole)
