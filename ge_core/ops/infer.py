"""Type inference of one node: what a type rule sees and says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ge_core.errors import GeError, TypeRuleError
from ge_core.ir import dims
from ge_core.ir.constant import MAX_CONTENT, Content
from ge_core.ir.dims import Dim, Size, Symbol
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Node, Region, Value, constant_of
from ge_core.ir.types import SequenceType, Shape, TensorType, Type
from ge_core.ops.dtypes import check_dtypes
from ge_core.ops.registry import TYPE_RULES
from ge_core.ops.schema import schema


class Infer:
    """A node as its type rule sees it. Inputs are by position; omitted ones are None.

    A rule returns the output types (one, or one for each output that the node has). It may also call
    `set_content` for small integer results whose elements are known.

    Attributes:
        required: pairs of sizes that must be equal in every call, though nothing says so.
    """

    def __init__(self, node: Node, num_outputs: int) -> None:
        self.node, self.schema, self.num_outputs = node, schema(node.op), num_outputs
        self.contents: dict[int, Content] = {}
        self.required: list[tuple[Size, Size]] = []

    @property
    def num_inputs(self) -> int:
        return len(self.node.inputs)

    def has(self, index: int) -> bool:
        """Whether input `index` is given."""
        return self.node.input(index) is not None

    def value(self, index: int) -> Value:
        v = self.node.input(index)
        if v is None:
            raise self.error(f"input {self.schema.input(index).name} is missing")
        return v

    def type(self, index: int) -> Type:
        return self.value(index).type

    def tensor(self, index: int) -> TensorType:
        value = self.node.input(index)
        t = self.type(index) if value is None else value.type
        if not isinstance(t, TensorType):
            raise self.error(f"input {self.schema.input(index).name} is {t}, expected a tensor")
        return t

    def sequence(self, index: int) -> SequenceType:
        t = self.type(index)
        if not isinstance(t, SequenceType):
            raise self.error(f"input {self.schema.input(index).name} is {t}, expected a sequence")
        return t

    def dtype(self, index: int) -> DType:
        return self.tensor(index).dtype

    def shape(self, index: int) -> Shape:
        """The shape of an input whose rank is known."""
        shape = self.tensor(index).shape
        if shape is None:
            raise UnknownRank
        return shape

    def rank(self, index: int) -> int:
        return len(self.shape(index))

    def attr(self, name: str, default: Any = None) -> Any:
        """An attribute, else the schema's default, else `default`."""
        if name in self.node.attrs:
            return self.node.attrs[name]
        declared = self.schema.attributes.get(name)
        if declared is None:
            raise self.error(f"no attribute {name}")
        if declared.required:
            raise self.error(f"attribute {name} is missing")
        return default if declared.default is None else declared.default

    def axis(self, name: str, rank: int, default: int | None = None) -> int:
        """An axis attribute made non-negative and checked against `rank`."""
        return self.normal_axis(self.attr(name, default), rank)

    def normal_axis(self, axis: int, rank: int) -> int:
        if not -max(rank, 1) <= axis < max(rank, 1):
            raise self.error(f"axis {axis} is out of range for rank {rank}")
        return axis + rank if axis < 0 else axis

    def region(self, name: str) -> Region:
        if name not in self.node.regions:
            raise self.error(f"region {name} is missing")
        return self.node.regions[name]

    def content(self, index: int) -> Content | None:
        """The known elements of a small integer input (row-major), else None."""
        v = self.node.input(index)
        return None if v is None else v.content

    def constant(self, index: int) -> np.ndarray | None:
        """The data of a constant input, else None: also where they are absent, or too many to be read from a file."""
        c = constant_of(self.node.input(index))
        return None if c is None else c.known()

    def set_content(self, index: int, elements: Sequence[Size]) -> None:
        """Say what the elements of an integer output of rank 0 or 1 are."""
        if len(elements) <= MAX_CONTENT:
            self.contents[index] = tuple(elements)

    def data_dim(self, output: int, axis: int, lo: int = 0, hi: Size | None = None, hint: str = "u") -> Size:
        """A size that only the data decide: a symbol, the same one each time this node is inferred."""
        if output < len(self.node.outputs):
            old = self.node.outputs[output].type
            if isinstance(old, TensorType) and old.shape is not None and axis < len(old.shape):
                size = old.shape[axis]
                if isinstance(size, Dim):
                    return size
        return self._fresh(lo, hi, hint)

    def data_content(self, output: int, lo: int = 0, hi: int | None = None, hint: str = "u") -> Size:
        """Like `data_dim` for a scalar output whose value becomes a size."""
        if output < len(self.node.outputs):
            old = self.node.outputs[output].content
            if old is not None and len(old) == 1:
                return old[0]
        return self._fresh(lo, hi, hint)

    def _fresh(self, lo: int, hi: Size | None, hint: str) -> Size:
        block = self.node.block
        if block is None:
            raise self.error("a data-dependent size needs a node that stands in a graph")
        top = None if hi is None else dims.bounds(hi)[1]
        s: Symbol = block.graph.fresh_symbol(hint, lo, top)
        return dims.symbol(s.name, s.lo, s.hi)

    def same_dtype(self, *indices: int) -> DType:
        """The common element type of the given inputs that are present."""
        found = {self.dtype(i) for i in indices if self.has(i)}
        if len(found) != 1:
            raise self.error(f"inputs must have one element type, got {', '.join(sorted(map(str, found)))}")
        return found.pop()

    def broadcast(self, *shapes: Shape, data_may_be_one: bool = False) -> Shape:
        """numpy's broadcast of shapes. Equal symbols match; a symbol against 1 gives the symbol.

        Two different symbolic sizes, or a symbol and an int over 1, must be equal at run time: the int, or the
        size of the first shape, is the result (a symbol whose bounds allow 1 is taken as not broadcast). With
        `data_may_be_one` a size that only the data decide may also be 1; then the other one is the result.
        """
        rank = max(map(len, shapes), default=0)
        out: list[Size] = []
        for axis in range(rank):
            size: Size = 1
            for shape in shapes:
                at = axis - rank + len(shape)
                if at < 0:
                    continue
                other = shape[at]
                if other == 1 or other == size:
                    continue
                if size == 1:
                    size = other
                elif data_may_be_one and self._may_be_one(other):
                    self._require_equal_or_one(other, size)
                elif data_may_be_one and self._may_be_one(size):
                    self._require_equal_or_one(size, other)
                    size = other
                elif isinstance(size, Dim) and isinstance(other, int):
                    self.require(size, other)
                    size = other
                elif (
                    isinstance(size, int)
                    and isinstance(other, int)
                    or dims.equal(size, other) is False
                    and 1
                    not in (
                        dims.bounds(size)[0],
                        dims.bounds(other)[0],
                    )
                ):
                    raise self.error(f"shapes {self._shown(shapes)} do not broadcast")
                else:
                    self.require(size, other)
            out.append(size)
        return tuple(out)

    def _may_be_one(self, size: Size) -> bool:
        """Whether the data decide a size, and nothing says that it is not 1."""
        if not isinstance(size, Dim) or (dims.bounds(size)[0] or 0) > 1:
            return False
        block = self.node.block
        assert block is not None
        shapes = (v.type.shape or () for v in block.graph.inputs if isinstance(v.type, TensorType))
        given = {s for shape in shapes for d in shape for s in dims.symbols(d)}
        return not dims.symbols(size) <= given

    def _require_equal_or_one(self, a: Size, b: Size) -> None:
        """Say that `a` must be `b` or 1 in every call: (a - 1) (a - b) is 0 then, and only then."""
        self.require((a - 1) * (a - b), 0)

    def merge(self, a: Size, b: Size, what: str) -> Size:
        """Two sizes that must be equal: the more definite one; an error when they cannot be."""
        if dims.equal(a, b) is False:
            raise self.error(f"{what} differ: {a} and {b}")
        self.require(a, b)
        return a if isinstance(a, int) or not isinstance(b, int) else b

    def require(self, a: Size, b: Size) -> None:
        """Say that two sizes must be equal in every call."""
        if a != b:
            self.required.append((a, b))

    def require_at_most(self, a: Size, b: Size) -> None:
        """Say that a size may not be larger than another in any call."""
        self.require(dims.minimum(a, b), a)

    @staticmethod
    def _shown(shapes: Sequence[Shape]) -> str:
        return " and ".join(f"[{', '.join(map(str, s))}]" for s in shapes)

    def error(self, message: str) -> TypeRuleError:
        """An error that names the node, its operands and its place in the user's model."""
        operands = ", ".join("_" if v is None else repr(v) for v in self.node.inputs)
        return TypeRuleError(f"{self.node.op}: {message}", where=f"{self.node.loc} ({self.node.op}({operands}))")


