"""Searching in sorted rows, and counting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import INDEX_OUT_OF_RANGE, family
from ge_backend_cpu.serial.code import Code, Num
from ge_core.ir.dtype import int64


@family("serial.search")
def emit_search(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """The first place in a sorted row that is not below a value, or above it with `right`; NaN is the greatest.

    Operands: rows, values, places; sizes: elements of a row, values of a row, and how many rows there are (1 row
    serves all values). A work item is one value.
    """
    c = Code(module, symbol, parameters, isa)
    rows, values, places = c.arrays
    size, each, count = (c.sizes[name] for name in ("size", "each", "rows"))
    with c.items() as item:
        start = (item // each).min(count - 1) * size
        value = values[item]
        low, high = c.variable(0), c.variable(size)
        with c.repeat(lambda low=low, high=high: low.value < high.value):  # type: ignore[misc]
            middle = (low.value + high.value) // 2
            element = rows[start + middle]
            beyond = element > value if parameters["right"] else element >= value
            low.value = beyond.choose(low.value, middle + 1)
            high.value = beyond.choose(middle, high.value)
        places[item] = low.value
    c.finish()


@family("serial.bin_count")
def emit_bin_count(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """How often each number occurs, or the sum of the weights of its places.

    Operands: numbers, weights unless they are missing, sums, result; sizes: numbers, bins. One work item. The sums
    are those of the result, in a type that does not round at each step; where that is the result's own they lie
    there.
    """
    c = Code(module, symbol, parameters, isa)
    numbers, *weights, sums, result = c.arrays
    bins = c.sizes["bins"]
    with c.items():
        with c.count(0, bins) as k:
            sums[k] = c.number(0, sums.kind)
        with c.count(0, c.sizes["size"]) as k:
            place = bin_of(c, numbers[k], bins)
            sums[place] = sums[place] + (weights[0][k].to(sums.dtype) if weights else 1)
        if sums.dtype != result.dtype:
            with c.count(0, bins) as k:
                result[k] = sums[k].to(result.dtype)
    c.finish()


def bin_of(c: Code, number: Num, bins: Num) -> Num:
    """A number within [0, bins) as int64; others are an error."""
    if number.kind.name == "uint64":
        c.fail(number >= bins.to(number.kind), INDEX_OUT_OF_RANGE)
    wide = number.to(int64)
    c.fail((wide < 0) | (wide >= bins), INDEX_OUT_OF_RANGE)
    return wide
