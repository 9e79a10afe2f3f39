"""Type rules of sequences and optionals.

Where a sequence's making is visible (SequenceConstruct, SequenceInsert, ... with known positions), the types of its
elements and its length are known one by one; else all share the sequence's element type.
"""

from __future__ import annotations

from collections.abc import Sequence

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType, boolean, int64
from ge_core.ir.graph import Node, Value, source_of
from ge_core.ir.parser import parse_type
from ge_core.ir.types import OptionalType, SequenceType, TensorType, Type
from ge_core.ops.infer import Infer
from ge_core.ops.registry import type_rule
from ge_core.ops.schema import schema

_LONGEST = 1024


def elements_of(value: Value) -> list[TensorType] | None:
    """The type of each element of a sequence, None when its making is not visible."""
    source = source_of(value)
    node = source.producer
    if node is None:
        return None
    if node.op == "SequenceEmpty":
        return []
    if node.op == "SequenceConstruct":
        return [v.tensor for v in node.inputs if v is not None]
    if node.op == "SplitToSequence":
        return split_elements(node)
    if node.op not in ("SequenceInsert", "SequenceErase"):
        return None
    first = node.input(0)
    made = None if first is None else elements_of(first)
    if made is None or first is None:
        return None
    insert = node.op == "SequenceInsert"
    position = node.input(2 if insert else 1)
    at: Size | None = len(made) if insert else -1
    if position is not None:
        at = position.content[0] if position.content else None
    if not isinstance(at, int):
        return None
    at = at + len(made) if at < 0 else at
    if not 0 <= at <= len(made) - (not insert):
        return None
    if not insert:
        return made[:at] + made[at + 1 :]
    added = node.input(1)
    assert added is not None
    return [*made[:at], added.tensor, *made[at:]]


def split_elements(node: Node) -> list[TensorType] | None:
    """The types of the parts of a SplitToSequence, None when their number is not known."""
    data, split = node.input(0), node.input(1)
    if data is None or data.tensor.shape is None or not data.tensor.shape:
        return None
    shape, dtype = data.tensor.shape, data.tensor.dtype
    defaults = schema(node.op).attributes
    axis, keep = node.attrs.get("axis", 0), node.attrs.get("keepdims", defaults["keepdims"].default)
    assert isinstance(axis, int)
    axis %= len(shape)
    total = shape[axis]
    parts: list[Size]
    if split is not None and split.content is None:
        return None
    if split is not None and split.content is not None and split.rank == 1:
        parts = list(split.content)
    else:
        step = split.content[0] if split is not None and split.content is not None else 1
        if not isinstance(total, int) or not isinstance(step, int) or step < 1 or total > step * _LONGEST:
            return None
        parts = [min(step, total - start) for start in range(0, total, step)]
    if split is None and not keep:
        return [TensorType(dtype, (*shape[:axis], *shape[axis + 1 :])) for _ in parts]
    return [TensorType(dtype, (*shape[:axis], p, *shape[axis + 1 :])) for p in parts]


def _total(sizes: Sequence[Size]) -> Size:
    total: Size = 0
    for size in sizes:
        total = total + size
    return total


def _shared(c: Infer, types: Sequence[TensorType]) -> TensorType:
    """One type for all elements: unknown rank where shapes differ."""
    if any(t.dtype != types[0].dtype for t in types):
        raise c.error(f"elements have different types: {', '.join(str(t.dtype) for t in types)}")
    return types[0] if all(t == types[0] for t in types) else TensorType(types[0].dtype, None)


@type_rule("SequenceEmpty")
def sequence_empty(c: Infer) -> Type:
    return SequenceType(TensorType(c.attr("dtype") or DType.of("float32"), None))


@type_rule("SequenceConstruct")
def sequence_construct(c: Infer) -> Type:
    return SequenceType(_shared(c, [c.tensor(i) for i in range(c.num_inputs)]))


@type_rule("SequenceInsert")
def sequence_insert(c: Infer) -> Type:
    element, added = c.sequence(0).element, c.tensor(1)
    if not isinstance(element, TensorType):
        raise c.error(f"the sequence holds {element}, not tensors")
    made = elements_of(c.value(0))
    return SequenceType(added if made == [] and element.dtype == added.dtype else _shared(c, [element, added]))


@type_rule("SequenceErase")
def sequence_erase(c: Infer) -> Type:
    return c.sequence(0)


@type_rule("SequenceLength")
def sequence_length(c: Infer) -> Type:
    c.sequence(0)
    made = elements_of(c.value(0))
    if made is not None:
        c.set_content(0, (len(made),))
    return TensorType(int64, ())