class UnknownRank(Exception):
    """A rule needs the rank of an input of unknown rank: the outputs' shapes are unknown too."""


def infer_types(node: Node, num_outputs: int | None = None) -> tuple[list[Type], dict[int, Content]]:
    """Output types and known contents of a node from its inputs, attributes and regions.

    Args:
        num_outputs: how many outputs the node shall have; by default those it has.

    Raises:
        TypeRuleError: the rule is broken, or the operator has none.
    """
    context = Infer(node, len(node.outputs) if num_outputs is None else num_outputs)
    return _inferred(context), context.contents


def requirements(node: Node) -> list[tuple[Size, Size]]:
    """Pairs of sizes that must be equal whenever a node runs, though nothing says that they are.

    Raises:
        TypeRuleError: the operator's rule is broken.
    """
    context = Infer(node, len(node.outputs))
    _inferred(context)
    return context.required


def _inferred(context: Infer) -> list[Type]:
    node, count = context.node, context.num_outputs
    rule = TYPE_RULES.get(node.op)
    if rule is None:
        raise context.error("this operator has no type rule")
    check_dtypes(node)
    try:
        result = rule(context)
    except UnknownRank:
        result = _unknown(context)
    except GeError as e:
        if isinstance(e, TypeRuleError):
            raise
        raise context.error(e.what) from e
    types: list[Type] = list(result) if isinstance(result, (list, tuple)) else [result]  # type: ignore[list-item]
    if len(types) < count:
        raise context.error(f"has {len(types)} outputs, {count} wanted")
    return types[:count]


def _unknown(context: Infer) -> list[Type]:
    """Tensors of unknown rank: the first input's element type, or what the schema fixes."""
    out: list[Type] = []
    for i in range(context.num_outputs):
        kind = context.schema.outputs[min(i, len(context.schema.outputs) - 1)].type
        try:
            dtype = DType.of(kind)
        except GeError:
            same = [j for j in range(context.num_inputs) if context.schema.input(j).type == kind and context.has(j)]
            dtype = context.dtype(same[0] if same else 0)
        out.append(TensorType(dtype, None))
    return out


def refresh(node: Node) -> None:
    """Infer a node again and store types and contents in its outputs."""
    types, contents = infer_types(node)
    for i, value in enumerate(node.outputs):
        value.type = types[i]
        value.content = contents.get(i)
