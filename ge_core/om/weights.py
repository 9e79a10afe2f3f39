"""Where each tensor lies in WEIGHTS_DATA.

The writer lets WEIGHTS_DATA begin at a multiple of 64 bytes in the file (it pads MODEL_DEF, whose length depends on
the offsets written in it), so that offsets that are multiples of 64 put every tensor on a 64-byte boundary of the
file and of its mapping, whatever comes before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ge_core.om.seal import ALIGNMENT
from ge_core.om.writer import Buffer, Stream


class WeightsWriter:
    """Collects tensors; their bytes are asked for when the file is written, one after the other."""

    def __init__(self) -> None:
        self._tensors: list[tuple[int, int, Callable[[], Buffer]]] = []
        self._end = 0

    @property
    def size(self) -> int:
        """Bytes of WEIGHTS_DATA in all."""
        return self._end

    def add(self, size: int, load: Callable[[], Buffer]) -> int:
        """Reserve `size` bytes that `load` will return, and give their data_offset."""
        offset = -(-self._end // ALIGNMENT) * ALIGNMENT
        self._tensors.append((offset, size, load))
        self._end = offset + size
        return offset

    def stream(self) -> Stream:
        """The partition, with zeros between the tensors."""
        return Stream(self._end, self._chunks())

    def _chunks(self) -> Iterator[Buffer]:
        end = 0
        for offset, size, load in self._tensors:
            if offset > end:
                yield bytes(offset - end)
            yield load()
            end = offset + size
