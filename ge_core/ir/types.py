"""Types of values: tensors, sequences and optionals, and storage layouts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType

Shape: TypeAlias = tuple[Size, ...]


@dataclass(frozen=True)
class TensorType:
    """A tensor's element type and shape; `shape` None is a rank that only the data decide."""

    dtype: DType
    shape: Shape | None

    def __str__(self) -> str:
        if self.shape is None:
            return f"{self.dtype}[*]"
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"

    @property
    def rank(self) -> int | None:
        return None if self.shape is None else len(self.shape)

    @property
    def is_static(self) -> bool:
        return self.shape is not None and all(isinstance(d, int) for d in self.shape)

    @property
    def elements(self) -> Size:
        """Number of elements; the rank must be known."""
        assert self.shape is not None
        return dims.product(self.shape)

    def nbytes(self) -> Size:
        """Packed bytes of a dense row-major buffer."""
        return _nbytes(self)

    def concrete(self, env: Mapping[str, int]) -> TensorType:
        """The type with every symbol replaced by its value."""
        assert self.shape is not None
        return TensorType(self.dtype, tuple(dims.evaluate(d, env) for d in self.shape))


@lru_cache(maxsize=65536)
def _nbytes(type: TensorType) -> Size:
    n, bits = type.elements, type.dtype.bits
    return n * (bits // 8) if bits >= 8 else dims.ceildiv(n * bits, 8)


@dataclass(frozen=True)
class SequenceType:
    """A sequence of values of one type."""

    element: TensorType | OptionalType

    def __str__(self) -> str:
        return f"seq<{self.element}>"


@dataclass(frozen=True)
class OptionalType:
    """A value that may be absent."""

    element: TensorType | SequenceType

    def __str__(self) -> str:
        return f"optional<{self.element}>"


Type: TypeAlias = TensorType | SequenceType | OptionalType


def compatible(a: Type, b: Type) -> bool:
    """Whether two types can describe one value: equal element types and ranks, no size that provably differs."""
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        if a.dtype != b.dtype:
            return False
        if a.shape is None or b.shape is None:
            return True
        return len(a.shape) == len(b.shape) and all(
            dims.equal(x, y) is not False for x, y in zip(a.shape, b.shape, strict=True)
        )
    if isinstance(a, (SequenceType, OptionalType)) and type(a) is type(b):
        return compatible(a.element, b.element)
    return False


@dataclass(frozen=True)
class Layout:
    """How a selected value is stored; the logical shape never changes.

    Attributes:
        order: the logical axes from outermost to innermost storage axis.
        blocks: (logical axis, block size) pairs split off as innermost storage axes, outermost first.
        halo: per logical axis the number of extra elements (before, after) kept around the data.
        fill: the value that the halo holds, written by the producer in every run.
    """

    order: tuple[int, ...]
    blocks: tuple[tuple[int, int], ...] = ()
    halo: tuple[tuple[int, int], ...] = ()
    fill: float = 0.0

    @staticmethod
    def row_major(rank: int) -> Layout:
        return Layout(tuple(range(rank)))

    @property
    def is_row_major(self) -> bool:
        return self.order == tuple(range(len(self.order))) and not self.blocks and not any(map(any, self.halo))

    def storage_shape(self, shape: Shape) -> Shape:
        """Sizes of the storage axes, outermost first: halo added, blocks rounded up and split off."""
        padded = [
            size + (self.halo[axis][0] + self.halo[axis][1] if self.halo else 0) for axis, size in enumerate(shape)
        ]
        for axis, block in self.blocks:
            padded[axis] = dims.ceildiv(padded[axis], block)
        return (*(padded[axis] for axis in self.order), *(block for _, block in self.blocks))

    def nbytes(self, type: TensorType) -> Size:
        """Bytes of the buffer: a function of type and layout alone."""
        assert type.shape is not None
        return TensorType(type.dtype, self.storage_shape(type.shape)).nbytes()

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        pairs = {"blocks": [list(pair) for pair in self.blocks], "halo": [list(pair) for pair in self.halo]}
        return {"order": list(self.order), **pairs, "fill": float(self.fill).hex()}

    @staticmethod
    def from_json(parts: Mapping[str, Any]) -> Layout:
        """The layout that `to_json` gave.

        Raises:
            Exception: of any kind, where it is none.
        """
        blocks, halo = (tuple((int(a), int(b)) for a, b in parts[name]) for name in ("blocks", "halo"))
        return Layout(tuple(map(int, parts["order"])), blocks, halo, float.fromhex(parts["fill"]))

    def __str__(self) -> str:
        text = ".".join(map(str, self.order))
        text += "".join(f"/{axis}:{block}" for axis, block in self.blocks)
        if any(map(any, self.halo)):
            text += "+" + ".".join(f"{a}:{b}" for a, b in self.halo) + f"={self.fill!r}"
        return f"<{text}>"
