"""MatMulInteger: 8-bit integers less their zero points, multiplied in pairs of int16 and summed in int32."""

from __future__ import annotations

from collections.abc import Sequence

from ge_backend_cpu.contract.arithmetic import PAIRS, Arithmetic
from ge_backend_cpu.contract.cost import figures
from ge_backend_cpu.contract.matrix import Matrix
from ge_backend_cpu.contract.pairs import Pairs, Zero
from ge_backend_cpu.contract.plan import Plan, Walk, distinct, multiply
from ge_backend_cpu.contract.product import Product
from ge_backend_cpu.contract.sides import classifier
from ge_backend_cpu.contract.site import Collector, Site, site_of
from ge_backend_cpu.contract.tile import PANEL
from ge_backend_cpu.implementations import implementation
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Launch, Operand, Recipe, source
from ge_backend_cpu.ops.matmul import matrices
from ge_core.backend import Implementation, Options
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import int32
from ge_core.ir.graph import Node, Value


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
