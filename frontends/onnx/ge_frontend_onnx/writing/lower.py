"""Brings a graph into what an opset can say: groups are dissolved, operators expanded, element types widened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnx import defs

from ge_core.errors import GeError, GraphError
from ge_core.ir.builder import Builder, replace_node
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Graph, Node, Region, Value, constant_of
from ge_core.ir.traverse import effect_of, walk
from ge_core.ir.types import TensorType
from ge_core.ops.registry import DECOMPOSITIONS
from ge_core.plugins.unsupported import Unsupported
from ge_core.reference.call import compute

from . import (  # noqa: F401  they register their lowerings
    bit_cast,
    bits,
    doubles,
    linear_algebra,
    movement,
    next_after,
    pool,
    quantise,
    random,
    reductions,
    resize,
    sampling,
    scans,
    scattered,
    search,
    shapes,
    signal,
)
from .forms import InexpressibleError, declared, form_of, type_name
from .lowerings import LOWERINGS
from .sizes import Sizes

_ROUNDS = 24

# Types that hold every number of another one, and in which its sums and products round or wrap alike once narrowed.
_WIDER = {
    "float16": ("float32",),
    "bfloat16": ("float32",),
    "int8": ("int32", "int64"),
    "int16": ("int32", "int64"),
    "uint8": ("int32", "uint32", "int64"),
    "uint16": ("int32", "uint32", "int64"),
    "int32": ("int64",),
    "uint32": ("int64", "uint64"),
    "bool": ("uint8", "int32"),
}


def lower(graph: Graph, opset: int) -> list[Unsupported]:
    """Rewrite a graph until the opset can say every node.

    Returns:
        One finding for each node that it cannot.
    """
    dissolve(graph)
    findings: list[Unsupported] = []
    for _ in range(_ROUNDS):
        wrong = _wrong(graph, opset)
        if not wrong:
            return []
        sizes = Sizes(graph)
        findings = []
        changed = False
        for node, reason in wrong:
            try:
                _rewrite(node, opset, sizes, reason)
                changed = True
            except (InexpressibleError, GeError) as error:
                text = str(error) if isinstance(error, InexpressibleError) else error.what
                findings.append(Unsupported(f"{node.op}: {text}", str(node.loc)))
        if not changed:
            return findings
    return findings or [Unsupported(f"{node.op}: {reason}", str(node.loc)) for node, reason in _wrong(graph, opset)]


def _wrong(graph: Graph, opset: int) -> list[tuple[Node, InexpressibleError]]:
    found = []
    for node in list(walk(graph)):
        try:
            form_of(node, opset)
        except InexpressibleError as reason:
            found.append((node, reason))
        except GraphError as error:  # a rank that the older form needs is not known
            found.append((node, InexpressibleError(error.what)))
    return found


def _rewrite(node: Node, opset: int, sizes: Sizes, reason: InexpressibleError) -> None:
    assert node.block is not None
    b = Builder(node.block, before=node, loc=node.loc)
    if reason.types:
        widened = _widened(b, node, opset, reason)
        if widened is not None:
            _replace(node, widened)
            return
    rule, decomposition = LOWERINGS.get(node.op), DECOMPOSITIONS.get(node.op)
    if rule is not None:
        _replace(node, rule(b, node, sizes))
    elif decomposition is not None:
        _replace(node, decomposition(b, node))
    else:
        _replace(node, _computed(b, node, reason))


def _computed(b: Builder, node: Node, reason: InexpressibleError) -> list[Value]:
    """The results of a node that reads nothing but constants, as constants."""
    constants = [constant_of(v) for v in node.inputs if v is not None]
    if not constants or any(c is None for c in constants) or node.regions or effect_of(node) != "pure":
        raise reason
    if not all(isinstance(v.type, TensorType) for v in node.outputs):
        raise reason
    arrays = [None if v is None else constant_of(v).array() for v in node.inputs]  # type: ignore[union-attr]
    return [b.constant(array) for array in compute(node, arrays, {})]


def _replace(node: Node, values: Sequence[Value]) -> None:
    """Put values in the place of a node's. They take its types, whose sizes later nodes may ask for."""
    for old, new in zip(node.outputs, values, strict=True):
        known = isinstance(old.type, TensorType) and old.type.shape is not None
        if new.producer is not None and known and isinstance(new.type, TensorType) and new.dtype == old.dtype:
            new.type = old.type
    replace_node(node, values)


