"""The registry of meanings, and one operator as its meaning sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TypeAlias

from ge_ascend.prototypes import AttrSpec, prototype
from ge_core.errors import ModelImportError
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DTYPES, DType
from ge_core.ir.graph import Value

Result: TypeAlias = Value | Sequence[Value]
Meaning: TypeAlias = Callable[["Call"], Result]
Branch: TypeAlias = Callable[[Builder, Sequence[Value]], list[Value]]

MEANINGS: dict[str, Meaning] = {}
_loaded = False
_BY_NUMBER = {d.ge_memory: d for d in DTYPES if d.ge_memory is not None}


def meaning(*types: str) -> Callable[[Meaning], Meaning]:
    """Decorator: the meaning of these operators.

    Raises:
        ModelImportError: CANN has no such operator, or it has a meaning already.
    """

    def register(function: Meaning) -> Meaning:
        for name in types:
            if name in MEANINGS or prototype(name) is None:
                raise ModelImportError(f"the meaning of {name} is given twice or CANN has no {name}")
            MEANINGS[name] = function
        return function

    return register


def meaning_of(type: str) -> Meaning | None:
    """The meaning of an operator, None when it has none."""
    global _loaded
    if not _loaded:
        package = import_module("ge_ascend.meaning")
        for module in iter_modules(package.__path__):
            import_module(f"ge_ascend.meaning.{module.name}")
        _loaded = True
    return MEANINGS.get(type)


def dtype_of_number(number: int) -> DType:
    """The element type of a number of the in-memory enumeration.

    Raises:
        ModelImportError: the IR has no such type.
    """
    if number not in _BY_NUMBER:
        raise ModelImportError(f"element type number {number} is unknown here")
    return _BY_NUMBER[number]


class Call:
    """One operator with its operands as IR values.

    Attributes:
        b: builds where the operator stands.
        dtypes: the element types that its output descriptors state, by port; may be empty.
        formats: the formats that its descriptors state, by port (`NCHW`); ports of format ND are left out.
        branches: its sub graphs in order, as functions from a builder and arguments to results.
        outputs: how many outputs it has.
        specs: the attributes that its prototype declares.
    """

    def __init__(
        self,
        b: Builder,
        name: str,
        type: str,
        inputs: Mapping[str, Value],
        attrs: Mapping[str, Any],
        *,
        dtypes: Mapping[str, DType] | None = None,
        formats: Mapping[str, str] | None = None,
        branches: Sequence[Branch] = (),
        outputs: int = 1,
    ) -> None:
        self.b, self.name, self.type, self.inputs, self.attrs = b, name, type, inputs, attrs
        self.dtypes, self.formats = dict(dtypes or {}), dict(formats or {})
        self.branches, self.outputs = branches, outputs
        found = prototype(type)
        self.specs: Mapping[str, AttrSpec] = {} if found is None else found.attributes

    def __getitem__(self, port: str) -> Value:
        if port not in self.inputs:
            raise self.error(f"the input {port} is not connected")
        return self.inputs[port]

    def get(self, port: str) -> Value | None:
        return self.inputs.get(port)

    def dynamic(self, port: str) -> list[Value]:
        """What feeds name0, name1, ..."""
        found: list[Value] = []
        while f"{port}{len(found)}" in self.inputs:
            found.append(self.inputs[f"{port}{len(found)}"])
        return found

    def attr(self, name: str) -> Any:
        """An attribute or its default.

        Raises:
            ModelImportError: a required attribute is missing.
        """
        if name in self.attrs:
            return self.attrs[name]
        spec = self.specs.get(name)
        if spec is None or spec.required:
            raise self.error(f"the attribute {name} is missing")
        return spec.default

    def dtype_attr(self, name: str) -> DType:
        """An attribute that holds an element type."""
        found = self.attr(name)
        return dtype_of_number(found.number if hasattr(found, "number") else int(found))

    def sizes(self, port: str) -> tuple[Size, ...]:
        """The elements of an integer input, which must be known.

        Raises:
            ModelImportError: they are computed from data.
        """
        found = self[port].content
        if found is None:
            raise self.error(f"the input {port} is computed from data; only known elements are supported")
        return found

    def numbers(self, port: str) -> tuple[int, ...]:
        """The elements of an integer input that must be plain numbers."""
        found = self.sizes(port)
        if not all(isinstance(size, int) for size in found):
            raise self.error(f"the input {port} depends on sizes that are known at run time only")
        return tuple(int(size) for size in found)  # type: ignore[arg-type]

    def cast(self, value: Value, dtype: DType) -> Value:
        """The value in another element type."""
        if value.dtype == dtype:
            return value
        result: Value = self.b.Cast(value, to=dtype)
        return result

    def as_stated(self, value: Value, port: str = "y") -> Value:
        """The value in the type that the output's descriptor states, by default its own."""
        return self.cast(value, self.dtypes.get(port, value.dtype))

    def error(self, message: str) -> ModelImportError:
        return ModelImportError(f"{self.type}: {message}", where=self.name)


__all__ = ["MEANINGS", "Branch", "Call", "Meaning", "Result", "dtype_of_number", "meaning", "meaning_of"]
