"""Constants of the IR in GE's TensorDef, with their bytes in WEIGHTS_DATA, and back.

Equal data are stored once. Small integer tensors stay in the TensorDef itself: shape rules read their elements, so
that MODEL_DEF, whose checksum is compared before it is read, must hold all that a graph's structure depends on.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ge_core.errors import OfflineModelError
from ge_core.ir.constant import MAX_CONTENT, Constant
from ge_core.ir.dtype import unpack
from ge_core.ir.types import Layout, TensorType
from ge_core.om.seal import ALIGNMENT
from ge_core.plan.storage import constant_bytes, stored_constant

if TYPE_CHECKING:
    from ge_core.om.descriptors import DescriptorReader, DescriptorWriter
    from ge_core.om.message_table import Message
    from ge_core.om.weights import WeightsWriter
    from ge_core.om.writer import Buffer


class TensorWriter:
    """Puts constants into TensorDefs and their bytes into the weights.

    Args:
        merge: compare all data by digest; otherwise only the same Constant is stored once, which suffices for
            one graph, whose importer has merged equal data.
    """

    def __init__(self, weights: WeightsWriter, *, merge: bool) -> None:
        self.weights, self.merge = weights, merge
        self._offsets: dict[object, int] = {}

    def write(
        self, constant: Constant, tensor: Message, descriptors: DescriptorWriter, layout: Layout | None = None
    ) -> None:
        """Fill a TensorDef; the bytes lie as the layout says."""
        kind = constant.type
        layout = None if layout is None or layout.is_row_major else layout
        tensor.desc.CopyFrom(descriptors.typed(kind))
        if _inline(kind):
            tensor.data = bytes(data_of(constant))
            return
        strings = kind.dtype.kind == "string"
        size = len(data_of(constant)) if strings else _stored_size(kind, layout)
        tensor.desc.weight_size = size
        tensor.desc.data_offset = self._offset(constant, layout, size) if size else 0

    def _offset(self, constant: Constant, layout: Layout | None, size: int) -> int:
        key: object = (constant.key() if self.merge else constant, layout)
        offset = self._offsets.get(key)
        if offset is None:
            offset = self._offsets[key] = self.weights.add(size, lambda: data_of(constant, layout))
        return offset


class TensorReader:
    """Makes constants that are views of the weights; equal TensorDefs give the same Constant."""

    def __init__(self, weights: memoryview) -> None:
        self.weights = weights
        self._found: dict[object, Constant] = {}

    def read(self, tensor: Message, descriptors: DescriptorReader, layout: Layout | None = None) -> Constant:
        """The constant of a TensorDef whose bytes lie as the layout says.

        Raises:
            OfflineModelError: not a static type, or its bytes are not where it says.
        """
        kind = descriptors.tensor(tensor.desc)
        if not kind.is_static:
            raise OfflineModelError(f"a constant of type {kind}", expected="all sizes known")
        layout = None if layout is None or layout.is_row_major else layout
        key = (str(kind), layout, tensor.desc.data_offset, tensor.desc.weight_size, tensor.data)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self.constant(kind, tensor, layout)
        return found

    def constant(self, kind: TensorType, tensor: Message, layout: Layout | None) -> Constant:
        """A constant of this type, for which of a TensorDef only the place counts.

        Raises:
            OfflineModelError: its bytes are not where it says.
        """
        shape = tuple(int(size) for size in kind.shape or ())  # type: ignore[arg-type]
        needed = _stored_size(kind, layout)
        if math.prod(size for size in shape if size) * max(kind.dtype.bits, 8) >= 1 << 62:
            raise OfflineModelError(f"a constant of type {kind} is larger than any memory")
        if kind.dtype.kind == "string":
            elements = _strings(self._bytes(tensor, tensor.desc.weight_size), math.prod(shape))
            return Constant(kind, lambda: np.array(elements, dtype=object).reshape(shape))
        data = memoryview(tensor.data) if _inline(kind) else self._bytes(tensor, needed)
        if len(data) != needed:
            raise OfflineModelError(f"a constant of type {kind} has {len(data)} bytes", expected=f"{needed}")
        if layout is not None and not _inline(kind):
            stored = stored_constant(kind, layout, np.frombuffer(data, np.uint8))
            stored.residence = "file"
            return stored
        return Constant(kind, lambda: unpack(data, kind.dtype, shape), "", "memory" if _inline(kind) else "file")

    def _bytes(self, tensor: Message, needed: int) -> memoryview:
        offset, size = tensor.desc.data_offset, tensor.desc.weight_size
        if size != needed or tensor.data:
            raise OfflineModelError(f"a constant states {size} bytes", expected=f"{needed}, in WEIGHTS_DATA")
        if offset < 0 or size < 0 or offset % ALIGNMENT or offset + size > len(self.weights):
            raise OfflineModelError(
                f"a constant of {size} bytes at {offset}",
                expected=f"a multiple of {ALIGNMENT} within the {len(self.weights)} bytes of WEIGHTS_DATA",
            )
        return self.weights[offset : offset + size]


def data_of(constant: Constant, layout: Layout | None = None) -> Buffer:
    """The bytes of a constant as they are stored: its own memory where that is possible."""
    if constant.type.dtype.kind == "string":
        return _string_bytes(constant.array())
    return constant_bytes(constant, layout).data


def _stored_size(kind: TensorType, layout: Layout | None) -> int:
    size = kind.nbytes() if layout is None else layout.nbytes(kind)
    assert isinstance(size, int)
    return size


def _inline(kind: TensorType) -> bool:
    elements = kind.elements
    return kind.dtype.is_integer and isinstance(elements, int) and elements <= MAX_CONTENT


def _string_bytes(array: np.ndarray[Any, Any]) -> bytes:
    elements = array.ravel().tolist()
    if not all(isinstance(element, str) for element in elements):
        raise OfflineModelError("a constant of strings holds something else", expected="str elements")
    return json.dumps(elements).encode()


def _strings(data: memoryview, count: int) -> list[str]:
    try:
        elements = json.loads(bytes(data))
    except (ValueError, RecursionError) as error:
        raise OfflineModelError("a constant of strings is damaged") from error
    if not isinstance(elements, list) or not all(isinstance(element, str) for element in elements):
        raise OfflineModelError("a constant of strings holds something else")
    if len(elements) != count:
        raise OfflineModelError(f"a constant of strings has {len(elements)} elements", expected=f"{count}")
    return elements
