"""Rotary embeddings: RotaryMul, or ApplyRotaryPosEmb for queries and keys together."""

from __future__ import annotations

from ge_ascend.lower.call import LowerCall
from ge_ascend.lower.registry import lowering
from ge_ascend.net import Op, Out
from ge_ascend.prototypes import prototype
from ge_core.ir.dtype import int32
from ge_core.ir.graph import constant_of

_ROWS_FIRST = [0, 2, 1, 3]


@lowering("RotaryEmbedding")
def rotary(c: LowerCall) -> Out:
    """RotaryMul turns whole heads by halves: x * (cos, cos) + (-second half, first half) * (sin, sin)."""
    whole = not c.attr("rotary_embedding_dim") or c.attr("rotary_embedding_dim") == c.shape()[-1]
    if c.rank() != 4 or c.attr("interleaved") or not whole:
        return c.expand()[0]
    tables = _tables(c)
    found = c.op("RotaryMul", c[0], *tables)
    both = prototype("ApplyRotaryPosEmb")
    return _with_partner(c, found) if c.engine.allow_unsure and both and both.on(c.engine.chip) else found


def _tables(c: LowerCall) -> list[Out]:
    """cos and sin for each element of a head, `[batch, 1, rows, width]`; made once for all heads that share them."""
    tables = []
    for index in (1, 2):
        key = ("rotary", c.node.input(index), c.node.input(3), c.float_type)
        if key not in c.scope.made:
            table = c[index]
            if c.node.input(3) is not None:
                table = c.op("GatherV2", table, c.as_is(3), c.const(0, int32))
            both = c.op("ConcatV2", [table, table], c.const(table.value.rank - 1, int32), N=2)
            c.scope.made[key] = c.op("Unsqueeze", both, axes=[1])
        tables.append(c.scope.made[key])
    return tables


def _with_partner(c: LowerCall, out: Out) -> Out:
    """Join the RotaryMul of the queries that nothing has read yet; the operator wants rows before heads.

    Both come from transposed projections, whose sources the operator takes: the transposes follow it then. Its layout
    number is known from its default alone, so that it is emitted only where unconfirmed mappings are allowed.
    """
    key = _source(c, out.op)
    if key is None:
        return out
    tables = [fed for port, fed in out.op.inputs if port != "x"]
    for op in c.scope.net.ops:
        if op.type != "RotaryMul" or op is out.op or [fed for port, fed in op.inputs if port != "x"] != tables:
            continue
        query = _source(c, op)
        if query is None or query is key or any(fed.op is op for other in c.scope.net.ops for _, fed in other.inputs):
            continue
        rows_first = [c.op("Transpose", table, c.ints(_ROWS_FIRST)) for table in tables]
        turned = c.ops("ApplyRotaryPosEmb", query, key, *rows_first)
        back = [c.transpose(one, _ROWS_FIRST) for one in turned]
        for value, known in list(c.scope.outs.items()):
            if known.op is op:
                c.scope.outs[value] = back[0]
        c.note("form", "RotaryEmbedding of queries and keys as ApplyRotaryPosEmb")
        return back[1]
    return out


def _source(c: LowerCall, op: Op) -> Out | None:
    """What the transposed operand of a RotaryMul was, when nothing else reads it: the operator writes in place."""
    x = dict(op.inputs)["x"]
    if x.op.type != "Transpose":
        return None
    ports = dict(x.op.inputs)
    order = constant_of(ports["perm"].value)
    if order is None or order.array().tolist() != _ROWS_FIRST:
        return None
    readers = [other for other in c.scope.net.ops for _, fed in other.inputs if fed is ports["x"]]
    alone = readers == [x.op] and ports["x"].op.type not in ("Data", "RefData", "Const")
    return ports["x"] if alone else None
