"""Reference kernels of If, Loop, Scan and ge.Fused: regions are run by the caller's runner."""

from __future__ import annotations

from typing import Any

import numpy as np

from ge_core.ir import dims
from ge_core.ir.types import TensorType
from ge_core.ops.control import scan_counts
from ge_core.ops.registry import kernel
from ge_core.reference.call import Call


@kernel("If")
def if_(call: Call, cond: np.ndarray) -> tuple[Any, ...]:
    return tuple(call.run("then_branch" if cond.reshape(()) else "else_branch"))


@kernel("ge.Fused")
def fused(call: Call, *inputs: Any) -> tuple[Any, ...]:
    return tuple(call.run("body", *inputs))


def _collect(call: Call, index: int, elements: list[Any], axis: int = 0) -> np.ndarray:
    """One scan output: the elements stacked along a new axis; without any, the declared sizes around a 0.

    A declared size that no run has determined is 0 then.
    """
    if elements:
        return np.stack([np.asarray(e) for e in elements], axis=axis)
    type = call.node.outputs[index].type
    assert isinstance(type, TensorType)
    shape = [call.size(s) if all(x.name in call.env for x in dims.symbols(s)) else 0 for s in type.shape or (0,)]
    shape[axis] = 0
    return np.zeros(shape, type.dtype.numpy)


@kernel("Loop")
def loop(call: Call, limit: np.ndarray | None, cond: np.ndarray | None, *carried: Any) -> tuple[Any, ...]:
    # without an initial condition the body's counts all the same, as in ONNX's reference and ONNX Runtime
    trips = None if limit is None else int(limit.reshape(()))
    go_on = cond is None or bool(cond.reshape(()))
    states = list(carried)
    collected: list[list[Any]] = [[] for _ in range(call.num_outputs - len(states))]
    i = 0
    while go_on and (trips is None or i < trips):
        again, *results = call.run("body", np.array(i, np.int64), np.array(go_on), *states)
        go_on = bool(np.asarray(again).reshape(()))
        states = results[: len(states)]
        for elements, value in zip(collected, results[len(states) :], strict=True):
            elements.append(value)
        i += 1
    return (*states, *(_collect(call, len(states) + k, e) for k, e in enumerate(collected)))


@kernel("Scan")
def scan(call: Call, *inputs: Any) -> tuple[Any, ...]:
    count, scanned = scan_counts(call.node)
    states, sources = list(inputs[:count]), inputs[count:]
    outputs = call.num_outputs - count
    axes = call.attr("scan_input_axes", (0,) * scanned)
    backwards = call.attr("scan_input_directions", (0,) * scanned)
    lines = [np.moveaxis(x, axis, 0) for x, axis in zip(sources, axes, strict=True)]
    lines = [x[::-1] if back else x for x, back in zip(lines, backwards, strict=True)]
    lengths = {len(x) for x in lines}
    if len(lengths) != 1:
        raise ValueError(f"scanned inputs have different lengths: {sorted(lengths)}")
    collected: list[list[Any]] = [[] for _ in range(outputs)]
    for t in range(lengths.pop()):
        results = call.run("body", *states, *(x[t] for x in lines))
        states = results[:count]
        for elements, value in zip(collected, results[count:], strict=True):
            elements.append(value)
    out_axes = call.attr("scan_output_axes", (0,) * outputs)
    out_backwards = call.attr("scan_output_directions", (0,) * outputs)
    stacked = [
        _collect(call, count + k, elements[::-1] if out_backwards[k] else elements, out_axes[k])
        for k, elements in enumerate(collected)
    ]
    return (*states, *stacked)
