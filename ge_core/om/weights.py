"""Where each tensor lies in WEIGHTS_DATA.

The writer lets WEIGHTS_DATA begin at a multiple of 64 bytes in the file (it pads MODEL_DEF, whose length
depends on the offsets written in it), so that offsets that are multiples of 64 put every tensor on a
64-byte boundary of the file and of its mapping, whatever comes before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ge_core.om.seal import ALIGNMENT
from ge_core.om.writer import Buffer


@dataclass(frozen=True)
class WeightsLayout:
    """The data_offset of each tensor, and the bytes of WEIGHTS_DATA in all."""

    offsets: tuple[int, ...]
    size: int


def layout_weights(sizes: Sequence[int]) -> WeightsLayout:
    """Offsets for tensors of these sizes in bytes, in order, each a multiple of 64."""
    offsets = []
    end = 0
    for size in sizes:
        start = -(-end // ALIGNMENT) * ALIGNMENT
        offsets.append(start)
        end = start + size
    return WeightsLayout(tuple(offsets), end)


def weight_chunks(layout: WeightsLayout, loads: Sequence[Callable[[], Buffer]]) -> Iterator[Buffer]:
    """The bytes of WEIGHTS_DATA: each tensor's buffer, loaded when its turn comes, with zeros between."""
    end = 0
    for offset, load in zip(layout.offsets, loads, strict=True):
        if offset > end:
            yield bytes(offset - end)
        data = load()
        yield data
        end = offset + memoryview(data).nbytes
