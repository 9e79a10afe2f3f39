"""Pools that tell where their maxima lie, and the way back: what is written at such places, and sums of windows."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import INDEX_OUT_OF_RANGE, family
from ge_backend_cpu.serial.code import Code, Num, split
from ge_backend_cpu.serial.scatter import identity
from ge_core.ir.dtype import int64


def _product(c: Code, sizes: list[Num]) -> Num:
    total = c.integer(1)
    for size in sizes:
        total = total * size
    return total


@family("serial.max_places")
def emit_max_places(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """The maximum of each window and its number in the plane: the first one; the last NaN, when adaptive the first.

    Operands: image [planes, *sizes], values and numbers [planes, *outs]. A work item is one window. Windows are those
    of a convolution, or with `adaptive` parts of the axis as even as can be. `column` numbers the plane with the
    first axis innermost; `whole` goes on numbering from plane to plane. A window without elements has the least value.
    """
    c = Code(module, symbol, parameters, isa)
    image, values, numbers = c.arrays
    rank = parameters["rank"]
    sizes, outs = ([c.sizes[f"{what}{i}"] for i in range(rank)] for what in ("size", "out"))
    plane_size = _product(c, sizes)
    with c.items() as item:
        plane, *at = split(c, item, *[c.integer(1), *outs])
        start = plane * plane_size
        best = c.variable(identity(c, "max", image.dtype, image.kind), image.kind)
        place = c.variable(-1)
        with ExitStack() as loops:
            number, numbered = c.integer(0), c.integer(0)
            inside: Num | None = None
            step = c.integer(1)
            for i in range(rank):
                if parameters["adaptive"]:
                    low = at[i] * sizes[i] // outs[i]
                    high = ((at[i] + 1) * sizes[i] + outs[i] - 1) // outs[i]
                    x = loops.enter_context(c.count(low, high))
                else:
                    k = loops.enter_context(c.count(0, c.sizes[f"kernel{i}"]))
                    x = at[i] * c.sizes[f"stride{i}"] - c.sizes[f"begin{i}"] + k * c.sizes[f"dilation{i}"]
                    here = (x >= 0) & (x < sizes[i])
                    inside = here if inside is None else inside & here
                number = number * sizes[i] + x
                numbered = numbered + x * step
                step = step * sizes[i]
            if inside is not None:
                loops.enter_context(c.when(inside))
            value = image[start + number]
            better = (place.value < 0) | (value > best.value)
            if value.kind.is_float:
                nan = value.call("isnan")
                better = better | (nan & ~best.value.call("isnan") if parameters["adaptive"] else nan)
            with c.when(better):
                best.value = value
                place.value = numbered if parameters["column"] else number
        values[item] = best.value
        numbers[item] = place.value + start if parameters["whole"] else place.value
    c.finish()


@family("serial.unpool")
def emit_unpool(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Zeros, but values where their numbers say.

    Numbers count in a tensor of the sizes `inner`, of which the result shows the part that it has room for.
    Operands: values, numbers, result; sizes: count, then inner and room for each axis. One work item.
    """
    c = Code(module, symbol, parameters, isa)
    values, numbers, result = c.arrays
    rank = parameters["rank"]
    inner, room = ([c.sizes[f"{what}{i}"] for i in range(rank)] for what in ("inner", "room"))
    limit = _product(c, inner)
    with c.items():
        with c.count(0, _product(c, room)) as k:
            result[k] = c.number(0, result.kind)
        with c.count(0, c.sizes["count"]) as k:
            number = numbers[k].to(int64)
            c.fail((number < 0) | (number >= limit), INDEX_OUT_OF_RANGE)
            inside, target = c.integer(1).differs(0), c.integer(0)
            for at, size in zip(split(c, number, *inner), room, strict=True):
                inside, target = inside & (at < size), target * size + at
            with c.when(inside):
                result[target] = values[k]
    c.finish()


@family("serial.fold")
def emit_fold(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """The way back from columns to an image: each element is the sum of what stands for it in the windows.

    Operands: columns [planes, taps, *places], image [planes, *sizes]. A work item is one row of the image's last
    axis. Sums in float32 for smaller floats.
    """
    c = Code(module, symbol, parameters, isa)
    columns, image = c.arrays
    rank = parameters["rank"]
    sizes, places, kernel = ([c.sizes[f"{what}{i}"] for i in range(rank)] for what in ("size", "place", "kernel"))
    taps, count = _product(c, kernel), _product(c, places)
    with c.items() as item:
        plane, *at = split(c, item, c.integer(1), *sizes[:-1])
        with c.count(0, sizes[-1]) as x:
            total = c.variable(0, image.kind)
            with ExitStack() as loops:
                tap, place = c.integer(0), c.integer(0)
                inside: Num | None = None
                for i, index in enumerate([*at, x]):
                    k = loops.enter_context(c.count(0, kernel[i]))
                    moved = index + c.sizes[f"begin{i}"] - k * c.sizes[f"dilation{i}"]
                    stride = c.sizes[f"stride{i}"]
                    # a negative one is no place; the division is one of numbers that are not
                    safe = moved.max(0)
                    here = (moved >= 0) & (safe % stride).equals(0) & (safe // stride < places[i])
                    inside = here if inside is None else inside & here
                    tap, place = tap * kernel[i] + k, place * places[i] + safe // stride
                assert inside is not None
                loops.enter_context(c.when(inside))
                total.value = total.value + columns[(plane * taps + tap) * count + place]
            image[item * sizes[-1] + x] = total.value
    c.finish()
