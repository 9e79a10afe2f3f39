"""Launches of products: what is packed, where it goes, how the work is cut into items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from ge_backend_cpu.contract.arithmetic import Arithmetic
from ge_backend_cpu.contract.cost import example, figures, least, overlapped
from ge_backend_cpu.contract.matrix import Matrix
from ge_backend_cpu.contract.pack import ROWS, Pack
from ge_backend_cpu.contract.product import Product, panel_hint, row_hint
from ge_backend_cpu.contract.site import Collected, Site
from ge_backend_cpu.contract.span import TILE_GAIN, TILE_ROWS, uses_tiles
from ge_backend_cpu.contract.tile import MANY, PANEL, fetched, grain
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Launch, Operand, Recipe, launch_data, prepared, result, source, work
from ge_core.backend import Implementation, PrecisionClass, Storage, operands
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType

ROW_GRAIN = 24
"""Rows of a work item: a multiple of the heights of all tiles."""
NEAR_BYTES = 384 << 10
"""Bytes of A that are to stay in the second-level cache."""


STREAMED = 0.75
"""Share of the memory's speed at which panels are read between multiplications."""
MOST_DEPTH = 1024
"""Elements of a run that is multiplied at once."""
DEPTH = 768
"""Elements of a longer run that are multiplied before the next ones."""
LEAST_DEPTH = 128
"""Elements of a tap that are worth a part of their own."""
DEEP_TAPS = 4096
"""Elements of all taps from which each tap is a part."""
DEEP_ROWS = 192
"""Rows of a block of a deep product: two thirds of `MOST_ROWS`."""


