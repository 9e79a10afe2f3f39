"""Operands of products as matrices: sizes, strides, and batch axes that broadcast."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ge_backend_cpu.kernel import Operand
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.types import Shape


@dataclass(frozen=True)
class Matrix:
    """A batch of matrices in memory.

    Attributes:
        at: their first element.
        dtype: element type as it is stored.
        rows, columns: sizes of a matrix; row_step, column_step: its strides, in elements.
        steps: strides of the batch axes; 0 where the matrices are the same.
        constant: number of the operand that holds them, when it is constant.
    """

    at: Operand
    dtype: DType
    rows: Size
    columns: Size
    row_step: Size
    column_step: Size
    steps: tuple[Size, ...] = ()
    constant: int | None = None

    @property
    def transposed(self) -> Matrix:
        return replace(self, rows=self.columns, columns=self.rows, row_step=self.column_step, column_step=self.row_step)


def row_major(at: Operand, dtype: DType, shape: Shape, batch: Sequence[Size], constant: int | None = None) -> Matrix:
    """The matrices of a row-major operand [..., rows, columns] whose batch axes broadcast to `batch`."""
    rows, columns = shape[-2:]
    step: Size = rows * columns
    steps: list[Size] = []
    own = [*([1] * (len(batch) + 2 - len(shape))), *shape[:-2]]
    for size, whole in zip(reversed(own), reversed(list(batch)), strict=True):
        steps.insert(0, 0 if size == 1 and whole != 1 else step)
        step = step * size
    return Matrix(at, dtype, rows, columns, columns, 1, tuple(steps), constant)


def merged(batch: Sequence[Size], matrices: Sequence[Matrix]) -> tuple[tuple[Size, ...], list[Matrix]]:
    """The batch with as few axes as the strides of all matrices allow."""
    sizes: list[Size] = []
    steps: list[list[Size]] = [[] for _ in matrices]
    for i in range(len(batch) - 1, -1, -1):
        if batch[i] == 1:
            continue
        own = [m.steps[i] for m in matrices]
        if sizes and all(_equal(s, inner[0] * sizes[0]) for s, inner in zip(own, steps, strict=True)):
            sizes[0] = batch[i] * sizes[0]
            continue
        sizes.insert(0, batch[i])
        for inner, s in zip(steps, own, strict=True):
            inner.insert(0, s)
    return tuple(sizes), [replace(m, steps=tuple(s)) for m, s in zip(matrices, steps, strict=True)]


def _equal(a: Size, b: Size) -> bool:
    return dims.equal(a, b) is True
