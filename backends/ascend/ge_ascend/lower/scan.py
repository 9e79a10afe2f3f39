"""Scan: unrolled where that makes few operators, else a While loop."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ge_ascend.lower.call import LowerCall
from ge_ascend.lower.control import SubGraph, bind_feeds, crossing, feeds_of, results_of, written_row
from ge_ascend.lower.registry import lowering
from ge_ascend.net import Out
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Size
from ge_core.ir.dtype import int64
from ge_core.ir.graph import Value, constant_of
from ge_core.ir.traverse import walk

_MOST_COPIED = 2048
"""Nodes that unrolling makes at most. A round costs fewer starts without the loop around it, and all sizes are known,
but each copy is compiled apart."""


@lowering("Scan")
def scan(c: LowerCall) -> list[Out]:
    """Unrolled: each round is the body once more; While for many of them, or a number known at run time only."""
    count = c.attr("num_scan_inputs")
    values = [v for v in c.node.inputs if v is not None]
    carried, scanned = values[: len(values) - count], values[len(values) - count :]
    axes = c.attr("scan_input_axes") or (0,) * count
    backwards = c.attr("scan_input_directions") or (0,) * count
    rounds = scanned[0].shape[axes[0] % scanned[0].rank]
    region = c.node.regions["body"]
    if not isinstance(rounds, int) or rounds * sum(1 for _ in walk(region)) > _MOST_COPIED:
        return _as_while(c, rounds, carried, scanned)
    state = [c.taken(v) for v in carried]
    rows: list[list[Out]] = [[] for _ in region.outputs[len(carried) :]]
    for i in range(rounds):
        parts = []
        for value, axis, back in zip(scanned, axes, backwards, strict=True):
            at = c.const(rounds - 1 - i if back else i, int64)
            parts.append(c.op("GatherV2", c.taken(value), at, c.const(axis % value.rank, int64)))
        for param, out in zip(region.params, [*state, *parts], strict=True):
            c.scope.outs[param] = out
        for capture in region.captures:
            if constant_of(capture.outer) is None:
                c.scope.outs[capture.param] = c.engine.value(c.scope, capture.outer, None)
        c.engine.block(c.scope, region)
        found = [c.engine.value(c.scope, v, None) for v in region.outputs]
        state = [c.cast(out, old.value.dtype) for out, old in zip(found, state, strict=False)]
        for row, out in zip(rows, found[len(carried) :], strict=True):
            row.append(out)
    out_axes = c.attr("scan_output_axes") or (0,) * len(rows)
    out_back = c.attr("scan_output_directions") or (0,) * len(rows)
    return [*state, *(_stacked(c, row, a, b) for row, a, b in zip(rows, out_axes, out_back, strict=True))]


def _stacked(c: LowerCall, row: list[Out], axis: int, backwards: int) -> Out:
    ordered = row[::-1] if backwards else row
    rank = row[0].value.rank + 1
    return c.op("Pack", ordered, axis=axis % rank, N=len(ordered))


def _as_while(c: LowerCall, rounds: Size, carried: Sequence[Value], scanned: Sequence[Value]) -> list[Out]:
    """While over (i, carried..., collected..., rounds, scanned..., feeds...): a round writes its rows in place."""
    c.note("unconfirmed", "Scan as While, which no official plugin does for ONNX")
    region = c.node.regions["body"]
    feeds = feeds_of(c, [region])
    scans = region.outputs[len(carried) :]
    in_axes, in_back = (c.attr(f"scan_input_{name}") or (0,) * len(scanned) for name in ("axes", "directions"))
    out_axes, out_back = (c.attr(f"scan_output_{name}") or (0,) * len(scans) for name in ("axes", "directions"))
    first: list[Out] = [c.const(0, int64), *(c.engine.value(c.scope, v, crossing(c, v)) for v in carried)]
    first += [c.op("Fill", c.ints([rounds, *scan.shape]), c.const(0, crossing(c, scan))) for scan in scans]
    fixed = len(first)
    first += [c.scalar(rounds), *(c.engine.value(c.scope, v, crossing(c, v)) for v in scanned), *feeds.outs]
    stem = c.node.outputs[0].name if c.node.outputs else "scan"
    names = [SubGraph(c, f"{stem}_{part}") for part in ("cond", "body")]
    emit, small = c.engine.emitter.emit, c.engine.emitter.small

    def check(b: Builder, arguments: Sequence[Value]) -> list[Value]:
        scope, outs = names[0].begin(b, arguments)
        return names[0].end([emit(scope, "Less", [outs[0], outs[fixed]], {})[0]])

    def step(b: Builder, arguments: Sequence[Value]) -> list[Value]:
        scope, outs = names[1].begin(b, arguments)
        one = small(scope, np.int64(1))
        mirrored = outs[0]
        if any((*in_back, *out_back)):
            (last,) = emit(scope, "Sub", [outs[fixed], one], {})
            (mirrored,) = emit(scope, "Sub", [last, outs[0]], {})
        parts = []
        for value, out, axis, back in zip(scanned, outs[fixed + 1 :], in_axes, in_back, strict=False):
            at = mirrored if back else outs[0]
            parts.append(emit(scope, "GatherV2", [out, at, small(scope, np.int64(axis % value.rank))], {})[0])
        for param, out in zip(region.params, [*outs[1 : 1 + len(carried)], *parts], strict=True):
            scope.bind(param, out)
        bind_feeds(scope, region, feeds, outs[fixed + 1 + len(scanned) :])
        c.engine.block(scope, region)
        found = results_of(c, scope, region)
        written = []
        for old, row, back in zip(outs[1 + len(carried) : fixed], found[len(carried) :], out_back, strict=True):
            (single,) = emit(scope, "Unsqueeze", [row], {"axes": [0]})
            written.append(written_row(c, scope, old, mirrored if back else outs[0], single))
        (after,) = emit(scope, "Add", [outs[0], one], {})
        return names[1].end([after, *found[: len(carried)], *written, *outs[fixed:]])

    results = emit(
        c.scope, "While", [first], {}, count=len(first), graphs=[g.name for g in names], branches=[check, step]
    )
    rows = zip(results[1 + len(carried) : fixed], scans, out_axes, strict=True)
    collected = []
    for row, scan, axis in rows:
        place, rank = axis % (scan.rank + 1), scan.rank + 1
        order = [*range(1, place + 1), 0, *range(place + 1, rank)]
        collected.append(row if place == 0 else c.transpose(row, order))
    return [*results[1 : 1 + len(carried)], *collected]