@dataclass
class Plan:
    """The launches of one node under construction.

    Attributes:
        launches, recipes, workspace: see `Implementation`.
    """

    isa: Isa
    launches: list[Launch] = field(default_factory=list)
    recipes: dict[str, Recipe] = field(default_factory=dict)
    workspace: Size = 0

    def reserve(self, elements: Size, dtype: DType) -> Operand:
        """Room in the workspace."""
        found = work(self.workspace)
        self.workspace = self.workspace + dims.floordiv(elements * (dtype.bits // 8), 64) * 64 + 64
        return found

    def prepare(self, key: str, recipe: Recipe) -> Operand:
        """A constant made at build."""
        self.recipes[key] = recipe
        return prepared(key)

    def rows(self, matrix: Matrix, batch: Sequence[Size], sums: Arithmetic) -> Matrix:
        """The matrix with neighbouring columns, in the element type of the sums."""
        if matrix.column_step == 1 and matrix.dtype == sums.element:
            return matrix
        if matrix.columns == 1 and matrix.dtype == sums.element:
            return replace(matrix, column_step=1)
        pack = Pack(matrix.dtype.name, sums.element.name, "rows", _unit(matrix), len(batch))
        sizes, steps = distinct(batch, matrix.steps, matrix.rows * matrix.columns)
        target = self.reserve(dims.product(sizes) * matrix.rows * matrix.columns, sums.element)
        self._pack(pack, matrix, target, sizes, dims.ceildiv(matrix.rows, ROWS))
        return Matrix(target, sums.element, matrix.rows, matrix.columns, matrix.columns, 1, steps)

    def panels(self, matrix: Matrix, batch: Sequence[Size], wide: DType | None = None) -> Matrix:
        """The matrix in panels of 16 columns; strides are those of the batch alone.

        Args:
            wide: element type to convert to; by default the panels keep the matrix's own.
        """
        count = dims.ceildiv(matrix.columns, PANEL)
        each = count * matrix.rows * PANEL
        sizes, steps = distinct(batch, matrix.steps, each)
        dtype = matrix.dtype
        if matrix.constant is not None:
            shape = [*sizes, matrix.rows, matrix.columns]
            transpose = matrix.column_step != 1 and matrix.columns != 1
            if transpose:
                shape[-2:] = shape[:-3:-1]
            options = {"shape": shape, "transpose": transpose}
            at = self.prepare("panels", Recipe("contract.panels", (matrix.constant,), options))
        else:
            same = f"uint{dtype.bits}" if dtype.bits < 32 else dtype.name  # the bytes are moved as they are
            pack = Pack(same, same, "panels", _unit(matrix), len(batch))
            if wide is not None and wide != dtype:
                pack, dtype = Pack(dtype.name, wide.name, "panels", _unit(matrix), len(batch)), wide
            at = self.reserve(dims.product(sizes) * each, dtype)
            self._pack(pack, matrix, at, sizes, count)
        return Matrix(at, dtype, matrix.rows, matrix.columns, PANEL, 1, steps)

    def copy_rows(self, matrix: Matrix, batch: Sequence[Size], target: Operand, target_step: Size) -> None:
        """The matrices as they are, one every `target_step` elements from the target on."""
        same = f"uint{matrix.dtype.bits}" if matrix.dtype.bits < 32 else matrix.dtype.name
        pack = Pack(same, same, "rows", _unit(matrix), len(batch))
        self._pack(pack, matrix, target, batch, dims.ceildiv(matrix.rows, ROWS), target_step)

    def _pack(
        self,
        pack: Pack,
        matrix: Matrix,
        target: Operand,
        sizes: Sequence[Size],
        parts: Size,
        target_step: Size | None = None,
    ) -> None:
        values: dict[str, Size] = {
            "outer": matrix.rows,
            "inner": matrix.columns,
            "outer_step": matrix.row_step,
            "inner_step": matrix.column_step,
            "parts": parts,
            "target_step": matrix.rows * matrix.columns if target_step is None else target_step,
        }
        for i, (size, step) in enumerate(zip(sizes, matrix.steps, strict=True)):
            values |= {f"size{i}": size, f"step{i}": step}
        elements = dims.product(sizes) * matrix.rows * matrix.columns
        self.launches.append(
            Launch(
                kernel=pack.kernel(),
                operands=(matrix.at, target),
                params=pack.params(values),
                extent=dims.product(sizes) * parts,
                picoseconds=elements * round(matrix.dtype.bits / 8 * 2e12 / figures(self.isa).near),
            )
        )

    def implementation(
        self, site: Site, name: str, exact: bool, collected: Collected, reads: Sequence[int], **more: object
    ) -> Implementation:
        """What the core gets to choose.

        Args:
            reads: operands that are read elsewhere than where the result is written.
        """
        seconds = sum(example(launch.picoseconds) for launch in self.launches) * 1e-12
        precision: PrecisionClass = "exact" if exact else "accurate"
        found = Implementation(
            name=name + (".fused" if site.after else ""),
            workspace=self.workspace,
            in_place=in_place(site, collected, reads),
            cost=seconds + figures(self.isa).launch * len(self.launches),
            precision=precision,
            data=launch_data(self.launches, self.recipes),
        )
        return replace(found, **more)  # type: ignore[arg-type]


def _unit(matrix: Matrix) -> Literal["inner", "outer", "none"]:
    if matrix.column_step == 1:
        return "inner"
    return "outer" if matrix.row_step == 1 else "none"


def distinct(batch: Sequence[Size], steps: Sequence[Size], each: Size) -> tuple[tuple[Size, ...], tuple[Size, ...]]:
    """Sizes of the batch without repetition (1 where the step is 0), and the strides of a dense copy of it."""
    sizes = tuple(1 if step == 0 else size for size, step in zip(batch, steps, strict=True))
    dense: list[Size] = []
    for size in reversed(sizes):
        dense.insert(0, 0 if size == 1 else each)
        each = each * size
    return sizes, tuple(dense)


def in_place(site: Site, collected: Collected, reads: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Operands that an output may replace: full ones of its type that nothing else of the kernel reads."""
    found = []
    epilogue = collected.epilogue
    for side, number in zip(epilogue.sides, collected.operands, strict=True):
        for output, value in enumerate(epilogue.outputs):
            if side.kind == "full" and side.dtype == epilogue.dtype(value).name and number not in reads:
                found.append((number, output))
    return tuple(found)


@dataclass(frozen=True)
class Walk:
    """The rows of a product: sizes and strides in A and in C of the axes of the row index."""

    sizes: tuple[Size, ...]
    a: tuple[Size, ...]
    c: tuple[Size, ...]


@dataclass(frozen=True)
class Taps:
    """The taps of a kernel: their numbers, and strides in A."""

    counts: tuple[Size, ...]
    steps: tuple[Size, ...]
    bounds: Mapping[str, Size] | None = None
    """The integers of a bounded product, see `Product.names`."""


def multiply(
    plan: Plan,
    product: Product,
    collected: Collected,
    a: Operand,
    b: Operand,
    values: Mapping[str, Size],
    walk: Walk,
    taps: Taps | None = None,
    zeros: Operand | None = None,
    batch: Sequence[tuple[Size, Size, Size, Size]] = (),
    point: Operand | None = None,
    outputs: Sequence[Operand] | None = None,
    sides: Sequence[Operand] | None = None,
) -> None:
    """Add the launch of a product.

    Args:
        values: m, n, k, and what else `Product.names` has that is not 0.
        batch: size and strides in A, B and C of each axis.
        point: the zero point of A, if the product reads it.
        outputs, sides: where the results go and what the epilogue reads, by default the node's.
    """
    m, n, k = values["m"], values["n"], values["k"]
    taps = taps or Taps((), ())
    whole_run = k * dims.product(taps.counts)
    deep = row_hint(m) >= MANY and product.sums.element.bits == 32 and _is_deep(k, whole_run)
    count = dims.product(size for size, *_ in batch)
    by_rows, each, parts = cut(m, n, TILE_ROWS if product.span else ROW_GRAIN)
    block = _block(k, product.sums, deep)
    named: dict[str, Size] = {
        "start": 0, "c_start": 0, "columns": 0, "rows": 0, **values, "parts": parts, "by_rows": int(by_rows),
        "grain": each, "block": block, "depth": _depth(k),
    }  # fmt: skip
    for i, (size, a_step, b_step, c_step) in enumerate(batch):
        named |= {f"batch_size{i}": size, f"batch_a{i}": a_step, f"batch_b{i}": b_step, f"batch_c{i}": c_step}
    for i, (size, a_step, c_step) in enumerate(zip(walk.sizes, walk.a, walk.c, strict=True)):
        named |= {f"size{i}": size, f"a{i}": a_step, f"c{i}": c_step}
    for i, (size, step) in enumerate(zip(taps.counts, taps.steps, strict=True)):
        named |= {f"taps{i}": size, f"tap{i}": step}
    named |= taps.bounds or {}
    hint = panel_hint(dims.ceildiv(n, PANEL), row_hint(m))
    product = replace(
        product,
        batch=len(batch),
        walk=len(walk.sizes),
        taps=len(taps.counts),
        bounded=taps.bounds is not None,
        rows=row_hint(m),
        panels=(hint,) if hint else (),
        even=isinstance(k, int) and k % 4 == 0,
        deep=deep,
        fetched=fetched(plan.isa, product.sums.width(plan.isa), _height(m, block), product.stored[1].bits),
    )
    if sides is None:
        sides = [source(number) for number in collected.operands]
    if outputs is None:
        outputs = [result(i) for i in range(len(collected.epilogue.outputs))]
    plan.launches.append(
        Launch(
            kernel=product.kernel(),
            operands=(a, b, *(o for o in (point, zeros) if o is not None), *sides, *outputs),
            params=product.params(named),
            extent=count * parts,
            picoseconds=_picoseconds(plan.isa, count, m, dims.ceildiv(n, PANEL) * PANEL, whole_run, product),
        )
    )


def _picoseconds(isa: Isa, count: Size, m: Size, columns: Size, run: Size, product: Product) -> Size:
    """The multiplications, zeros of panels included, while the panels are read from memory."""
    speed = figures(isa)
    each = speed.multiply_picoseconds(product.sums.element.bits)
    if uses_tiles(product, isa):
        each = max(each // TILE_GAIN, 1)
    far = speed.far * STREAMED if product.streams else speed.far
    read = round(product.stored[1].bits / 8 * 1e12 / far)
    return count * columns * run * overlapped(m * each, read)


def cut(m: Size, n: Size, row_grain: int = ROW_GRAIN) -> tuple[bool, Size, Size]:
    """How a product is cut into work items: whether along its rows, how much each has, how many there are."""
    rows = least(m)
    panels = dims.ceildiv(n, PANEL)
    if rows >= 2 * row_grain and rows >= least(n):
        return True, row_grain, dims.ceildiv(m, row_grain)
    each = grain(row_hint(m))
    return False, each, dims.ceildiv(panels, each)


def _is_deep(k: Size, whole: Size) -> bool:
    """Whether a run, of one tap and of all, is multiplied in parts: where a tile's panels would fill the cache."""
    return least(k) > MOST_DEPTH or (least(k) >= LEAST_DEPTH and least(whole) > DEEP_TAPS)


def _block(k: Size, sums: Arithmetic, deep: bool) -> int:
    """Rows of A that stay in the cache while all panels pass: more where that many panels would pass often."""
    row = min(max(least(k), 1), MOST_DEPTH) * sums.element.bits // 8
    found = max(NEAR_BYTES // row // ROW_GRAIN, min(2 * NEAR_BYTES // row, DEEP_ROWS) // ROW_GRAIN) * ROW_GRAIN
    return min(found, DEEP_ROWS) if deep else found


def _height(rows: Size, block: int) -> int:
    """Rows of the blocks that rows are cut into, 0 when it is not known."""
    return -(-rows // max((rows + block // 2) // block, 1)) if isinstance(rows, int) else 0


def _depth(k: Size) -> Size:
    """Parts of nearly equal length of a deep run."""
    parts = dims.maximum(dims.ceildiv(k, DEPTH), 1)
    return dims.ceildiv(k, parts * 16) * 16


def storages(site: Site, collected: Collected, image: int, stored: Storage, last: Storage) -> list[Storage]:
    """Storage of a site's operands: the image's, and that of the result for operands of its shape.

    Args:
        image: number of the operand that the contraction reads.
        last: storage of the result.
    """
    found = [Storage()] * len(operands(site.node))
    for side, number in zip(collected.epilogue.sides, collected.operands, strict=True):
        if side.kind == "full":
            found[number] = last
    found[image] = stored
    return found
