"""The family "serial.gates": biases of a recurrent layer that only the run knows, as its kernel reads them.

Operands: biases [directions, 2 * gates * hidden] unless there are none, result [directions, gates kept * padded];
sizes: hidden, padded. A work item is one gate of a direction. `gates` is their number, `kept` the ones in the result
(the last `kept`); `halves` says which halves of the biases are added: both, or with "inputs" that of the inputs alone
in the last gate, or with "hidden" the recurrent half alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import family
from ge_backend_cpu.serial.code import Code, split


@family("serial.gates")
def emit_gates(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    c = Code(module, symbol, parameters, isa)
    *biases, result = c.arrays
    gates, kept, halves = (parameters[name] for name in ("gates", "kept", "halves"))
    hidden, padded = c.sizes["hidden"], c.sizes["padded"]
    with c.items() as item:
        direction, number = split(c, item, c.integer(kept), c.integer(kept))
        gate = number + (gates - kept)
        with c.count(0, padded) as k:
            total = c.variable(0, result.kind)
            if biases:
                with c.when(k < hidden):
                    at = (direction * (2 * gates) + gate) * hidden + k
                    ours, other = (biases[0][at + half * gates * hidden].to(result.dtype) for half in range(2))
                    if halves == "inputs":
                        other = (gate < gates - 1).choose(other, 0)
                    total.value = other if halves == "hidden" else ours + other
            result[item * padded + k] = total.value
    c.finish()
