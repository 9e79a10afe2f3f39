"""Reference kernels as steps of a plan: arguments from the frame's slots, results into them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ge_core.errors import ExecutionError
from ge_core.ir.graph import Node, Region, Value
from ge_core.plan.frame import Frame, get, put
from ge_core.plan.plan import ExecutionPlan, HostStep, KernelStep
from ge_core.reference.call import RunRegion, compute, run_kernel
from ge_core.reference.interpret import run_block


def host_function(plan: ExecutionPlan, step: HostStep | KernelStep) -> Callable[[Frame], None]:
    """A function that runs a step's node by its reference kernel."""
    node = plan.node(step.node)
    count = len(node.inputs)
    inputs, outputs = step.inputs, step.outputs
    settled = all(plan.values[o].view and plan.buffers[plan.values[o].buffer].kind != "dynamic" for o in outputs)
    binds = any(
        v.content is not None and len(v.content) == 1 and not isinstance(v.content[0], int) for v in node.outputs
    )

    def run(frame: Frame) -> None:
        slots = frame.slots
        given = [get(slots[i]) if i >= 0 else None for i in inputs]
        runner = _region_runner(node, given[count:], frame.env) if node.regions else None
        arguments = given[:count]
        if settled and not binds:
            _store(node, run_kernel(node, arguments, frame.env, runner), [slots[o] for o in outputs], given)
            return
        results = compute(node, arguments, frame.env, runner)
        for o, result in zip(outputs, results, strict=True):
            slot = slots[o]
            if slot is not None and (plan.values[o].view or frame.layouts.kinds[o] == "dynamic"):
                _fill(node, slot, result)
            else:
                frame.take(o, result, shared=_shares(result, given))

    return run


def _store(node: Node, results: Sequence[Any], slots: Sequence[Any], given: Sequence[Any]) -> None:
    if len(results) > 1:
        # the first result may be written over an operand that the second one is a view of
        results = [np.array(r) if isinstance(r, np.ndarray) and r.base is not None else r for r in results]
    for slot, result in zip(slots, results, strict=True):
        _fill(node, slot, result)


def _fill(node: Node, slot: Any, result: Any) -> None:
    array = np.asarray(result)
    dtype = slot.codec.dtype.numpy if hasattr(slot, "codec") else slot.dtype
    if array.shape != slot.shape or array.dtype != dtype:
        raise ExecutionError(
            f"{node.op} gave {array.dtype}{list(array.shape)}", where=node.loc, expected=f"{dtype}{list(slot.shape)}"
        )
    put(slot, array)


def _shares(result: Any, given: Sequence[Any]) -> bool:
    """Whether a result may be, or look at, memory that changes later."""
    if not isinstance(result, np.ndarray):
        return True
    return result.base is not None or any(result is x for x in given)


def _region_runner(node: Node, captured: Sequence[Any], env: dict[str, int]) -> RunRegion:
    """Runs the node's regions by interpretation; `captured` are the captures' values, region after region."""
    values: dict[Value, Any] = {}
    at = 0
    for region in node.regions.values():
        for capture in region.captures:
            values[capture.param] = captured[at]
            at += 1

    def run_region(region: Region, params: Sequence[Any]) -> list[Any]:
        inner = dict(zip(region.params, params, strict=True))
        inner.update((c.param, values[c.param]) for c in region.captures)
        return run_block(region, inner, dict(env))

    return run_region
