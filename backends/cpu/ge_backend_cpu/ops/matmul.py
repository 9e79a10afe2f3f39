"""MatMul and Gemm: packed weights, or operands packed on the way; batches and transposes are strides."""

from __future__ import annotations

from collections.abc import Sequence

from ge_backend_cpu.contract.arithmetic import arithmetic_of
from ge_backend_cpu.contract.matrix import Matrix, merged, row_major
from ge_backend_cpu.contract.plan import Plan, Walk, multiply
from ge_backend_cpu.contract.product import Product
from ge_backend_cpu.contract.sides import classifier
from ge_backend_cpu.contract.site import Collected, Collector, Site, may_grow, site_of
from ge_backend_cpu.implementations import implementation, joins
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import result, source
from ge_core.backend import Group, Implementation, Options, Refusal
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.graph import Node, Value
from ge_core.ir.types import Shape

PRODUCTS = frozenset({"MatMul", "Gemm"})


@joins
def join(group: Group, node: Node) -> bool | Refusal:
    """Casts of weights before a product, pointwise operators after it."""
    return may_grow(group, node)


@implementation("MatMul", "Gemm", "ge.Fused")
def matmul(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    """Product kernels for a node that is a product, or a group around one."""
    site = site_of(node)
    if site is None or site.core.op not in PRODUCTS:
        return ()
    core = site.core
    left, right = core.input(0), core.input(1)
    assert left is not None and right is not None
    sums = arithmetic_of(core.output.dtype)
    collected = _epilogue(site)
    if sums is None or collected is None or any(v.dtype != core.output.dtype for v in (left, right)):
        return ()
    plan = Plan(isa)
    batch, (a, b, c) = matrices(site, left, right)
    if all(step == 0 for step in b.steps) and len(batch) == 1 and dims.equal(a.steps[0], a.rows * a.row_step) is True:
        # one B for the whole batch: its rows are the rows of one product
        a, b, c = (_flat(m, batch[0], many) for m, many in ((a, True), (b, False), (c, True)))
        batch = ()
    a, b = plan.rows(a, batch, sums), plan.panels(b, batch)
    product = Product(a=a.dtype.name, b=b.dtype.name, arithmetic=sums.name, epilogue=collected.epilogue)
    multiply(
        plan,
        product,
        collected,
        a.at,
        b.at,
        {"m": a.rows, "n": b.columns, "k": a.columns, "rows": a.rows},
        Walk((a.rows,), (a.row_step,), (c.row_step,)),
        batch=list(zip(batch, a.steps, b.steps, c.steps, strict=True)),
    )
    reads = [site.places[v] for v in (left, right) if v in site.places]
    return (plan.implementation(site, f"product.{sums.name}", sums.element.is_integer, collected, reads),)


def _flat(matrix: Matrix, batch: Size, many: bool) -> Matrix:
    from dataclasses import replace

    return replace(matrix, rows=batch * matrix.rows if many else matrix.rows, steps=())


def matrices(site: Site, left: Value, right: Value) -> tuple[tuple[Size, ...], list[Matrix]]:
    """The batch, and A, B and C; vectors are matrices with one row or column."""
    core = site.core
    left_shape: Shape = (1, *left.shape) if left.rank == 1 else left.shape
    right_shape: Shape = (*right.shape, 1) if right.rank == 1 else right.shape
    inner = core.output.shape
    batch = inner[: len(inner) - (left.rank > 1) - (right.rank > 1)]
    c_shape = (*batch, left_shape[-2], right_shape[-1])
    a, b = _operand(site, left, left_shape, batch), _operand(site, right, right_shape, batch)
    if core.op == "Gemm":
        a = a.transposed if core.attrs.get("transA", 0) else a
        b = b.transposed if core.attrs.get("transB", 0) else b
        c_shape = core.output.shape
    return merged(batch, [a, b, row_major(result(), core.output.dtype, c_shape, batch)])


def _operand(site: Site, value: Value, shape: Shape, batch: Sequence[Size]) -> Matrix:
    found = site.constant(value)
    if found is None:
        return row_major(source(site.places[value]), value.dtype, shape, batch)
    number, constant = found
    return row_major(source(number), constant.type.dtype, shape, batch, number)


def _epilogue(site: Site) -> Collected | None:
    core = site.core
    collector = Collector(site, core.output.dtype, classifier(core))
    if core.op == "Gemm" and not _gemm(core, collector):
        return None
    return collector.collect()


def _gemm(core: Node, collector: Collector) -> bool:
    """alpha * product + beta * C, as steps; whether that can be done."""
    dtype = core.output.dtype
    alpha, beta = (float(core.attrs.get(name, 1.0)) for name in ("alpha", "beta"))  # type: ignore[arg-type]
    added = core.input(2)
    if not dtype.is_float and not (alpha.is_integer() and beta.is_integer()):
        return False
    if alpha != 1:
        collector.step(["mul", collector.last, ["number", alpha]], dtype)
    if added is not None and beta != 0:
        tree = collector.side(added)
        if tree is None:
            return False
        term = tree if beta == 1 else ["mul", tree, ["number", beta]]
        collector.step(["add", collector.last, term], dtype)
    return True
