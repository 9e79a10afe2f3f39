"""A plain interpreter: node by node, every value its own array. The oracle of plans and passes, not a target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ge_core.errors import InputError
from ge_core.ir.graph import Block, Graph, Region, Value
from ge_core.ir.types import TensorType
from ge_core.reference.call import bind_shape, compute


def interpret(
    graph: Graph, inputs: Sequence[Any], states: Mapping[str, np.ndarray] | None = None
) -> tuple[list[Any], dict[str, np.ndarray]]:
    """Run a graph on arrays.

    Args:
        inputs: one array for each graph input (a list for a sequence), of the declared dtypes and fitting shapes.
        states: values of the states by name; the initial ones where missing.

    Returns:
        The outputs in order, and the states after the call.

    Raises:
        InputError: number, dtype or shape of the inputs do not fit.
        ExecutionError: a kernel reported a status.
    """
    if len(inputs) != len(graph.inputs):
        raise InputError(f"{len(inputs)} inputs given, the graph has {len(graph.inputs)}")
    env: dict[str, int] = {}
    values: dict[Value, Any] = {}
    for param, given in zip(graph.inputs, inputs, strict=True):
        if isinstance(param.type, TensorType):
            array = np.asarray(given)
            if array.dtype != param.dtype.numpy:
                raise InputError(f"input {param.name} is {array.dtype}, expected {param.dtype}")
            if param.type.shape is not None:
                bind_shape(param.type.shape, array.shape, env, f"input {param.name}", param.name)
            given = array
        values[param] = given
    for state in graph.states:
        values[state.read] = (states or {}).get(state.name, state.initial.array())
    outputs = run_block(graph, values, env)
    after = {s.name: values[s.read if s.write is None else s.write] for s in graph.states}
    return outputs, after


def run_block(block: Block, values: dict[Value, Any], env: dict[str, int]) -> list[Any]:
    """Run the nodes of a block and return its outputs.

    Args:
        values: what its params, captures, inputs and states are; results are added.
        env: symbol values; sizes that nodes define are added.
    """

    def read(value: Value | None) -> Any:
        if value is None:
            return None
        return value.constant.array() if value.constant is not None else values[value]

    def run_region(region: Region, params: Sequence[Any]) -> list[Any]:
        inner: dict[Value, Any] = dict(zip(region.params, params, strict=True))
        for c in region.captures:
            inner[c.param] = read(c.outer)
        # symbols defined by a region's params or inside it are new in every run of it
        its_env = dict(env)
        for param, given in zip(region.params, params, strict=True):
            if isinstance(param.type, TensorType) and param.type.shape is not None:
                what = f"%{param.name} of {region.node!r}"
                bind_shape(param.type.shape, given.shape, its_env, what, str(region.node and region.node.loc))
        return run_block(region, inner, its_env)

    for node in block.nodes:
        results = compute(node, [read(v) for v in node.inputs], env, run_region)
        values.update(zip(node.outputs, results, strict=True))
    return [read(v) for v in block.outputs]
