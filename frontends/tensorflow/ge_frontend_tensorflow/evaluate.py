"""The elements of small tensors that depend on constants alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from ge_core.errors import GeError
from ge_core.ir.dims import Dim
from ge_core.ir.graph import Node, Value, source_of
from ge_core.ir.traverse import effect_of
from ge_core.ops.registry import KERNELS
from ge_core.reference.call import compute

_MAX_ELEMENTS = 1 << 16
_MAX_NODES = 64


def evaluate(x: Value) -> np.ndarray | None:
    """The elements of `x` where it is a constant or computed from constants by a few nodes, else None."""
    found = _known(x)
    if found is not None:
        return found
    nodes = _nodes_behind(x)
    if nodes is None:
        return None
    values: dict[Value, Any] = {}
    for node in nodes:
        inputs = [None if v is None else _value(v, values) for v in node.inputs]
        try:
            results = compute(node, inputs, {})
        except GeError:
            return None
        values.update(zip(node.outputs, results, strict=True))
    result: np.ndarray = values[source_of(x)]
    return result


def _known(x: Value) -> np.ndarray | None:
    """A constant's data, or elements that type inference knows."""
    x = source_of(x)
    if x.constant is not None:
        return x.constant.array()
    if x.content is not None and not any(isinstance(v, Dim) for v in x.content):
        return np.array(x.content, x.dtype.numpy).reshape((len(x.content),) if x.rank else ())
    return None


def _value(x: Value, values: dict[Value, Any]) -> Any:
    known = _known(x)
    return values[source_of(x)] if known is None else known


def _nodes_behind(x: Value) -> list[Node] | None:
    """The nodes that compute `x` from what is known, in order; None when they are many or not all is known."""
    order: list[Node] = []
    seen: set[Node] = set()
    stack: list[tuple[Value, bool]] = [(x, False)]
    while stack:
        value, leaving = stack.pop()
        value = source_of(value)
        node = value.producer
        if leaving:
            assert node is not None
            if node not in order:
                order.append(node)
            continue
        if _known(value) is not None or (node is not None and node in seen):
            continue
        if node is None or node.regions or effect_of(node) != "pure" or KERNELS.get(node.op) is None:
            return None
        if len(seen) >= _MAX_NODES or not _small(value):
            return None
        seen.add(node)
        stack.append((value, True))
        stack += [(v, False) for v in node.inputs if v is not None]
    return order


def _small(x: Value) -> bool:
    if x.tensor.shape is None or not x.tensor.is_static:
        return False
    elements = x.tensor.elements
    return isinstance(elements, int) and elements <= _MAX_ELEMENTS
