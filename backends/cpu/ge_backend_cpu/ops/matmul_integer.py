"""MatMulInteger: 8-bit integers less their zero points, summed in int32.

By dot products of four bytes where the instruction set has them and the right operand is int8; else by pairs of int16.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ge_backend_cpu.contract.arithmetic import PAIRS, QUADS, Arithmetic
from ge_backend_cpu.contract.cost import figures
from ge_backend_cpu.contract.dot import has_dots
from ge_backend_cpu.contract.matrix import Matrix
from ge_backend_cpu.contract.pairs import Pairs, Zero
from ge_backend_cpu.contract.plan import Plan, Walk, distinct, multiply
from ge_backend_cpu.contract.product import Product, ZeroForm
from ge_backend_cpu.contract.quads import Quads, fits
from ge_backend_cpu.contract.sides import classifier
from ge_backend_cpu.contract.site import Collected, Collector, Site, site_of
from ge_backend_cpu.contract.span import lines_of, span_of
from ge_backend_cpu.contract.tile import PANEL
from ge_backend_cpu.implementations import implementation
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Launch, Operand, Recipe, source
from ge_backend_cpu.ops.matmul import matrices
from ge_core.backend import Implementation, Options
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType, int8, int32
from ge_core.ir.graph import Node, Value, constant_of


@implementation("MatMulInteger", "ge.Fused")
def matmul_integer(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    """A product kernel for a node that is an integer product, or a group around one."""
    site = site_of(node)
    if site is None or site.core.op != "MatMulInteger":
        return ()
    core = site.core
    left, right = core.input(0), core.input(1)
    assert left is not None and right is not None
    zeros = [_zero(value, size) for value, size in ((core.input(2), left.shape[-2:-1]), (core.input(3), right.shape))]
    collected = Collector(site, int32, classifier(core)).collect()
    if collected is None or left.dtype.bits != 8 or right.dtype.bits != 8 or None in zeros:
        return ()
    if has_dots(isa) and zeros[0] != "vector":
        quads = _quads(site, collected, isa)
        if quads is not None:
            return (quads,)
    plan = Plan(isa)
    batch, (a, b, c) = matrices(site, left, right)
    sizes, a_steps = distinct(batch, a.steps, a.rows * dims.ceildiv(a.columns, 2))
    a_at = _packed(plan, site, a, core.input(2), "rows", zeros[0], sizes)
    b_sizes, b_steps = distinct(batch, b.steps, dims.ceildiv(b.columns, PANEL) * dims.ceildiv(b.rows, 2) * PANEL)
    b_at = _panels(plan, site, b, core.input(3), zeros[1], b_sizes)
    pairs = Arithmetic(PAIRS)
    product = Product(a="int32", b="int32", arithmetic=pairs.name, epilogue=collected.epilogue)
    run = dims.ceildiv(a.columns, 2)
    multiply(
        plan,
        product,
        collected,
        a_at,
        b_at,
        {"m": a.rows, "n": b.columns, "k": run, "rows": a.rows},
        Walk((a.rows,), (run,), (c.row_step,)),
        batch=list(zip(batch, a_steps, b_steps, c.steps, strict=True)),
    )
    reads = [site.places[v] for v in core.inputs if v is not None and v in site.places]
    return (plan.implementation(site, "product.pairs", True, collected, reads),)


def _quads(site: Site, collected: Collected, isa: Isa) -> Implementation | None:
    """By dot products of bytes; None where the right operand less its zero points is not certainly int8."""
    left, right, zero, other = (site.core.input(k) for k in range(4))
    assert left is not None and right is not None
    batch, (a, b, c) = matrices(site, left, right)
    weights, points = constant_of(right), constant_of(other)
    if weights is None:
        if right.dtype != int8 or (other is not None and (points is None or points.array().any())):
            return None
    elif (other is not None and points is None) or not fits(weights, points):
        return None
    if all(step == 0 for step in b.steps) and len(batch) == 1 and dims.equal(a.steps[0], a.rows * a.row_step) is True:
        # one B for the whole batch: its rows are the rows of one product
        a, c = (replace(m, rows=batch[0] * m.rows, steps=()) for m in (a, c))
        b, batch = replace(b, steps=()), ()
    plan = Plan(isa)
    run = dims.ceildiv(a.columns, 4)
    lines = lines_of(run)
    a_at, a_steps, a_step = a.at, tuple(dims.floordiv(step, 4) for step in a.steps), run
    if left.dtype == int8 or dims.equal(run * 4, a.columns) is not True:
        sizes, a_steps = distinct(batch, a.steps, a.rows * run)
        form = Quads(left.dtype.name, "rows", len(sizes))
        a_at = _copied(plan, form, a, sizes, a.rows, a.rows * run)
    b_sizes, b_steps = distinct(batch, b.steps, dims.ceildiv(b.columns, PANEL) * (lines + 1) * PANEL)
    if b.constant is None:
        parts = dims.ceildiv(b.columns, PANEL)
        b_at = _copied(plan, Quads("int8", "panels", len(b_sizes)), b, b_sizes, parts, parts * (lines + 1) * PANEL)
    else:
        found = None if other is None else site.constant(other)
        inputs = (b.constant,) if found is None else (b.constant, found[0])
        b_at = plan.prepare("panels", Recipe("contract.quad_panels", inputs, {"shape": [*b_sizes, b.rows, b.columns]}))
    form_of_zero = zero_of(left.dtype, zero)
    product = Product(
        a="int32", b="int32", arithmetic=QUADS, epilogue=collected.epilogue, zero=form_of_zero, span=span_of(run)
    )  # fmt: skip
    multiply(
        plan,
        product,
        collected,
        a_at,
        b_at,
        {"m": a.rows, "n": b.columns, "k": run, "rows": a.rows, "panel": (lines + 1) * PANEL},
        Walk((a.rows,), (a_step,), (c.row_step,)),
        batch=list(zip(batch, a_steps, b_steps, c.steps, strict=True)),
        point=source(site.places[zero]) if zero is not None and product.reads_zero else None,
    )
    reads = [site.places[v] for v in site.core.inputs if v is not None and v in site.places]
    return plan.implementation(site, "product.quads", True, collected, reads)


def zero_of(dtype: DType, zero: Value | None) -> ZeroForm:
    """`Product.zero` of the left operand."""
    known = constant_of(zero)
    if zero is None or (dtype != int8 and known is not None and not known.array().any()):
        return "offset" if dtype == int8 else "none"
    return "int8" if dtype == int8 else "uint8"


def _copied(plan: Plan, form: Quads, matrix: Matrix, sizes: Sequence[Size], parts: Size, each: Size) -> Operand:
    """Room with a copy of the matrices, each of so many int32."""
    count = dims.product(sizes)
    target = plan.reserve(count * each, int32)
    lines = lines_of(dims.ceildiv(matrix.rows, 4)) if form.form == "panels" else 0
    values: dict[str, Size] = {"outer": matrix.rows, "inner": matrix.columns, "parts": parts, "lines": lines}
    for i, (size, step) in enumerate(zip(sizes, matrix.steps, strict=True)):
        values |= {f"size{i}": size, f"step{i}": step}
    plan.launches.append(
        Launch(
            kernel=form.kernel(),
            operands=(matrix.at, target),
            params=form.params(values),
            extent=count * parts,
            picoseconds=count * each * round(8e12 / figures(plan.isa).near),
        )
    )
    return target


def _zero(value: Value | None, sizes: Sequence[Size]) -> Zero | None:
    """How a zero point is stored; None for what the kernel does not know. Args: sizes: the last is its length."""
    if value is None:
        return "none"
    if dims.product(value.shape) == 1:
        return "scalar"
    return "vector" if value.rank == 1 and sizes and dims.equal(value.shape[0], sizes[-1]) is True else None


def _panels(
    plan: Plan, site: Site, matrix: Matrix, zero: Value | None, kind: Zero | None, sizes: Sequence[Size]
) -> Operand:
    constant = None if zero is None else site.constant(zero)
    if matrix.constant is None or (zero is not None and constant is None):
        return _packed(plan, site, matrix, zero, "panels", kind, sizes)
    inputs = (matrix.constant,) if constant is None else (matrix.constant, constant[0])
    options = {"shape": [*sizes, matrix.rows, matrix.columns]}
    return plan.prepare("panels", Recipe("contract.pair_panels", inputs, options))


def _packed(
    plan: Plan, site: Site, matrix: Matrix, zero: Value | None, form: str, kind: Zero | None, sizes: Sequence[Size]
) -> Operand:
    assert kind is not None
    pairs = Pairs(matrix.dtype.name, form, kind, len(sizes))  # type: ignore[arg-type]
    rows = form == "rows"
    parts = matrix.rows if rows else dims.ceildiv(matrix.columns, PANEL)
    line = dims.ceildiv(matrix.columns, 2) if rows else dims.ceildiv(matrix.rows, 2) * PANEL
    count = dims.product(sizes)
    target = plan.reserve(count * parts * line, int32)
    values: dict[str, Size] = {"outer": matrix.rows, "inner": matrix.columns, "parts": parts}
    for i, (size, step) in enumerate(zip(sizes, matrix.steps, strict=True)):
        values |= {f"size{i}": size, f"step{i}": step}
    plan.launches.append(
        Launch(
            kernel=pairs.kernel(),
            operands=(matrix.at, target, *(() if zero is None else (source(site.places[zero]),))),
            params=pairs.params(values),
            extent=count * parts,
            picoseconds=count * parts * line * round(8e12 / figures(plan.isa).near),
        )
    )
    return target
