"""Running maxima, minima and logarithms of sums along an axis; a work item is one row.

Operands: data, results; sizes: elements of a row, and the step from one element of a row to the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import family
from ge_backend_cpu.serial.code import Code, Num
from ge_core.ir.dtype import float64


def _first(c: Code, row: Num) -> Num:
    """The first element of a row."""
    size, step = c.sizes["size"], c.sizes["step"]
    return row // step * size * step + row % step


@family("serial.extremes")
def emit_extremes(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """The largest (smallest) value so far and its latest place; NaN is both."""
    c = Code(module, symbol, parameters, isa)
    data, values, indices = c.arrays
    greatest = bool(parameters["greatest"])
    with c.items() as row:
        first = _first(c, row)
        with c.when(c.sizes["size"] > 0):
            best, place = c.variable(data[first], data.kind), c.variable(0)
            with c.count(0, c.sizes["size"]) as k:
                at = first + k * c.sizes["step"]
                value = data[at]
                wins = value >= best.value if greatest else value <= best.value
                if value.kind.is_float:
                    wins = wins | value.call("isnan")
                with c.when(wins):
                    best.value, place.value = value, k
                values[at] = best.value
                indices[at] = place.value
    c.finish()


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
