"""Running maxima, minima and logarithms of sums along an axis; a work item is one row.

Operands: data, results; sizes: elements of a row, and the step from one element of a row to the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import family
from ge_backend_cpu.serial.code import Code, Num, Variable
from ge_core.ir.dtype import float64


def _first(c: Code, row: Num) -> Num:
    """The first element of a row."""
    size, step = c.sizes["size"], c.sizes["step"]
    return row // step * size * step + row % step


@family("serial.extremes")
def emit_extremes(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """The largest (smallest) value so far and its latest place; NaN is both. With `contiguous` the step is 1."""
    c = Code(module, symbol, parameters, isa)
    data, values, indices = c.arrays
    size = c.sizes["size"]
    with c.items() as row:
        first = _first(c, row)
        with c.when(size > 0):
            best, place = c.variable(data[first], data.kind), c.variable(0)
            done = c.integer(0)
            if parameters["contiguous"]:
                done = size // isa.lanes * isa.lanes
                with c.count(0, done, isa.lanes) as k:
                    _extremes_of_lanes(c, first + k, k, best, place)
            with c.count(done, size) as k:
                at = first + k * c.sizes["step"]
                value = data[at]
                with c.when(_wins(c, value, best.value)):
                    best.value, place.value = value, k
                values[at] = best.value
                indices[at] = place.value
    c.finish()


def _wins(c: Code, value: Num, before: Num) -> Num:
    wins = value >= before if c.options["greatest"] else value <= before
    return wins | value.call("isnan") if value.kind.is_float else wins


def _extremes_of_lanes(c: Code, at: Num, k: Num, best: Variable, place: Variable) -> None:
    """One vector of a row: each lane takes in those before it, twice as many in each round, then what came before."""
    data, values, indices = (array.moved(at) for array in c.arrays)
    width = c.f.isa.lanes
    value, number = data.in_vectors(width)[0], c.lanes(k, width)
    distance = 1
    while distance < width:
        picks = [lane - distance if lane >= distance else lane for lane in range(width)]
        value, number = _later(c, value.picked(picks), number.picked(picks), value, number)
        distance *= 2
    value, number = _later(c, best.value, place.value, value, number)
    values.in_vectors(width)[0], indices.in_vectors(width)[0] = value, number
    best.value, place.value = value.picked([width - 1]), number.picked([width - 1])


def _later(c: Code, value: Num, number: Num, other: Num, following: Num) -> tuple[Num, Num]:
    """The one of two that wins, of which the second comes later."""
    wins = _wins(c, other, value)
    return wins.choose(other, value), wins.choose(following, number)


@family("serial.log_sums")
def emit_log_sums(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """log(exp x0 + ... + exp xk) as a maximum and a sum of what is below it, in float64."""
    c = Code(module, symbol, parameters, isa)
    data, values = c.arrays
    with c.items() as row:
        first = _first(c, row)
        best = c.variable(float("-inf"), float64)
        total = c.variable(0.0, float64)
        with c.count(0, c.sizes["size"]) as k:
            at = first + k * c.sizes["step"]
            value = data[at].to(float64)
            top = best.value.max(value)
            # infinities stay what they are: inf - inf would be no number
            safe = top.call("isinf").choose(0.0, top)
            total.value = total.value * (best.value - safe).call("exp") + (value - safe).call("exp")
            best.value = top
            found = safe + total.value.call("log")
            values[at] = top.call("isposinf").choose(top, found).to(data.dtype)
    c.finish()
