"""The family "contract.product": what a product's kernel is specialised for, and the integers that it is given.

    C[b, m, n] = finish(sum over t, k of  A[b, row(m) + tap(t) + k] * B[b, t, k, n])

m walks over `walk` axes (one, or batch and spatial axes of a convolution), t over `taps` axes of a kernel, k over one
contiguous run. B lies in panels of 16 columns, [panel][t][k][16]. With `bounded` taps, a tap beyond the input reads
zeros. `finish` is the epilogue, on the sums in registers.

Panels of the arithmetic "quads" begin with a line of the sums over their columns, so that a zero point of A is a part
of what the sums begin with; their lines are as many as fill whole tiles.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ge_backend_cpu.contract.arithmetic import QUADS, Arithmetic
from ge_backend_cpu.contract.epilogue import Epilogue
from ge_backend_cpu.contract.tile import FETCHED, MANY, SKINNY
from ge_backend_cpu.kernel import Kernel
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType

FAMILY = "contract.product"
ZeroForm = Literal["none", "uint8", "int8", "offset"]
MOST_ROWS = 288
"""Rows of a block of a deep product at most."""


@dataclass(frozen=True, kw_only=True)
class Product:
    """What the code of a product depends on.

    Attributes:
        a, b: element types of A and of the panels as they are stored.
        arithmetic: how they are multiplied; A is stored in its element type.
        epilogue: what becomes of the sums.
        batch: axes of the batch.
        walk: axes of the row index.
        taps: axes of the kernel; 0 for one run per row.
        bounded: whether taps may lie outside of the input.
        rows: of the product, MANY for all that are not few, 0 when it is not known.
        panels: of all products that the kernel computes, each or a number that all widths of tiles divide as often;
            none when they are not known.
        even: whether the run is a multiple of 4.
        deep: whether the run is multiplied in parts that stay in the caches with a block of rows.
        fetched: cache lines of the next panels that a round of the inner loop asks for.
        zero: of "quads": the type of a zero point of A, which is an operand behind the panels; "offset" for none where
            A has int8 with 128 added; "none".
        loose: whether memory may be read for a cache line beyond the end of a run.
        ready: of "quads": whether A has whole tiles of rows one behind the other, `a0` apart.
        span: of "quads": bytes that a row of A has at most, a power of two; 0 where a block of rows is not copied.
    """

    a: str
    b: str
    arithmetic: str
    epilogue: Epilogue
    batch: int = 0
    walk: int = 1
    taps: int = 0
    bounded: bool = False
    rows: int = 0
    panels: tuple[int, ...] = ()
    even: bool = False
    deep: bool = False
    fetched: int = FETCHED
    zero: ZeroForm = "none"
    loose: bool = False
    ready: bool = False
    span: int = 0

    @property
    def sums(self) -> Arithmetic:
        return Arithmetic(self.arithmetic)

    @property
    def streams(self) -> bool:
        """Whether tiles ask for the next panels: not where the panels alone are what a product reads."""
        return self.rows == 0 or self.rows > SKINNY

    @property
    def stored(self) -> tuple[DType, DType]:
        """Element types of A and of the panels."""
        return DType.of(self.a), DType.of(self.b)

    @property
    def reads_zero(self) -> bool:
        """Whether the zero point of A is an operand."""
        return self.zero in ("uint8", "int8")

    def names(self) -> tuple[str, ...]:
        """The kernel's integers, in order; strides count elements.

        m, n, k: rows, columns, the run. parts, grain: work items of one batch, and how many rows (if by_rows is not 0)
        or panels each has. block: rows that are multiplied by all panels before the next ones. start, c_start: the
        first elements of A and C. columns, rows: distance of the batches in what is read by column, by row. depth: of
        the parts of a deep run. batch_size<i>, batch_{a,b,c}<i>: size and strides of the batch. size<i>, a<i>, c<i>:
        size and strides of the walk. taps<i>, tap<i>: size and stride of the kernel. With bounds, for each tap axis,
        which belongs to the walk's axis after the first: step<i>, pad<i>, dilation<i>, input<i>.
        """
        found = ["m", "n", "k", "parts", "by_rows", "grain", "block", "start", "c_start", "columns", "rows"]
        if self.deep:
            found.append("depth")
        if self.arithmetic == QUADS:
            found.append("panel")
        for i in range(self.batch):
            found += [f"{name}{i}" for name in ("batch_size", "batch_a", "batch_b", "batch_c")]
        for i in range(self.walk):
            found += [f"{name}{i}" for name in ("size", "a", "c")]
        for i in range(self.taps):
            found += [f"{name}{i}" for name in ("taps", "tap")]
            if self.bounded:
                found += [f"{name}{i}" for name in ("step", "pad", "dilation", "input")]
        return tuple(found)

    def params(self, values: Mapping[str, Size]) -> tuple[Size, ...]:
        """The integers in the kernel's order."""
        return tuple(values[name] for name in self.names())

    def kernel(self) -> Kernel:
        return Kernel(FAMILY, {**vars(self), "epilogue": self.epilogue.to_json()})

    @staticmethod
    def from_json(parameters: Mapping[str, Any]) -> Product:
        found = {"epilogue": Epilogue.from_json(parameters["epilogue"]), "panels": tuple(parameters["panels"])}
        return Product(**{**parameters, **found})


def row_hint(rows: Size) -> int:
    """The parameter `rows` of a product."""
    return min(rows, MANY) if isinstance(rows, int) else 0


def panel_hint(panels: Size, rows: int) -> int:
    """One of the parameter `panels` of a product whose parameter `rows` is known; 0 when it is not known."""
    if not isinstance(panels, int):
        return 0
    widest = 8 if 0 < rows <= SKINNY else 4  # panels of the widest tiles, or a multiple of them
    return panels if panels <= widest else widest + panels % widest