@type_rule("SequenceAt")
def sequence_at(c: Infer) -> Type:
    element, made, position = c.sequence(0).element, elements_of(c.value(0)), c.content(1)
    if not isinstance(element, TensorType):
        return element
    if made and position is not None and isinstance(position[0], int):
        at = position[0]
        if not -len(made) <= at < len(made):
            raise c.error(f"position {at} in a sequence of {len(made)}")
        return made[at]
    ranks = {t.rank for t in made or ()}
    if not made or len(ranks) != 1 or None in ranks:
        return element
    shape = [
        sizes[0] if all(s == sizes[0] for s in sizes) else c.data_dim(0, axis)
        for axis, sizes in enumerate(zip(*(t.shape or () for t in made), strict=True))
    ]
    return TensorType(element.dtype, tuple(shape))


@type_rule("SplitToSequence")
def split_to_sequence(c: Infer) -> Type:
    shape = c.shape(0)
    if not shape:
        raise c.error("a scalar cannot be split")
    axis = c.axis("axis", len(shape))
    made = split_elements(c.node)
    if made:
        given = c.content(1)
        if given is not None and c.rank(1) == 1:
            total = _total(given)
            c.merge(total, shape[axis], "the sum of the parts and the size of the axis")
        return SequenceType(_shared(c, made))
    if c.has(1):
        return SequenceType(TensorType(c.dtype(0), None))
    rest = (*shape[:axis], 1, *shape[axis + 1 :]) if c.attr("keepdims") else (*shape[:axis], *shape[axis + 1 :])
    return SequenceType(TensorType(c.dtype(0), rest))


@type_rule("ConcatFromSequence")
def concat_from_sequence(c: Infer) -> Type:
    element, made = c.sequence(0).element, elements_of(c.value(0))
    if not isinstance(element, TensorType):
        raise c.error(f"the sequence holds {element}, not tensors")
    new_axis = bool(c.attr("new_axis"))
    types = made or [element]
    if any(t.shape is None or t.rank != types[0].rank for t in types):
        return TensorType(element.dtype, None)
    shapes = [t.shape or () for t in types]
    axis = c.axis("axis", len(shapes[0]) + new_axis)
    if not new_axis and not shapes[0]:
        raise c.error("scalars need new_axis")
    joined = list(shapes[0])
    for shape in shapes[1:]:
        for i, size in enumerate(shape):
            if new_axis or i != axis:
                joined[i] = c.merge(joined[i], size, "sizes of elements")
    if new_axis:
        count = c.data_dim(0, axis) if made is None else len(made)
        return TensorType(element.dtype, (*joined[:axis], count, *joined[axis:]))
    joined[axis] = c.data_dim(0, axis) if made is None else _total([s[axis] for s in shapes])
    return TensorType(element.dtype, tuple(joined))


@type_rule("SequenceMap")
def sequence_map(c: Infer) -> list[Type]:
    region = c.region("body")
    if len(region.params) != c.num_inputs:
        raise c.error(f"the body takes {len(region.params)} values, {c.num_inputs} are given")
    c.sequence(0)
    known = {s for v in c.node.inputs if v is not None and isinstance(v.type, TensorType) for s in _symbols(v)}
    known |= {s for capture in region.captures for s in _symbols(capture.outer)}
    out: list[Type] = []
    for value in region.outputs:
        t = value.tensor
        fixed = t.shape is not None and all(set(dims.symbols(s)) <= known for s in t.shape)
        out.append(SequenceType(t if fixed else TensorType(t.dtype, None)))
    return out


def _symbols(value: Value) -> frozenset[dims.Symbol]:
    shape = value.type.shape if isinstance(value.type, TensorType) else None
    return frozenset(s for d in shape or () for s in dims.symbols(d))


@type_rule("Optional")
def optional(c: Infer) -> Type:
    if c.has(0):
        element = c.type(0)
    elif c.attr("type") is not None:
        element = parse_type(str(c.attr("type")))
    else:
        raise c.error("an optional without a value needs the attribute type")
    if isinstance(element, OptionalType):
        raise c.error("an optional of an optional")
    return OptionalType(element)


@type_rule("OptionalHasElement")
def optional_has_element(c: Infer) -> Type:
    return TensorType(boolean, ())


@type_rule("OptionalGetElement")
def optional_get_element(c: Infer) -> Type:
    given = c.type(0)
    return given.element if isinstance(given, OptionalType) else given
