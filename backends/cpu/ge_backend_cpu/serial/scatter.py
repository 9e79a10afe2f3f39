"""Writes and reductions at indices, in order; work items never share an element of the result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import INDEX_OUT_OF_RANGE, family
from ge_backend_cpu.serial.bins import bin_of
from ge_backend_cpu.serial.code import Array, Code, Num, split
from ge_core.ir.dtype import DType

COMBINE = {"add": "add", "sum": "add", "mean": "add", "mul": "mul", "prod": "mul", "max": "max", "min": "min"}


def identity(c: Code, reduction: str, dtype: DType, kind: DType) -> Num:
    """What a reduction begins with."""
    if COMBINE[reduction] in ("add", "mul"):
        return c.number(int(COMBINE[reduction] == "mul"), kind)
    low = reduction == "max"
    if dtype.kind == "bool":
        return c.number(int(not low), kind)
    if dtype.is_float:
        return c.number(float("-inf") if low else float("inf"), kind)
    return c.number(int(dtype.min if low else dtype.max), kind)


def _update(c: Code, reduction: str, sums: Array, place: Num, update: Num) -> None:
    if reduction == "none":
        sums[place] = update
    else:
        sums[place] = sums[place].call(COMBINE[reduction], update)


def _mean(total: Num, count: Num) -> Num:
    """The mean; of integers rounded down."""
    divisor = count.to(total.kind)
    return total / divisor if total.kind.is_float else total.call("floordiv", divisor)


@family("serial.scatter")
def emit_scatter(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Data with updates combined into one axis.

    Data and result are [outer.., size, inner..], indices and updates as many axes of other sizes, of which those but
    the one written along must not be larger. Operands: data, indices, updates, sums, counts for means, result.
    Work items are places of all the data's axes but that one, in order of storage; those beyond the indices keep the
    data. With `own` 0 the data do not take part where something is written.
    """
    c = Code(module, symbol, parameters, isa)
    rank, axis, reduction = parameters["rank"], parameters["axis"], parameters["reduction"]
    data, indices, updates, sums, *counts, result = c.arrays
    whole, part, line = ([c.sizes[f"{what}{i}"] for i in range(rank)] for what in ("data", "index", "update"))
    steps, index_steps, update_steps = _steps(c, whole), _steps(c, part), _steps(c, line)
    others = [i for i in range(rank) if i != axis]
    size = whole[axis]
    with c.items() as item:
        places = split(c, item, *[whole[i] for i in others]) if others else []
        start = _sum(c, [p * steps[i] for p, i in zip(places, others, strict=True)])
        with c.count(0, size) as k:
            at = start + k * steps[axis]
            sums[at] = data[at].to(sums.dtype)
            if counts:
                counts[0][at] = c.integer(int(parameters["own"]))
        inside = c.number(1, DType.of("bool"))
        for place, i in zip(places, others, strict=True):
            inside = inside & (place < part[i])
        with c.when(inside):
            first = _sum(c, [p * index_steps[i] for p, i in zip(places, others, strict=True)])
            first_update = _sum(c, [p * update_steps[i] for p, i in zip(places, others, strict=True)])

            def target(k: Num) -> Num:
                found = c.place(indices[first + k * index_steps[axis]], size, INDEX_OUT_OF_RANGE)
                return start + found * steps[axis]

            if not parameters["own"]:
                with c.count(0, part[axis]) as k:
                    sums[target(k)] = identity(c, reduction, result.dtype, sums.kind)
            with c.count(0, part[axis]) as k:
                at = target(k)
                _update(c, reduction, sums, at, updates[first_update + k * update_steps[axis]].to(sums.dtype))
                if counts:
                    counts[0][at] = counts[0][at] + 1
        if counts or sums.dtype != result.dtype:
            with c.count(0, size) as k:
                at = start + k * steps[axis]
                total = _mean(sums[at], counts[0][at].max(1)) if counts else sums[at]
                result[at] = total.to(result.dtype)
    c.finish()


