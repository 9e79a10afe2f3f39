"""Constant data: lazy, shared with its source, equal by content.

Where the data lie decides who may look at them. Data in memory are read whenever that helps. Those in a file may be
larger than memory: passes look at small ones, and what is made of large ones is made when it is used, one at a time.
Absent data (of a model on a framework's meta device, say) are never read: such a model is compiled, planned and
reported, but neither run nor saved.
"""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Callable, Hashable, Iterable
from typing import Literal, TypeAlias

import numpy as np

from ge_core.errors import AbsentDataError, GraphError
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType, pack
from ge_core.ir.types import Layout, TensorType

Content: TypeAlias = tuple[Size, ...]

Residence: TypeAlias = Literal["memory", "file", "absent"]
"""Where data lie."""

MAX_CONTENT = 64
SMALL = 1 << 20
"""Bytes up to which data in a file are as good as those in memory."""
_SAMPLES = 16
"""Elements of a sample."""
_SHOWN = 5
"""Names that an error lists."""


class Constant:
    """Read-only tensor data, loaded on first use and then shared with its source.

    Args:
        type: a static tensor type.
        load: returns the array (numpy dtype `type.dtype.numpy`, shape `type.shape`); it may be a view of
            memory that the framework or a mapped file owns.
        source: where the data is, for messages and for writers that can refer to a file.
        residence: where the data lie. What `load` returns for data in a file is not kept.
        identity: constants of one identity and type are equal, whatever their data (a file and a place in it).

    Attributes:
        stored: layout and bytes (uint8) when the data are kept as kernels read them; `array` then makes a copy in
            row-major order, which is not kept.
    """

    __slots__ = (
        "__weakref__", "_array", "_digest", "_kept", "_load", "_sample", "identity", "residence", "source", "stored",
        "type",
    )  # fmt: skip

    def __init__(
        self,
        type: TensorType,
        load: Callable[[], np.ndarray],
        source: str = "",
        residence: Residence = "memory",
        identity: Hashable = None,
    ) -> None:
        self.type, self._load, self.source = type, load, source
        self.residence: Residence = residence
        self.identity = identity
        self._kept: dict[Layout | None, weakref.ref[np.ndarray]] = {}
        self._array: np.ndarray | None = None
        self._digest: str | None = None
        self._sample: bytes | None = None
        self.stored: tuple[Layout, np.ndarray] | None = None

    @staticmethod
    def of(array: np.ndarray | np.generic, dtype: DType | None = None) -> Constant:
        """A constant that holds `array` itself."""
        array = np.asarray(array)
        dtype = dtype or DType.of(array.dtype)
        constant = Constant(TensorType(dtype, tuple(int(d) for d in array.shape)), lambda: array)
        return constant

    @staticmethod
    def derived(
        type: TensorType, sources: Iterable[Constant], load: Callable[[], np.ndarray], source: str = ""
    ) -> Constant:
        """A constant that is computed from others when it is needed; it lies where they do."""
        places = {constant.residence for constant in sources}
        residence: Residence = "absent" if "absent" in places else "file" if "file" in places else "memory"
        return Constant(type, load, source, residence)

    def known(self, limit: int | None = None) -> np.ndarray | None:
        """The data for somebody who decides by them; None where they are absent, or too many to be read from a file.

        Args:
            limit: bytes that are read; by default `SMALL`.
        """
        return self.array() if self.is_known(limit) else None

    def is_known(self, limit: int | None = None) -> bool:
        """Whether there are data for somebody who decides by them (see `known`)."""
        if self.residence == "file":
            return self.nbytes <= (SMALL if limit is None else limit)
        return self.residence == "memory"

    def kept(self, layout: Layout | None, make: Callable[[], np.ndarray]) -> np.ndarray:
        """What `make` returns; what it has returned before for this layout, as long as somebody holds that."""
        known = self._kept.get(layout)
        found = None if known is None else known()
        if found is None:
            found = make()
            self._kept[layout] = weakref.ref(found)
        return found

    def array(self) -> np.ndarray:
        """The data; do not write to it.

        Raises:
            GeError: they are absent, or cannot be read.
        """
        if self._array is None:
            array = self._load()
            if tuple(array.shape) != self.type.shape or (
                array.dtype != self.type.dtype.numpy and self.type.dtype.kind != "string"
            ):
                raise GraphError(
                    f"constant data {array.dtype}{list(array.shape)} does not fit its type {self.type}",
                    where=self.source or None,
                )
            if self.stored is not None or self.residence != "memory":
                return array
            self._array = array
        return self._array

    @property
    def nbytes(self) -> int:
        n = self.type.nbytes()
        assert isinstance(n, int)
        return n

    def digest(self) -> str:
        """Hex SHA-256 of type and packed bytes: equal digests are equal constants."""
        if self._digest is None:
            h = hashlib.sha256(str(self.type).encode())
            array = self.array()
            if self.type.dtype.kind == "string":
                h.update(repr(array.tolist()).encode())
            elif self.type.dtype.bits >= 8 and array.flags.c_contiguous:
                h.update(array.reshape(-1).view(np.uint8).data)
            else:
                h.update(pack(array, self.type.dtype))
            self._digest = h.hexdigest()
        return self._digest

    def key(self) -> Hashable:
        """Equal keys are equal constants; of data that are costly to look at, equal ones may have different keys."""
        if self.identity is not None:
            return self.type, self.identity
        return self.digest() if self.residence == "memory" else self

    def sample(self) -> bytes:
        """A few elements: constants of one type whose samples differ are not equal."""
        if self._sample is None:
            array = self.array()
            if array.size <= _SAMPLES or self.type.dtype.kind == "string":
                few = array.reshape(-1)[:_SAMPLES]
            else:
                places = np.arange(_SAMPLES) * (array.size - 1) // (_SAMPLES - 1)
                few = array[np.unravel_index(places, array.shape)]
            self._sample = repr(few.tolist()).encode() if self.type.dtype.kind == "string" else few.tobytes()
        return self._sample


def content_of(constant: Constant) -> Content | None:
    """The elements of a small integer constant, None for anything else."""
    n = constant.type.elements
    if not constant.type.dtype.is_integer or not isinstance(n, int) or n > MAX_CONTENT or (constant.type.rank or 0) > 1:
        return None
    array = constant.known()
    return None if array is None else tuple(int(x) for x in array.ravel())


def refuse_absent(constants: Iterable[Constant], what: str) -> None:
    """Refuse to do what needs the data of all of some constants.

    Args:
        what: cannot be done to the model, such as "be saved".

    Raises:
        AbsentDataError: the data of some are absent; it names the first of them.
    """
    found = [c.source or f"a constant of type {c.type}" for c in constants if c.residence == "absent"]
    names = list(dict.fromkeys(found))
    if names:
        more = [f"{len(names) - _SHOWN} more"] if len(names) > _SHOWN else []
        raise AbsentDataError(
            f"the model cannot {what}: {len(names)} of its weights have no values",
            details=[*names[:_SHOWN], *more],
            fix="it was made on a meta device or of fake tensors: load its weights and compile it again",
        )
