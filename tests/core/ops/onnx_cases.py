"""ONNX's own operator cases, run through the interpreter; the shape rules are checked on the way.

    @pytest.mark.parametrize("case", cases("Conv", "ConvTranspose"))
    def test_onnx(case):
        check_case(case)

`check_case` runs a case three times: all inputs as graph inputs; small operands (axes, shapes, scalars) as
constants; and those with every size of the other inputs symbolic. Each time the interpreter compares the
shape that the type rule says, evaluated for the actual sizes, with the shape of the kernel's result.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from ge_core.ir import Builder, DType, Graph, OptionalType, SequenceType, TensorType, Value, symbol
from ge_core.ir.dims import Size, symbols
from ge_core.ir.types import Type
from ge_core.ops.schema import onnx_names, schema
from ge_core.reference.interpret import interpret

# Tolerances (rtol, atol) per element type; the expected values of the cases are numpy results of that type.
TOLERANCE: dict[str, tuple[float, float]] = {
    "float64": (1e-7, 1e-10),
    "float32": (1e-5, 1e-6),
    "float16": (1e-3, 1e-3),
    "bfloat16": (1e-2, 1e-2),
}


@dataclass(frozen=True)
class Case:
    """One case: a model with one node (or the expanded function body), its inputs and expected outputs."""

    name: str
    op: str
    model: onnx.ModelProto
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]


def _plain(value: Any) -> Any:
    """Arrays from what the cases hold: arrays, numpy scalars, TensorProtos, lists for sequences."""
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return None if value is None else np.asarray(value)


@lru_cache(maxsize=1)
def _all() -> tuple[Case, ...]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        loaded = load_model_tests(kind="node")
    out = []
    op = ""
    for t in loaded:
        # a case is followed by its expansions, which belong to the same operator
        if "_expanded" not in t.name:
            op = t.model.graph.node[0].op_type
        inputs, outputs = t.data_sets[0]
        out.append(Case(t.name.removeprefix("test_"), op, t.model, inputs, outputs))
    return tuple(out)


# Operators that mean something else with the same attributes before their newest version.
_CHANGED = frozenset({"DFT", "GroupNormalization", "Split"})


def _current(case: Case) -> bool:
    """Whether every node of the case means the same at the IR's opset."""
    versions = {o.domain: o.version for o in case.model.opset_import}
    if set(versions) - {"", "ai.onnx"}:
        return False
    opset = versions.get("", versions.get("ai.onnx", 0))
    return all(_same(node, opset) for node in case.model.graph.node)


def _same(node: onnx.NodeProto, opset: int) -> bool:
    if node.op_type not in onnx_names():
        return False
    declared = schema(node.op_type)
    if declared.since <= opset:
        return True
    return opset >= 13 and node.op_type not in _CHANGED and {a.name for a in node.attribute} <= set(declared.attributes)


def cases(*ops: str, expanded: bool = False) -> list[Any]:
    """pytest parameters: the cases of operators, or the cases of their expanded function bodies.

    Cases of older versions of an operator are left out. An operator without a case is an error (but not every
    operator has a body).
    """
    out = []
    for op in ops:
        found = [c for c in _all() if c.op == op and ("_expanded" in c.name) == expanded and _current(c)]
        if not found and not expanded:
            raise ValueError(f"onnx has no case of {op}")
        out += [pytest.param(c, id=c.name) for c in found]
    return out


def ir_type(proto: onnx.TypeProto) -> Type:
    """The IR's type of an ONNX type; named dims become symbols."""
    if proto.HasField("sequence_type"):
        element = ir_type(proto.sequence_type.elem_type)
        assert not isinstance(element, SequenceType)
        return SequenceType(element)
    if proto.HasField("optional_type"):
        inner = ir_type(proto.optional_type.elem_type)
        assert not isinstance(inner, OptionalType)
        return OptionalType(inner)
    tensor = proto.tensor_type
    shape: tuple[Size, ...] | None = None
    if tensor.HasField("shape"):
        shape = tuple(
            d.dim_value if d.HasField("dim_value") else symbol(d.dim_param or f"_{i}")
            for i, d in enumerate(tensor.shape.dim)
        )
    return TensorType(DType.of_onnx(tensor.elem_type), shape)