def _steps(c: Code, sizes: list[Num]) -> list[Num]:
    """Row-major steps of some axes."""
    found, step = [], c.integer(1)
    for size in reversed(sizes):
        found.append(step)
        step = step * size
    return found[::-1]


def _sum(c: Code, parts: list[Num]) -> Num:
    total = c.integer(0)
    for part in parts:
        total = total + part
    return total


@family("serial.scatter_rows")
def emit_scatter_rows(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Rows at tuples of indices, combined in a type that does not round at each step.

    Operands: data, indices [rows, depth], updates [rows, inner], sums, result; sizes: elements, rows, inner, and
    the sizes of the indexed axes. A work item is one place within a row.
    """
    c = Code(module, symbol, parameters, isa)
    data, indices, updates, sums, result = c.arrays
    depth, inner = parameters["depth"], c.sizes["inner"]
    with c.items() as place:
        with c.count(place, c.sizes["elements"], inner) as k:
            sums[k] = data[k].to(sums.dtype)
        with c.count(0, c.sizes["rows"]) as row:
            at = c.integer(0)
            for i in range(depth):
                size = c.sizes[f"size{i}"]
                at = at * size + c.place(indices[row * depth + i], size, INDEX_OUT_OF_RANGE)
            update = updates[row * inner + place].to(sums.dtype)
            _update(c, parameters["reduction"], sums, at * inner + place, update)
        if sums.dtype != result.dtype:
            with c.count(place, c.sizes["elements"], inner) as k:
                result[k] = sums[k].to(result.dtype)
    c.finish()


@family("serial.segments")
def emit_segments(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Rows combined by the numbers of their segments.

    Operands: data [rows, inner], numbers [rows], sums, counts for means, result [segments, inner]. A work item is
    one place within a row.
    """
    c = Code(module, symbol, parameters, isa)
    data, numbers, sums, *counts, result = c.arrays
    reduction, inner, segments = parameters["reduction"], c.sizes["inner"], c.sizes["segments"]
    with c.items() as place:
        with c.count(0, segments) as k:
            sums[k * inner + place] = identity(c, reduction, result.dtype, sums.kind)
            if counts:
                counts[0][k * inner + place] = c.integer(0)
        with c.count(0, c.sizes["rows"]) as row:
            at = bin_of(c, numbers[row], segments) * inner + place
            _update(c, reduction, sums, at, data[row * inner + place].to(sums.dtype))
            if counts:
                counts[0][at] = counts[0][at] + 1
        if counts or sums.dtype != result.dtype:
            with c.count(0, segments) as k:
                at = k * inner + place
                total = _mean(sums[at], counts[0][at].max(1)) if counts else sums[at]
                result[at] = total.to(result.dtype)
    c.finish()


@family("serial.cache")
def emit_cache(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Steps written into the cache of each sequence of a batch, from its own place on.

    The cache is [batch, middle, room, inner], the update [batch, middle, steps, inner]; the result holds the cache
    already. Operands: update, starts unless all are 0, result. A work item is one step of one place in the middle.
    """
    c = Code(module, symbol, parameters, isa)
    update, *starts, result = c.arrays
    room, steps, inner = (c.sizes[name] for name in ("room", "steps", "inner"))
    with c.items() as item:
        batch, middle, step = split(c, item, c.sizes["batch"], c.sizes["middle"], steps)
        at = step + (starts[0][batch].to(c.integer(0).kind) if starts else 0)
        if parameters["circular"]:
            at = at.call("floormod", room)
        else:
            c.fail((at < 0) | (at >= room), INDEX_OUT_OF_RANGE)
        target = ((batch * c.sizes["middle"] + middle) * room + at) * inner
        with c.count(0, inner) as k:
            result[target + k] = update[item * inner + k]
    c.finish()
