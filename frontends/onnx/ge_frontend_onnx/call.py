"""What a function that converts an operator sees: the node's inputs as values, its attributes, the builder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ge_core.errors import ModelImportError, UnsupportedError
from ge_core.ir.builder import Builder, Operand
from ge_core.ir.constant import Constant
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value, constant_of
from ge_core.ir.location import Location
from ge_core.ops.schema import schema

if TYPE_CHECKING:
    from .convert import Converter
    from .frame import Frame
    from .scope import Scope

_NO_TYPE = 0


@dataclass
class Call:
    """One node of the model while it is converted.

    Attributes:
        converter: converts the node's subgraphs.
        b: builds nodes at the node's place.
        op: the operator's name in its domain.
        opset: version of the domain that the model imports.
        inputs: a value for each input, None for one that is left out.
        attrs: attributes as Python values: tuples, Constants for tensors, GraphProtos for subgraphs.
        outputs: names of the outputs, "" for one that nobody wants.
        scope: the names that are visible at the node.
        frame: the model or function that the node stands in.
        loc: its place in the model.
    """

    converter: Converter
    b: Builder
    op: str
    opset: int
    inputs: list[Value | None]
    attrs: dict[str, Any]
    outputs: Sequence[str]
    scope: Scope
    frame: Frame
    loc: Location

    def has(self, index: int) -> bool:
        """Whether input `index` is given."""
        return index < len(self.inputs) and self.inputs[index] is not None

    def optional(self, index: int) -> Value | None:
        """Input `index`, None when it is left out."""
        return self.inputs[index] if index < len(self.inputs) else None

    def input(self, index: int) -> Value:
        """Input `index`.

        Raises:
            ModelImportError: it is left out.
        """
        value = self.optional(index)
        if value is None:
            raise self.error(f"input {index} is missing")
        return value

    def wants(self, index: int) -> bool:
        """Whether the model uses output `index`."""
        return index < len(self.outputs) and self.outputs[index] != ""

    @property
    def num_outputs(self) -> int:
        """How many outputs the model uses, counted up to the last one."""
        return max((i + 1 for i, name in enumerate(self.outputs) if name), default=0)

    def attr(self, name: str, default: Any = None) -> Any:
        """An attribute, else `default`."""
        return self.attrs.get(name, default)

    def needed(self, name: str) -> Any:
        """An attribute that must be there.

        Raises:
            ModelImportError: it is missing.
        """
        if name not in self.attrs:
            raise self.error(f"the attribute {name} is missing")
        return self.attrs[name]

    def dtype_attr(self, name: str) -> DType | None:
        """An attribute that holds the number of an element type; None when it is left out or 0."""
        number = self.attrs.get(name, _NO_TYPE)
        return None if number == _NO_TYPE else DType.of_onnx(int(number))

    def only(self, *known: str) -> None:
        """Refuse attributes besides `known`.

        Raises:
            UnsupportedError: the node has another one.
        """
        unknown = sorted(set(self.attrs) - set(known))
        if unknown:
            raise self.unsupported(f"the attribute {unknown[0]} = {self.attrs[unknown[0]]!r}")

    def build(
        self, op: str, inputs: Sequence[Operand | Sequence[Operand]], attrs: Mapping[str, Any] | None = None
    ) -> Any:
        """Build an operator with as many outputs as the model uses; trailing inputs that are left out are dropped."""
        operands = list(inputs)
        while operands and operands[-1] is None:
            operands.pop()
        declared = schema(op)
        given = dict(attrs or {})
        for name, value in (attrs or {}).items():
            # 0 is "no type" and the same as leaving the attribute out
            if name in declared.attributes and declared.attributes[name].type == "dtype" and value == _NO_TYPE:
                del given[name]
        count = max(self.num_outputs, declared.min_outputs)
        return self.b.op(op, *operands, num_outputs=count, **given)

    def constant(self, index: int) -> np.ndarray | None:
        """The data of an input that is a constant, else None."""
        found = constant_of(self.optional(index))
        return None if found is None else found.array()

    def cast(self, x: Value, dtype: DType) -> Value:
        """`x` in another element type; itself when it has it."""
        return x if x.dtype == dtype else self.b.Cast(x, to=dtype)

    def scalar(self, number: float, dtype: DType) -> Value:
        """A constant of rank 0."""
        with np.errstate(all="ignore"):
            return self.b.constant(np.asarray(number, np.float64).astype(dtype.numpy))

    def size(self, x: Value, axis: int) -> Value:
        """The size of an axis as an int64 vector of one element."""
        if x.tensor.shape is not None:
            return self.b.ints(x.shape[axis])
        end = None if axis == -1 else axis + 1
        return self.b.Shape(x, start=axis, end=end)

    def shape_of(self, x: Value) -> Value:
        """The shape as an int64 vector."""
        return self.b.Shape(x) if x.tensor.shape is None else self.b.ints(x.shape)

    def reshape(self, x: Value, shape: Sequence[Size]) -> Value:
        """`x` in another shape; -1 stands for what is left."""
        if x.tensor.shape == tuple(shape):
            return x
        return self.b.Reshape(x, self.b.ints(shape), allowzero=0 if -1 in shape else 1)

    def transpose(self, x: Value, *perm: int) -> Value:
        """`x` with its axes in another order; itself when they are in order."""
        return x if list(perm) == list(range(len(perm))) else self.b.Transpose(x, perm=list(perm))

    def unsqueeze(self, x: Value, *axes: int) -> Value:
        """`x` with axes of size 1 put in at these places of the result."""
        return self.b.Unsqueeze(x, self.b.ints(axes))

    def slice(self, x: Value, axis: int, start: Size, end: Size) -> Value:
        """`x[..., start:end, ...]`."""
        b = self.b
        return b.Slice(x, b.ints(start), b.ints(end), b.ints(axis))

    def rank(self, x: Value) -> int:
        """The rank of a value.

        Raises:
            UnsupportedError: it is not known.
        """
        if x.tensor.shape is None:
            raise self.unsupported("an input of unknown rank")
        return x.rank

    def unsupported(self, what: str, fix: str | None = None) -> UnsupportedError:
        """An error for a form of this operator that cannot be converted."""
        return UnsupportedError(f"{self.op}: {what} is not supported", where=self.loc, fix=fix)

    def error(self, what: str, expected: str | None = None) -> ModelImportError:
        """An error for a node that breaks the operator's rules."""
        return ModelImportError(f"{self.op}: {what}", where=self.loc, expected=expected)


def tensor_attribute(c: Call, name: str) -> np.ndarray:
    """The data of a tensor attribute."""
    found = c.needed(name)
    if not isinstance(found, Constant):
        raise c.error(f"the attribute {name} is no tensor")
    return found.array()
