"""Register tiles: how many rows and panels of a product are summed at a time.

Operand B lies in panels of 16 columns, [panel][k][16], whatever the instruction set. A tile is some rows of A times
some whole panels; its sums fill the vector registers as far as the operands leave room.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ge_backend_cpu.isa import Isa

PANEL = 16
"""Columns of a panel."""
MANY = 25
"""Rows from which balanced tiles are at most one row short."""
UNROLL = 4
"""Steps of a run in one round of the innermost loop."""
LINE = 64
"""Bytes of a cache line."""
FETCHED = 2
"""Cache lines of the next panels that one round asks for where it is not known how many tiles share in them."""
MOST_FETCHED = 4
"""Cache lines of the next panels that one round asks for at most."""
SKINNY = 3
"""Rows up to which the panels are streamed: more of them at a time, so that memory is read in many places."""
FEW = 16
"""Rows up to which two high tiles hold them all."""


@dataclass(frozen=True)
class Shape:
    """Code for tiles of some panels.

    Attributes:
        panels: that are multiplied at a time.
        rows: most rows of a tile.
        heights: rows for which there is code, descending; a tile of another height runs the next larger one.
    """

    panels: int
    rows: int
    heights: tuple[int, ...]

    def height(self, rows: int) -> int:
        """The least height that holds so many rows."""
        return min(h for h in self.heights if h >= rows)


def shapes(isa: Isa, width: int, rows: int, panels: int | Sequence[int]) -> list[Shape]:
    """The tiles to emit, wide ones first; every number of panels is a sum of their widths.

    Args:
        width: elements of a vector.
        rows: of the product: 0 when it is not known, at least MANY for any that is not small.
        panels: of the product, or of each of some products; 0 or none when it is not known.
    """
    counts = ([panels] if panels else []) if isinstance(panels, int) else panels
    widest = _widest(isa, width)
    if SKINNY < rows <= FEW and rows > _tallest(isa, widest * PANEL // width):
        widest = max(widest // 2, 1)  # fewer tiles in a column read the panels less often
    if 0 < rows <= SKINNY:
        vectors = 8 if isa.registers >= 32 else 4
        widest = max(widest, vectors * width // PANEL // (1 << (rows - 1).bit_length()))
    widths = {width for count in counts for width in (min(widest, count), count % widest) if width} or {widest, 1}
    found = []
    for count in sorted(widths, reverse=True):
        most = rows if 0 < rows <= SKINNY else _tallest(isa, count * max(PANEL // width, 1))
        found.append(Shape(count, most, _heights(most, rows)))
    return found


def _widest(isa: Isa, width: int) -> int:
    """Panels of a tile: four vectors where there are 32 registers, two where there are 16."""
    return max((4 if isa.registers >= 32 else 2) * width // PANEL, 1)


def _tallest(isa: Isa, vectors: int) -> int:
    """Rows of a tile of so many vectors: sums in most of the registers, and no more rows than there are pointers."""
    sums = 24 if isa.registers >= 32 else 12
    return max(min(sums // vectors, 8), 1)


def _heights(most: int, rows: int) -> tuple[int, ...]:
    if rows == 0:
        return tuple(h for h in range(most, 0, -1) if h in (most, most - 1, 4, 2, 1))
    if rows >= MANY:
        return (most, most - 1) if most > 1 else (1,)
    count = -(-rows // most)
    return tuple(dict.fromkeys((-(-rows // count), max(rows // count, 1))))


def fetched(isa: Isa, width: int, rows: int, bits: int) -> int:
    """Cache lines that a round asks for, so that the tiles of a block ask for all of the next panels.

    Asking for the same lines again takes the place of loads.

    Args:
        width: elements of a vector.
        rows: of a block, 0 when it is not known.
        bits: of an element of the panels.
    """
    if rows == 0:
        return FETCHED
    shape = shapes(isa, width, rows, 0)[0]
    wanted = -(-UNROLL * shape.panels * PANEL * bits // (8 * LINE))
    return min(-(-wanted // -(-rows // shape.rows)), MOST_FETCHED)


def grain(rows: int) -> int:
    """Panels of a work item: a multiple of the widest tile's on every instruction set."""
    return 8 if 0 < rows <= SKINNY else 4
