"""Graphs of one node: run one on arrays, or check its shape rule on symbolic sizes for several bindings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes  # noqa: F401  numpy knows bfloat16 by name once it is imported
import numpy as np

from ge_core.ir import Builder, DType, Graph, Value, symbol
from ge_core.ir.verifier import verify
from ge_core.reference.interpret import interpret
from tests.core.ops.onnx_cases import check_symbols


def run_node(op: str, *inputs: Any, num_outputs: int | None = None, **attrs: Any) -> Any:
    """The outputs of an operator on arrays (None for an omitted input): one array, or a list of them."""
    graph = Graph()
    b = Builder(graph)
    arrays = [None if x is None else np.asarray(x) for x in inputs]
    values = [None if a is None else b.input(f"x{i}", DType.of(a.dtype), a.shape) for i, a in enumerate(arrays)]
    result = b.op(op, *values, num_outputs=num_outputs, **attrs)
    b.outputs(*(result if isinstance(result, tuple) else (result,)))
    verify(graph)
    outputs, _ = interpret(graph, [a for a in arrays if a is not None])
    return outputs if isinstance(result, tuple) else outputs[0]


@dataclass(frozen=True)
class Rule:
    """A node whose shape rule is checked.

    Attributes:
        inputs: a shape of numbers and names for a tensor of ones and small numbers; an array for a constant.
        dtypes: element types of the tensors by position, float32 otherwise.
        below: by position, the bound that keeps the elements of an index tensor in range.
    """

    op: str
    inputs: Sequence[Any]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    dtypes: Mapping[int, str] = field(default_factory=dict)
    below: Mapping[int, int] = field(default_factory=dict)
    num_outputs: int | None = None
    data_dependent: bool = False

    def __str__(self) -> str:
        return self.op


BINDINGS: Sequence[Mapping[str, int]] = ({"a": 2, "b": 3}, {"a": 5, "b": 4}, {"a": 1, "b": 7}, {"a": 8, "b": 1})


def check_rule(rule: Rule, bindings: Sequence[Mapping[str, int]] = BINDINGS) -> None:
    """Infer a node with symbolic sizes once; for each binding run it and compare all shapes with the rule's.

    The interpreter makes the comparison for every output; here it is made sure that the rule gives sizes by the
    inputs' symbols (unless only the data decide).
    """
    graph = Graph()
    b = Builder(graph)
    operands: list[Value | None] = []
    for i, given in enumerate(rule.inputs):
        if isinstance(given, tuple):
            shape = tuple(symbol(n, 1) if isinstance(n, str) else n for n in given)
            operands.append(b.input(f"x{i}", DType.of(rule.dtypes.get(i, "float32")), shape))
        else:
            operands.append(None if given is None else b.constant(given))
    result = b.op(rule.op, *operands, num_outputs=rule.num_outputs, **rule.attrs)
    outputs = result if isinstance(result, tuple) else (result,)
    b.outputs(*outputs)
    verify(graph)
    if not rule.data_dependent:
        check_symbols(graph)
    rng = np.random.default_rng(0)
    for binding in bindings:
        arrays = []
        for i, given in enumerate(rule.inputs):
            if isinstance(given, tuple):
                sizes = [binding[n] if isinstance(n, str) else n for n in given]
                dtype = DType.of(rule.dtypes.get(i, "float32"))
                top = rule.below.get(i, 2 if dtype.kind == "bool" else 5)
                arrays.append(np.asarray(rng.integers(0, top, sizes)).astype(dtype.numpy))
        results, _ = interpret(graph, arrays)
        for value, array in zip(outputs, results, strict=True):
            assert len(value.shape) == array.ndim
