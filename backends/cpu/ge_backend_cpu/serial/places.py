"""Kernels that go along a mask: the numbers of its true elements, and what replaces the elements there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import INDEX_OUT_OF_RANGE, SIZE_OUT_OF_BOUND, family
from ge_backend_cpu.serial.code import Code


@family("serial.places")
def emit_places(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """One work item: every element is written at the end of the list, which grows only behind a true one."""
    c = Code(module, symbol, parameters, isa)
    mask, places = c.arrays
    size, count = c.sizes["size"], c.sizes["count"]
    found = c.variable(0)
    with c.items(), c.count(0, size) as k, c.when(mask[k]):
        c.fail(found.value >= count, SIZE_OUT_OF_BOUND)
        places[found.value] = k
        found.value = found.value + 1
    c.fail(found.value.differs(count), SIZE_OUT_OF_BOUND)
    c.finish()


@family("serial.masked_scatter")
def emit_masked_scatter(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Where the mask holds the next element of the source, elsewhere that of the data.

    Operands: data, mask, source, result; sizes: elements, elements of the source.
    """
    c = Code(module, symbol, parameters, isa)
    data, mask, source, result = c.arrays
    taken = c.variable(0)
    with c.items(), c.count(0, c.sizes["size"]) as k:
        result[k] = data[k]
        with c.when(mask[k]):
            c.fail(taken.value >= c.sizes["room"], INDEX_OUT_OF_RANGE)
            result[k] = source[taken.value]
            taken.value = taken.value + 1
    c.finish()
