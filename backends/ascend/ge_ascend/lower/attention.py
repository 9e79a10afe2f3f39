"""Attention: one fused operator where its mapping may be used and its forms suffice, else products and a softmax.

| chip | queries | operator |
|---|---|---|
| 910B, 910_93 | any | FusedInferAttentionScore |
| 310P, 910A | one | IncreFlashAttention |
| 310P, 910A | several | PromptFlashAttention |
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ge_ascend.lower.call import LowerCall
from ge_ascend.lower.registry import lowering
from ge_ascend.net import Out
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import int64


@lowering("Attention")
def attention(c: LowerCall) -> list[Out]:
    """softmax(scale Q K' + mask) V of heads, `[batch, heads, length, width]`; mask true is left out."""
    if not c.may_use("Attention (opset 23) or SDPA pattern, prefill") or not _fusable(c):
        return c.expand()
    heads, groups, width = c.shape(0)[1], c.shape(1)[1], c.shape(0)[3]
    scale = c.attr("scale")
    scale = float(width) ** -0.5 if scale is None and isinstance(width, int) else scale
    mask = _left_out(c)
    attrs: dict[str, Any] = {"num_heads": heads, "num_key_value_heads": groups, "input_layout": "BNSD"}
    if c.engine.chip.kernels:
        return [c.ops("FusedInferAttentionScore", c[0], [c[1]], [c[2]], None, mask, count=2, scale=scale, **attrs)[0]]
    if c.shape(0)[2] == 1:
        return [c.op("IncreFlashAttention", c[0], [c[1]], [c[2]], None, mask, scale_value=scale, **attrs)]
    return [c.op("PromptFlashAttention", c[0], c[1], c[2], None, mask, scale_value=scale, **attrs)]


def _fusable(c: LowerCall) -> bool:
    """Whether the fused operators say what this node says: four axes, half precision, at most a bool mask."""
    mask = c.node.input(3)
    return (
        c.rank() == 4
        and isinstance(c.shape(0)[1], int)
        and isinstance(c.shape(0)[3], int)
        and c[0].value.dtype.bits == 16
        and len(c.node.outputs) == 1
        and not c.attr("softcap")
        and all(c.node.input(i) is None for i in (4, 5, 6))
        and (mask is None or (mask.dtype.kind == "bool" and dims.equal(mask.shape[-1], c.shape(1)[2]) is True))
    )


def _left_out(c: LowerCall) -> Out | None:
    """Which keys a query does not see, by the mask, by order and by windows; None where it sees all."""
    given = c.get(3)
    mask = None if given is None else c.op("LogicalNot", given)
    rows, columns = c.shape(0)[2], c.shape(1)[2]
    rules = bool(c.attr("is_causal")), int(c.attr("left_window_size")), int(c.attr("right_window_size"))
    if rules == (False, -1, -1):
        return mask
    key = ("left out", rows, columns, rules)
    if key not in c.scope.made:
        c.scope.made[key] = _by_place(c, rows, columns, *rules)
    return c.scope.made[key] if mask is None else c.op("LogicalOr", mask, c.scope.made[key])


def _by_place(c: LowerCall, rows: Size, columns: Size, causal: bool, left: int, right: int) -> Out:
    """`[1, 1, rows, columns]`: keys after their query, or beyond a window on either side of it."""
    ahead = min([0] * causal + [right] * (right >= 0), default=None)
    if isinstance(rows, int) and isinstance(columns, int):
        away = np.arange(columns) - np.arange(rows)[:, None]
        found = (away > ahead) if ahead is not None else np.zeros(away.shape, bool)
        return c.const((found | (-away > left) if left >= 0 else found)[None, None])
    steps = [c.op("Range", c.const(0, int64), c.scalar(size), c.const(1, int64)) for size in (columns, rows)]
    between = c.op("Sub", steps[0], c.op("Unsqueeze", steps[1], axes=[1]))
    parts = [] if ahead is None else [c.op("Greater", between, c.const(ahead, int64))]
    if left >= 0:
        parts.append(c.op("Less", between, c.const(-left, int64)))
    return c.op("Unsqueeze", parts[0] if len(parts) == 1 else c.op("LogicalOr", *parts), axes=[0, 1])
