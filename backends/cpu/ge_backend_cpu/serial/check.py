"""The family "serial.check": an error unless every element is true. Operand: the elements; one work item."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import CHECK_FAILED, family
from ge_backend_cpu.serial.code import Code


@family("serial.check")
def emit_check(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    c = Code(module, symbol, parameters, isa)
    (holds,) = c.arrays
    with c.items(), c.count(0, c.sizes["size"]) as k:
        c.fail(~holds[k], CHECK_FAILED)
    c.finish()