def _attributes(node: onnx.NodeProto, values: dict[str, Value | None]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    declared = schema(node.op_type).attributes
    for a in node.attribute:
        value = helper.get_attribute_value(a)
        if a.type == onnx.AttributeProto.GRAPH:
            out[a.name] = _region(value, values)
        elif isinstance(value, onnx.TensorProto):
            out[a.name] = numpy_helper.to_array(value)
        elif isinstance(value, bytes):
            out[a.name] = value.decode()
        elif a.type == onnx.AttributeProto.STRINGS:
            out[a.name] = [v.decode() for v in value]
        elif declared[a.name].type == "dtype" and value == 0:
            continue
        else:
            out[a.name] = value
    if node.op_type == "Split":
        out.pop("num_outputs", None)  # in the IR the outputs themselves say how many
    return out


def _region(graph: onnx.GraphProto, values: dict[str, Value | None]) -> Any:
    def body(b: Builder, *params: Value) -> list[Value]:
        inner = {**values, **dict(zip([i.name for i in graph.input], params, strict=True))}
        return _convert(b, graph, inner)

    return body


def _convert(b: Builder, graph: onnx.GraphProto, values: dict[str, Value | None]) -> list[Value]:
    """Append the nodes of an ONNX graph; returns its outputs."""
    for tensor in graph.initializer:
        values[tensor.name] = b.constant(numpy_helper.to_array(tensor))
    for node in graph.node:
        if node.op_type == "Constant":
            values[node.output[0]] = b.constant(_constant(node))
            continue
        operands = [values[name] if name else None for name in node.input]
        count = max((i + 1 for i, name in enumerate(node.output) if name), default=0)
        result = b.op(node.op_type, *operands, num_outputs=count, **_attributes(node, values))
        results = result if isinstance(result, tuple) else (result,)
        values.update({name: v for name, v in zip(node.output, results, strict=False) if name})
    out = [values[o.name] for o in graph.output]
    assert all(v is not None for v in out)
    return out  # type: ignore[return-value]


def _constant(node: onnx.NodeProto) -> np.ndarray:
    (a,) = node.attribute
    value = helper.get_attribute_value(a)
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    return np.array(value, np.float32 if a.name.startswith("value_float") else np.int64)


def _is_operand(index: int, array: Any) -> bool:
    """Whether an input is a small operand, such as axes, a shape, or a scalar."""
    if not isinstance(array, np.ndarray) or array.ndim > 1 or array.size > 64:
        return False
    return index > 0 or array.ndim == 0 or array.dtype.kind in "iu"


def build(case: Case, *, constants: bool = False, symbolic: Sequence[int] = ()) -> tuple[Graph, list[Any]]:
    """The graph of a case and the arrays for its inputs.

    Args:
        constants: small operands become constants.
        symbolic: inputs whose sizes over 1 become symbols; equal sizes get the same symbol.
    """
    graph = Graph(case.name)
    b = Builder(graph)
    values: dict[str, Value | None] = {}
    arrays = []
    initial = {t.name for t in case.model.graph.initializer}
    formal = [i for i in case.model.graph.input if i.name not in initial]
    for index, (info, raw) in enumerate(zip(formal, case.inputs, strict=True)):
        array = _plain(raw)
        if constants and _is_operand(index, array):
            values[info.name] = b.constant(array)
            continue
        type = ir_type(info.type)
        if index in symbolic and isinstance(type, TensorType) and isinstance(array, np.ndarray):
            shape = tuple(symbol(f"d{n}", 2) if n > 1 else n for n in array.shape)
            type = replace(type, shape=shape)
        values[info.name] = graph.add_param(info.name, type)
        arrays.append(array)
    b.outputs(*_convert(b, case.model.graph, values))
    return graph, arrays


def check_case(
    case: Case,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    symbolic: Sequence[int] | None = None,
    data_dependent: bool = False,
) -> None:
    """Run a case in its three forms and compare results, element types and shapes.

    Args:
        rtol, atol: instead of `TOLERANCE`.
        symbolic: the inputs whose sizes become symbols in the third form; by default all, `()` leaves it out.
        data_dependent: output sizes may depend on the data; otherwise the rule must know each size in the
            second form as a number and in the third by the inputs' symbols.
    """
    graph, arrays = build(case)
    compare(case, interpret(graph, arrays)[0], rtol, atol)
    graph, arrays = build(case, constants=True)
    if not data_dependent:
        for value in graph.outputs:
            assert not isinstance(value.type, TensorType) or value.type.is_static, f"{value!r} is not static"
    compare(case, interpret(graph, arrays)[0], rtol, atol)
    inputs = range(len(case.inputs)) if symbolic is None else symbolic
    if not inputs or "_expanded" in case.name:
        return
    graph, arrays = build(case, constants=True, symbolic=inputs)
    if not data_dependent:
        check_symbols(graph)
    compare(case, interpret(graph, arrays)[0], rtol, atol)


def check_symbols(graph: Graph) -> None:
    """Assert that the sizes of all outputs are known by the symbols of the graph's inputs."""
    known = {s for v in graph.inputs if isinstance(v.type, TensorType) for d in v.shape for s in symbols(d)}
    for value in graph.outputs:
        if isinstance(value.type, TensorType):
            new = {s for d in value.shape for s in symbols(d)} - known
            assert not new, f"{value!r} has sizes that no input names"


def compare(case: Case, got: Sequence[Any], rtol: float | None = None, atol: float | None = None) -> None:
    """Assert that outputs equal the case's: element type, shape, values."""
    assert len(got) == len(case.outputs)
    for actual, raw in zip(got, case.outputs, strict=True):
        _compare(actual, _plain(raw), rtol, atol)


def _compare(actual: Any, expected: Any, rtol: float | None, atol: float | None) -> None:
    if isinstance(expected, list):
        assert len(actual) == len(expected)
        for a, e in zip(actual, expected, strict=True):
            _compare(a, e, rtol, atol)
        return
    if expected is None:
        assert actual is None
        return
    assert_close(actual, expected, rtol, atol)


def assert_close(
    actual: np.ndarray, expected: np.ndarray, rtol: float | None = None, atol: float | None = None
) -> None:
    """Assert equal element types and shapes, and values equal within the type's tolerance (NaN equals NaN)."""
    dtype = DType.of(expected.dtype)
    assert DType.of(actual.dtype) == dtype
    assert actual.shape == expected.shape
    if dtype.name in TOLERANCE:
        default_rtol, default_atol = TOLERANCE[dtype.name]
        rtol = default_rtol if rtol is None else rtol
        atol = default_atol if atol is None else atol
        np.testing.assert_allclose(actual.astype(np.float64), expected.astype(np.float64), rtol, atol)
    elif dtype.is_float:
        np.testing.assert_array_equal(actual.astype(np.float32), expected.astype(np.float32))
    elif dtype.kind == "complex":
        np.testing.assert_allclose(actual, expected, rtol=rtol or 1e-5, atol=atol or 1e-6)
    elif dtype.is_integer and dtype.bits < 8:
        np.testing.assert_array_equal(actual.astype(np.int8), expected.astype(np.int8))
    else:
        np.testing.assert_array_equal(actual, expected)
