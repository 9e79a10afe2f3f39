"""TypeProtos as types of the IR."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, cast

from ge_core.errors import ModelImportError, UnsupportedError
from ge_core.ir.dims import Dim, Size
from ge_core.ir.types import OptionalType, SequenceType, TensorType, Type

from .element_types import dtype_of

_DEEPEST = 4

SizeOf: TypeAlias = Callable[[Any, int], Size]


def read_type(proto: Any, size_of: SizeOf, name: str) -> Type:
    """The type that a TypeProto says.

    Args:
        proto: the TypeProto.
        size_of: the size of a dimension, from it and its axis.
        name: the value that has the type, for messages.

    Raises:
        ModelImportError: there is no type.
        UnsupportedError: strings, maps, sparse tensors.
    """
    return _read(proto, size_of, name, 0)


def _read(proto: Any, size_of: SizeOf, name: str, depth: int) -> Type:
    where = f"the value {name!r}"
    kind = proto.WhichOneof("value")
    if depth > _DEEPEST:
        raise ModelImportError(f"{where} has a type that is nested too deeply")
    if kind == "tensor_type":
        return _tensor(proto.tensor_type, size_of, where)
    if kind == "sequence_type":
        element = _read(proto.sequence_type.elem_type, size_of, name, depth + 1)
        if isinstance(element, SequenceType):
            raise UnsupportedError(f"{where} is a sequence of sequences, which is not supported")
        return SequenceType(_loose(element))
    if kind == "optional_type":
        element = _read(proto.optional_type.elem_type, size_of, name, depth + 1)
        if isinstance(element, OptionalType):
            raise ModelImportError(f"{where} is an optional of an optional")
        return OptionalType(_loose(element))
    if kind is None:
        raise ModelImportError(f"{where} has no type")
    raise UnsupportedError(f"{where} is a {kind.removesuffix('_type').replace('_', ' ')}, which is not supported")


def _tensor(proto: Any, size_of: SizeOf, where: str) -> TensorType:
    dtype = dtype_of(proto.elem_type, where)
    if not proto.HasField("shape"):
        return TensorType(dtype, None)
    return TensorType(dtype, tuple(size_of(d, axis) for axis, d in enumerate(proto.shape.dim)))


_Element = TypeVar("_Element", bound=Type)


def _loose(element: _Element) -> _Element:
    """An element's type that says nothing of sizes with a name.

    The elements of a sequence may differ in them, and an optional that is empty gives them no value.
    """
    if isinstance(element, TensorType) and any(isinstance(size, Dim) for size in element.shape or ()):
        return cast("_Element", TensorType(element.dtype, None))
    return element