def _widened(b: Builder, node: Node, opset: int, reason: InexpressibleError) -> list[Value] | None:
    """The node computed in wider element types and narrowed again; None when there are none that fit."""
    schema = declared(node.op, opset)
    assert schema is not None
    allowed = {c.type_param_str: set(c.allowed_type_strs) for c in schema.type_constraints}
    to: dict[str, DType] = {}
    for kind in reason.types:
        narrow = _type_of(node, schema, kind)
        names = [] if narrow is None else _WIDER.get(narrow.name, ())
        wide = next((DType.of(n) for n in names if type_name(DType.of(n)) in allowed.get(kind, ())), None)
        if wide is None:
            return None
        to[kind] = wide

    inputs: list[Value | None] = []
    for i, value in enumerate(node.inputs):
        # what was an attribute then has no element type there
        wide = to.get(_kind(schema.inputs, i))
        inputs.append(value if value is None or wide is None else b.Cast(value, to=wide))
    if node.regions:
        return None
    attrs: dict[str, Any] = dict(node.attrs)
    made = b.op(node.op, *inputs, num_outputs=len(node.outputs), **attrs)
    results = [made] if isinstance(made, Value) else list(made)
    if node.op in ("ReduceMax", "ReduceMin"):
        results = [_within(b, r, node.output.dtype) for r in results]
    pairs = zip(results, node.outputs, strict=True)
    return [r if r.dtype == old.dtype else b.Cast(r, to=old.dtype) for r, old in pairs]


def _within(b: Builder, x: Value, narrow: DType) -> Value:
    """The extreme of nothing is the end of a type's range: that of the narrow one."""
    if narrow.is_float:
        return x
    inside: Value = b.Min([b.Max([x, b.constant(narrow.min, x.dtype)]), b.constant(narrow.max, x.dtype)])
    return inside


def _kind(formal: Sequence[Any], index: int) -> str:
    """The type variable of an input or output, "" beyond those that are declared."""
    if index < len(formal):
        return str(formal[index].type_str)
    variadic = bool(formal) and formal[-1].option == defs.OpSchema.FormalParameterOption.Variadic
    return str(formal[-1].type_str) if variadic else ""


def _type_of(node: Node, schema: object, kind: str) -> DType | None:
    for formal, values in ((schema.inputs, node.inputs), (schema.outputs, node.outputs)):  # type: ignore[attr-defined]
        for i, value in enumerate(values):
            if value is not None and _kind(formal, i) == kind:
                return value.type.dtype if isinstance(value.type, TensorType) else None
    return None


def dissolve(graph: Graph) -> None:
    """Put the nodes of fusion groups where the groups stand, and leave out changes of storage."""
    for node in list(walk(graph)):
        if node.op == "ge.Relayout":
            value = node.inputs[0]
            assert value is not None
            replace_node(node, [value])
        elif node.op == "ge.Fused":
            _put_in_place(node)


def _put_in_place(group: Node) -> None:
    region, block = group.regions["body"], group.block
    assert isinstance(region, Region) and block is not None
    outer: dict[Value, Value] = {}
    for param, value in zip(region.params, group.inputs, strict=True):
        assert value is not None
        outer[param] = value
    outer |= {c.param: c.outer for c in region.captures}
    for param, value in outer.items():
        param.replace_uses(value)
    results = list(region.outputs)
    region.set_outputs(())
    for node in list(region.nodes):
        region.nodes.unlink(node)
        block.nodes.insert_before(group, node)
    replace_node(group, results)
