"""The inputs of the graph, from what the model declares and what the caller asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ge_core.errors import GraphError, InputError, ModelImportError
from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value
from ge_core.ir.types import TensorType, Type
from ge_core.plugins.asked_shapes import Asked

from .symbols import Symbols
from .value_types import SizeOf, read_type


class Inputs:
    """Makes the graph's inputs.

    Args:
        b: gets them.
        symbols: the model's dimensions.
        asked: what the caller's `dynamic_shapes` says, by input and axis.
        examples: example values by input.
    """

    def __init__(
        self,
        b: Builder,
        symbols: Symbols,
        asked: Mapping[str, Mapping[int, Asked]],
        examples: Mapping[str, object],
    ) -> None:
        self._b, self._symbols, self._asked, self._examples = b, symbols, asked, examples
        self._sizes: dict[tuple[str, int], Size | None] = {}

    def make(self, info: Any) -> Value:
        """The input that a ValueInfoProto declares.

        Raises:
            InputError: an example does not fit the type.
            UnsupportedError: the type is not supported.
        """
        name = info.name
        type = read_type(info.type, self._size_of(name), name)
        example = self._examples.get(name)
        if isinstance(type, TensorType):
            shape = getattr(example, "shape", None)
            if type.shape is None and shape is not None:
                type = TensorType(type.dtype, self._unranked(name, len(tuple(shape))))
            _check_example(name, type, example)
        return self._b.block.add_param(name, type)

    def prepare(self, infos: Sequence[Any]) -> None:
        """Take in what the caller asks for, before any of the inputs is made.

        Raises:
            ModelImportError: two inputs have one name.
        """
        seen: set[str] = set()
        for info in infos:
            if info.name in seen:
                raise ModelImportError(f"two inputs are named {info.name!r}", expected="names that are unique")
            seen.add(info.name)
        for info in infos:
            declared = info.type.tensor_type.shape.dim
            for axis, asked in self._asked.get(info.name, {}).items():
                known = info.type.tensor_type.HasField("shape")
                if known and not 0 <= axis < len(declared):
                    raise InputError(
                        f"dynamic_shapes names axis {axis} of {info.name!r}", expected=f"0 to {len(declared) - 1}"
                    )
                self._sizes[info.name, axis] = self._symbols.ask(
                    declared[axis] if known else None, asked, f"axis {axis} of {info.name!r}"
                )

    def _size_of(self, name: str) -> SizeOf:
        """The sizes of one input: those that the caller asks for, else the model's."""

        def size(dim: Any, axis: int) -> Size:
            asked = self._sizes.get((name, axis))
            return self._symbols.size(dim, f"{name}_{axis}") if asked is None else asked

        return size

    def _unranked(self, name: str, rank: int) -> tuple[Size, ...]:
        sizes = (self._sizes.get((name, axis)) for axis in range(rank))
        return tuple(self._symbols.fresh(f"{name}_{axis}") if s is None else s for axis, s in enumerate(sizes))


def _check_example(name: str, type: Type, example: object) -> None:
    """Check an example's rank, sizes and element type, as far as it says them.

    Raises:
        InputError: they do not fit.
    """
    assert isinstance(type, TensorType)
    shape = getattr(example, "shape", None)
    if example is None or shape is None:
        return
    given = tuple(shape)
    fits = type.shape is None or (
        len(given) == len(type.shape)
        and all(not isinstance(n, int) or dims.equal(n, d) is not False for n, d in zip(given, type.shape, strict=True))
    )
    dtype = _dtype_of(example)
    if not fits or (dtype is not None and dtype != type.dtype):
        raise InputError(f"the example of {name!r} is {dtype or ''}{list(given)}", expected=str(type))


def _dtype_of(example: object) -> DType | None:
    try:
        return DType.of(getattr(example, "dtype", None))
    except GraphError:
        return None
