"""Writes to parameters and to tensors: the function gives what the first operand holds afterwards."""

from __future__ import annotations

from typing import Any

from ge_core.ir import dims
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import primitive
from .indexing import rows


@primitive("Assign", writes=True)
def assign(c: Call, variable: Value, value: Any) -> Value:
    """Assign(variable, value)"""
    return c.tensor(value, variable.dtype)


@primitive("AssignAdd", "AssignSub", writes=True)
def assign_add(c: Call, variable: Value, value: Any) -> Value:
    """AssignAdd(variable, value); AssignSub(variable, value)"""
    change = c.tensor(value, variable.dtype)
    return c.b.Add(variable, change) if c.op == "AssignAdd" else c.b.Sub(variable, change)


_ROWS = {"ScatterUpdate": "none", "ScatterAdd": "add", "ScatterSub": "add", "ScatterMul": "mul", "ScatterMax": "max",
         "ScatterMin": "min"}  # fmt: skip


@primitive(*_ROWS, writes=True)
def scatter_rows(c: Call, x: Value, indices: Value, updates: Value) -> Value:
    """ScatterUpdate(use_locking=True)(x, indices, updates); ScatterAdd; Sub; Mul; Max; Min: of rows"""
    source = c.b.Neg(updates) if c.op == "ScatterSub" else updates
    flat = c.reshape(source, (dims.product(indices.shape), *x.shape[1:]))
    return rows(c, x, 0, indices, flat, _ROWS[c.op])


_PLACES = {"ScatterNdUpdate": "none", "ScatterNdAdd": "add", "ScatterNdSub": "add", "ScatterNdMul": "mul",
           "ScatterNdMax": "max", "ScatterNdMin": "min"}  # fmt: skip


@primitive(*_PLACES, writes=True)
def scatter_places(c: Call, x: Value, indices: Value, updates: Value) -> Value:
    """ScatterNdUpdate(use_locking=True)(x, indices, updates); ScatterNdAdd; Sub; Mul; Max; Min"""
    source = c.b.Neg(updates) if c.op == "ScatterNdSub" else updates
    return c.b.ScatterND(x, c.b.Cast(indices, to="int64"), source, reduction=_PLACES[c.op])


@primitive("IndexAdd", writes=True, ignores=("use_lock", "check_index_bound"))
def index_add(c: Call, x: Value, indices: Value, y: Value, axis: int) -> Value:
    """IndexAdd(axis, use_lock=True, check_index_bound=True)(x, indices, y)"""
    return rows(c, x, c.axis(axis, x.rank), indices, y, "add")


@primitive("InplaceIndexAdd", writes=True)
def inplace_index_add(c: Call, var: Value, indices: Value, updates: Value, axis: int) -> Value:
    """InplaceIndexAdd(axis)(var, indices, updates)"""
    return rows(c, var, c.axis(axis, var.rank), indices, updates, "add")
