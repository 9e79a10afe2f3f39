"""Scan below 9: over a batch of sequences."""

from __future__ import annotations

from ge_core.ir.builder import Builder
from ge_core.ir.graph import Value
from ge_core.ir.types import TensorType

from ..call import Call
from ..ops.control import build_scan
from ..registry import Results, before


@before(9, "Scan")
def batched_scan(c: Call) -> Results:
    """Below 9 axis 0 of everything is the batch and axis 1 the sequence: a scan for each row of the batch."""
    c.only("body", "num_scan_inputs", "directions")
    if c.has(0):
        raise c.unsupported("sequences of different lengths (sequence_lens)")
    inputs = [c.input(i) for i in range(1, len(c.inputs))]
    c.attrs["scan_input_directions"] = c.attrs.pop("directions", (0,) * int(c.needed("num_scan_inputs")))

    def row(inner: Builder, *values: Value) -> list[Value]:
        return build_scan(c, inner, values)

    params = [(f"row{k}", TensorType(v.dtype, v.shape[1:])) for k, v in enumerate(inputs)]
    region = c.b.region(params, row)
    results = c.b.op("Scan", inputs, body=region, num_scan_inputs=len(inputs))
    return [results] if isinstance(results, Value) else list(results)
