"""Messages along the edges of a graph of nodes (paddle.geometric)."""

from __future__ import annotations

from ge_core.ir.graph import Value

from ..call import INT64, Call
from ..registry import pd

_OPS = {"ADD": "Add", "MUL": "Mul"}


def _received(c: Call, messages: Value, target: Value, rows: Value, reduction: str) -> Value:
    """Messages reduced at the nodes that they go to; 0 where none goes to."""
    b, kind = c.b, messages.dtype
    ids = c.cast(target, INT64)
    ones = c.full((messages.shape[0],), 1, kind)
    counts = b.ge.SegmentReduce(ones, ids, rows, reduction="sum")
    behind = range(1, messages.rank)
    if reduction in ("SUM", "MEAN"):
        total = b.ge.SegmentReduce(messages, ids, rows, reduction="sum")
        if reduction == "SUM":
            return total
        return b.Div(total, c.unsqueeze(b.Max(counts, c.scalar(1, kind)), *behind))
    found = b.ge.SegmentReduce(messages, ids, rows, reduction=reduction.lower())
    hit = c.unsqueeze(b.Less(c.scalar(0, kind), counts), *behind)
    return b.Where(hit, found, c.scalar(0, kind))


def _rows(c: Call, x: Value, out_size: Value | None) -> Value:
    """How many nodes the result has: as asked, else as many as there are."""
    given = None if out_size is None else c.sizes(out_size)
    if given is None and out_size is not None:
        raise c.unsupported("a number of nodes that the model computes")
    asked = given is not None and len(given) == 1 and isinstance(given[0], int) and given[0] > 0
    return c.b.scalar(given[0] if asked and given is not None else x.shape[0])


@pd("send_u_recv")
def send_u_recv(
    c: Call, x: Value, src_index: Value, dst_index: Value, out_size: Value | None = None, *, reduce_op: str = "SUM"
) -> tuple[Value]:
    """send_u_recv(x, src_index, dst_index, out_size, *, reduce_op="SUM") -> out, dst_count"""
    return (_received(c, c.b.Gather(x, src_index, axis=0), dst_index, _rows(c, x, out_size), reduce_op),)


@pd("send_ue_recv")
def send_ue_recv(
    c: Call,
    x: Value,
    y: Value,
    src_index: Value,
    dst_index: Value,
    out_size: Value | None = None,
    *,
    message_op: str = "ADD",
    reduce_op: str = "SUM",
) -> tuple[Value]:
    """send_ue_recv(x, y, src_index, dst_index, out_size, *, message_op="ADD", reduce_op="SUM") -> out, dst_count"""
    edges = c.unsqueeze(y, *range(y.rank, x.rank)) if y.rank < x.rank else y
    messages = c.b.op(_OPS[message_op], c.b.Gather(x, src_index, axis=0), edges)
    return (_received(c, messages, dst_index, _rows(c, x, out_size), reduce_op),)


@pd("send_uv")
def send_uv(c: Call, x: Value, y: Value, src_index: Value, dst_index: Value, *, message_op: str = "ADD") -> Value:
    """send_uv(x, y, src_index, dst_index, *, message_op="ADD") -> out"""
    b = c.b
    return b.op(_OPS[message_op], b.Gather(x, src_index, axis=0), b.Gather(y, dst_index, axis=0))
