"""Which products of bytes are multiplied in tile registers: sixteen rows of 64 bytes at a time.

A block of rows of A is copied next to each other first, so that rows may lie anywhere and runs have any length: a row
must fit into what a kernel may keep on its stack.
"""

from __future__ import annotations

from ge_backend_cpu.contract.arithmetic import QUADS
from ge_backend_cpu.contract.product import Product
from ge_backend_cpu.isa import Isa
from ge_core.ir import dims
from ge_core.ir.dims import Size

TILES = "amx-int8"
"""The feature that brings the registers."""
TILE_ROWS = 32
"""Rows of a work item: two tiles."""
TILE_GAIN = 5
"""How many times faster than in vectors products are."""
QUADS_OF_TILE = 16
"""Lines of a panel that are one tile."""
FEWEST_ROWS = 8
"""Rows below which vectors are as fast: tiles would be mostly empty."""
LEAST_QUADS = 14
"""Quads of a run below which vectors take less than what tiles take before and after it."""
MOST_READY = 128
"""Rows that are copied before a product at most."""
LEAST_READY = 256
"""Quads of their runs at least."""
READY_QUADS = 1 << 18
"""Quads of all of them at most: what stays in the second-level cache."""
LEAST_SPAN, WIDE_SPAN, MOST_SPAN = 256, 4096, 8192
"""Bytes of a row that are copied: least and most, and up to which two tiles of rows are."""


def uses_tiles(product: Product, isa: Isa) -> bool:
    """Whether a product is multiplied in tile registers on an instruction set."""
    few = 0 < product.rows < FEWEST_ROWS
    return product.arithmetic == QUADS and product.span > 0 and not few and isa.has(TILES)


def lie_ready(rows: Size, quads: Size) -> bool:
    """Whether all rows are copied before a product: few ones with long runs, whose panels should be read once."""
    if not isinstance(rows, int) or not isinstance(quads, int):
        return False
    return FEWEST_ROWS <= rows <= MOST_READY and quads >= LEAST_READY and rows * quads <= READY_QUADS


def ready_line(quads: int) -> int:
    """Distance of such rows, in quads: an odd number of cache lines, which spreads them over the sets of the cache."""
    return (-(-quads // QUADS_OF_TILE) | 1) * QUADS_OF_TILE


def span_of(quads: Size) -> int:
    """`Product.span` for rows of so many times four bytes."""
    if not isinstance(quads, int) or quads < LEAST_QUADS:
        return 0
    wanted = max(-(-quads // QUADS_OF_TILE) * QUADS_OF_TILE * 4, LEAST_SPAN)
    return 1 << (wanted - 1).bit_length() if wanted <= MOST_SPAN else 0


def lines_of(quads: Size) -> Size:
    """Lines of a panel of so many quads, without the first one."""
    return dims.ceildiv(quads, QUADS_OF_TILE) * QUADS_OF_TILE
