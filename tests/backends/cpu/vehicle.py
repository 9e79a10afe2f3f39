"""A backend with a handful of trivial kernels, so that the runtime is tested without the real generators.

Float32 Add, Sub and Mul of equal shapes; Neg in two launches over a workspace, the second in reverse order, so that a
missing barrier shows; Gather along axis 0 with an index check; int64 Div with a check for zero; MatMul with a constant
as a row-times-prepared-column loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ge_backend_cpu.backend import CpuBackend
from ge_backend_cpu.emit import FLOAT, Function, constant
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import (
    DIVISION_BY_ZERO,
    INDEX_OUT_OF_RANGE,
    Kernel,
    Launch,
    Recipe,
    family,
    launch_data,
    prepared,
    recipe,
    result,
    source,
    work,
)
from ge_core.backend import Group, Implementation, Options, Refusal, operands
from ge_core.ir import DType, Graph, Layout, dims
from ge_core.ir.clone import clone_graph
from ge_core.ir.graph import Node, source_of
from ge_core.passes.base import SWITCHES
from ge_core.plan.build import PlanRequest, build_plan
from ge_core.plan.plan import ExecutionPlan

F32, I64 = DType.of("float32"), DType.of("int64")
SLOW = 1_000_000
"""Picoseconds per element that launches claim, so that small tensors are split among threads."""
BINARY = {"Add": "fadd", "Sub": "fsub", "Mul": "fmul"}


@family("vehicle.binary")
def emit_binary(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    f = Function(module, symbol, isa, 3)
    x, y, z = f.operands
    operation = getattr(f.b, parameters["operation"])
    whole = f.add(f.lo, f.mul(f.div(f.sub(f.hi, f.lo), f.lanes), f.lanes))
    with f.loop(f.lo, whole, f.lanes) as loop:
        a, b = (f.load(p, loop.index, F32, f.lanes) for p in (x, y))
        f.store(operation(a, b), z, loop.index, F32)
    with f.loop(whole, f.hi) as loop:
        f.store(operation(f.load(x, loop.index, F32), f.load(y, loop.index, F32)), z, loop.index, F32)
    f.finish()


@family("vehicle.reverse")
def emit_reverse(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """out[n - 1 - i] = -in[i]"""
    f = Function(module, symbol, isa, 2, ("n",))
    x, y = f.operands
    with f.loop(f.lo, f.hi) as loop:
        value = f.load(x, loop.index, F32)
        if parameters["negate"]:
            value = f.b.fneg(value)
        f.store(value, y, f.sub(f.sub(f.params["n"], 1), loop.index), F32)
    f.finish()


@family("vehicle.gather")
def emit_gather(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    f = Function(module, symbol, isa, 3, ("rows", "columns"))
    x, indices, y = f.operands
    rows, columns = f.params["rows"], f.params["columns"]
    with f.loop(f.lo, f.hi) as loop:
        index = f.load(indices, loop.index, I64)
        index = f.b.select(f.lt(index, 0), f.add(index, rows), index)
        f.fail(f.b.icmp_unsigned(">=", index, rows), INDEX_OUT_OF_RANGE)
        with f.loop(0, columns) as column:
            value = f.load(x, f.add(f.mul(index, columns), column.index), F32)
            f.store(value, y, f.add(f.mul(loop.index, columns), column.index), F32)
    f.finish()


@family("vehicle.divide")
def emit_divide(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    f = Function(module, symbol, isa, 3)
    x, y, z = f.operands
    with f.loop(f.lo, f.hi) as loop:
        a, b = f.load(x, loop.index, I64), f.load(y, loop.index, I64)
        f.fail(f.eq(b, 0), DIVISION_BY_ZERO)
        f.store(f.b.sdiv(a, b), z, loop.index, I64)
    f.finish()


@family("vehicle.dot")
def emit_dot(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """z[m, n] = sum x[m, k] * columns[n, k]"""
    f = Function(module, symbol, isa, 3, ("k", "n"))
    x, w, z = f.operands
    k, n = f.params["k"], f.params["n"]
    with f.loop(f.lo, f.hi) as row, f.loop(0, n) as column:
        with f.loop(0, k, carry=[constant(FLOAT, 0.0)]) as inner:
            a = f.load(x, f.add(f.mul(row.index, k), inner.index), F32)
            b = f.load(w, f.add(f.mul(column.index, k), inner.index), F32)
            inner.next = [f.b.fadd(inner.values[0], f.b.fmul(a, b))]
        f.store(inner.values[0], z, f.add(f.mul(row.index, n), column.index), F32)
    f.finish()


@recipe("vehicle.columns", layout=lambda type: Layout((1, 0)))
def columns(matrix: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(matrix.T)


class Vehicle(CpuBackend):
    """The CPU backend with these kernels and no others.

    Args:
        tables: False offers nothing, so that every node is a host step.
    """

    def __init__(self, native: bool = True) -> None:
        self.native = native

    def may_join(self, group: Group, node: Node) -> bool | Refusal:
        return Refusal("none", "the vehicle fuses nothing")

    def implementations(self, node: Node, target: str, options: Options) -> Sequence[Implementation]:
        offer = _OFFERS.get(node.op)
        if not self.native or offer is None:
            return ()
        found = offer(node)
        return () if found is None else (found,)


def _is(node: Node, dtype: DType) -> bool:
    return all(v is not None and v.dtype == dtype for v in (*operands(node), *node.outputs))


def _binary(node: Node) -> Implementation | None:
    a, b = operands(node)
    assert a is not None and b is not None
    if not _is(node, F32) or a.shape != b.shape:
        return None
    n = node.output.tensor.elements
    launch = Launch(
        kernel=Kernel("vehicle.binary", {"operation": BINARY[node.op]}),
        operands=(source(0), source(1), result()),
        extent=n,
        picoseconds=n * SLOW,
        uneven=node.op == "Sub",
    )
    return Implementation(name=f"vehicle.{node.op}", in_place=((0, 0), (1, 0)), data=launch_data([launch]))


def _negate(node: Node) -> Implementation | None:
    if not _is(node, F32):
        return None
    n = node.output.tensor.elements
    launches = [
        Launch(
            kernel=Kernel("vehicle.reverse", {"negate": negate}),
            operands=(a, b),
            params=(n,),
            extent=n,
            picoseconds=n * SLOW,
        )
        for negate, a, b in ((True, source(0), work()), (False, work(), result()))
    ]
    return Implementation(name="vehicle.Neg", workspace=n * 4, in_place=((0, 0),), data=launch_data(launches))


def _gather(node: Node) -> Implementation | None:
    x, indices = operands(node)
    assert x is not None and indices is not None
    if x.dtype != F32 or indices.dtype != I64 or node.attrs.get("axis", 0) != 0 or x.rank == 0:
        return None
    rows = indices.tensor.elements
    launch = Launch(
        kernel=Kernel("vehicle.gather", {}),
        operands=(source(0), source(1), result()),
        params=(x.shape[0], dims.product(x.shape[1:])),
        extent=rows,
        picoseconds=rows * SLOW,
    )
    return Implementation(name="vehicle.Gather", data=launch_data([launch]))


def _divide(node: Node) -> Implementation | None:
    a, b = operands(node)
    assert a is not None and b is not None
    if not _is(node, I64) or a.shape != b.shape:
        return None
    n = node.output.tensor.elements
    launch = Launch(
        kernel=Kernel("vehicle.divide", {}),
        operands=(source(0), source(1), result()),
        extent=n,
        picoseconds=n * SLOW,
    )
    return Implementation(name="vehicle.Div", data=launch_data([launch]))


def _dot(node: Node) -> Implementation | None:
    a, b = operands(node)
    assert a is not None and b is not None
    if not _is(node, F32) or source_of(b).constant is None or b.rank != 2 or a.rank < 2:
        return None
    m = dims.product(a.shape[:-1])
    launch = Launch(
        kernel=Kernel("vehicle.dot", {}),
        operands=(source(0), prepared("w"), result()),
        params=(b.shape[0], b.shape[1]),
        extent=m,
        picoseconds=m * SLOW,
    )
    recipes = {"w": Recipe("vehicle.columns", (1,))}
    return Implementation(name="vehicle.MatMul", precision="accurate", data=launch_data([launch], recipes))


_OFFERS = {**dict.fromkeys(BINARY, _binary), "Neg": _negate, "Gather": _gather, "Div": _divide, "MatMul": _dot}
OPTIONS: dict[str, object] = {"workers": 0, "num_threads": 2}


def planned(graph: Graph, backend: CpuBackend | None = None) -> ExecutionPlan:
    """The plan of a copy of a graph for the vehicle."""
    request = PlanRequest(backend or Vehicle(), "cpu", OPTIONS, switches=SWITCHES)
    return build_plan(clone_graph(graph), request)[0]


def executable(graph: Graph, backend: CpuBackend | None = None, **options: object) -> Any:
    """A graph compiled and loaded for the vehicle."""
    backend = backend or Vehicle()
    chosen = {**OPTIONS, **options}
    artifact = backend.build({"main": planned(graph, backend)}, "cpu", chosen)
    return backend.load(artifact, chosen)
