"""Constants, variables, and operators that pass their tensor on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ge_core.errors import ModelImportError, UnsupportedError
from ge_core.ir import dims
from ge_core.ir.graph import Value

from ..call import Call
from ..complex_pair import ComplexPair
from ..element_types import dtype_of, real_of
from ..registry import tf_op
from ..tensor_proto import constant_of_proto
from ..variables import Variable


@tf_op("Const", raw=True)
def const(c: Call) -> Any:
    """Const() -> output; value, dtype"""
    proto = c.attr("value")
    constant = constant_of_proto(proto, c.node.name)
    if constant.type.dtype.kind == "complex":
        array = constant.array()
        real = real_of(constant.type.dtype).numpy
        import numpy as np

        parts = np.stack([array.real, array.imag], -1).astype(real)
        return ComplexPair(c.b.constant(parts))
    return c.b.graph.add_constant(constant, "const")


@tf_op(
    "Identity", "StopGradient", "PreventGradient", "CheckNumerics", "CheckNumericsV2", "Snapshot", "GuaranteeConst",
    "DeepCopy", "PlaceholderWithDefault", raw=True,
)  # fmt: skip
def identity(c: Call, input: Any) -> Any:
    """Identity(input) -> output; T
    StopGradient(input) -> output; T
    PreventGradient(input) -> output; T, message
    CheckNumerics(tensor) -> output; T, message
    CheckNumericsV2(tensor) -> output; T, message
    Snapshot(input) -> output; T
    GuaranteeConst(input) -> output; T
    DeepCopy(x) -> y; T
    PlaceholderWithDefault(input) -> output; dtype, shape
    """
    return input


@tf_op("ReadVariableOp", raw=True)
def read_variable(c: Call, resource: Any) -> Value:
    """ReadVariableOp(resource) -> value; dtype"""
    return c.converter.store.read(_variable(c, resource))


def _variable(c: Call, resource: Any) -> Variable:
    if not isinstance(resource, Variable):
        raise ModelImportError(f"{c.name} is given something that is no variable", where=c.loc)
    return resource


@tf_op("VarHandleOp", raw=True)
def var_handle(c: Call) -> Variable:
    """VarHandleOp() -> resource; container, shared_name, debug_name, dtype, shape, allowed_devices"""
    name = c.node.name
    if name not in c.converter.handles:
        raise ModelImportError(f"nothing holds a value of the variable {name!r}", where=c.loc)
    return c.converter.handles[name]


@tf_op("VariableV2", raw=True)
def variable_v2(c: Call) -> Value:
    """VariableV2() -> ref; shape, dtype, container, shared_name"""
    name = c.node.name
    if name not in c.converter.handles:
        raise ModelImportError(f"nothing holds a value of the variable {name!r}", where=c.loc)
    return c.converter.store.read(c.converter.handles[name])


@tf_op("VarIsInitializedOp", raw=True)
def is_initialized(c: Call, resource: Any) -> Value:
    """VarIsInitializedOp(resource) -> is_initialized"""
    return c.b.constant(True)


@tf_op("VariableShape", raw=True)
def variable_shape(c: Call, input: Any) -> Value:
    """VariableShape(input) -> output; out_type"""
    shape = _variable(c, input).type.shape
    assert shape is not None
    return c.size_tensor(shape, c.dtype("out_type"))


@tf_op("AssignVariableOp", raw=True)
def assign(c: Call, resource: Any, value: Value) -> list[Any]:
    """AssignVariableOp(resource, value); dtype, validate_shape"""
    write(c, _variable(c, resource), value)
    return []


def write(c: Call, variable: Variable, value: Value) -> None:
    """Let a variable hold a value, whose sizes may be known only when the model runs."""
    shape = variable.type.shape
    assert shape is not None
    same = len(shape) == value.rank and all(
        dims.equal(a, b) is not False for a, b in zip(shape, value.shape, strict=True)
    )
    if same and value.shape != shape:
        c.b.ge.Check(c.b.Equal(c.b.ints(value.shape), c.b.ints(shape)), message="a variable would change its shape")
        value = c.reshape(value, shape)
    c.converter.store.write(variable, value)


@tf_op("AssignAddVariableOp", raw=True)
def assign_add(c: Call, resource: Any, value: Value) -> list[Any]:
    """AssignAddVariableOp(resource, value); dtype"""
    store, variable = c.converter.store, _variable(c, resource)
    write(c, variable, c.b.Add(store.read(variable), value))
    return []


@tf_op("AssignSubVariableOp", raw=True)
def assign_sub(c: Call, resource: Any, value: Value) -> list[Any]:
    """AssignSubVariableOp(resource, value); dtype"""
    store, variable = c.converter.store, _variable(c, resource)
    write(c, variable, c.b.Sub(store.read(variable), value))
    return []


@tf_op("ResourceCountUpTo", raw=True)
def count_up_to(c: Call, resource: Any) -> Value:
    """ResourceCountUpTo(resource) -> output; limit, T"""
    store, variable = c.converter.store, _variable(c, resource)
    before = store.read(variable)
    c.b.ge.Check(c.b.Less(before, c.like(c.attr("limit"), before)), message="the counter has reached its limit")
    store.write(variable, c.b.Add(before, c.like(1, before)))
    return before


@tf_op(
    "ResourceScatterAdd", "ResourceScatterSub", "ResourceScatterMul", "ResourceScatterMin", "ResourceScatterMax",
    "ResourceScatterUpdate", raw=True,
)  # fmt: skip
def resource_scatter(c: Call, resource: Any, indices: Value, updates: Value) -> list[Any]:
    """ResourceScatterAdd(resource, indices, updates); dtype, Tindices
    ResourceScatterSub(resource, indices, updates); dtype, Tindices
    ResourceScatterMul(resource, indices, updates); dtype, Tindices
    ResourceScatterMin(resource, indices, updates); dtype, Tindices
    ResourceScatterMax(resource, indices, updates); dtype, Tindices
    ResourceScatterUpdate(resource, indices, updates); dtype, Tindices
    """
    store, variable = c.converter.store, _variable(c, resource)
    data = store.read(variable)
    rows = c.unsqueeze(c.int64(indices), indices.rank)
    updates = c.expand(updates, (*indices.shape, *data.shape[1:]))
    store.write(variable, scatter_nd(c, data, rows, updates, c.name.removeprefix("ResourceScatter")))
    return []


@tf_op("ResourceScatterDiv", raw=True)
def resource_scatter_div(c: Call, resource: Any, indices: Value, updates: Value) -> list[Any]:
    """ResourceScatterDiv(resource, indices, updates); dtype, Tindices"""
    store, variable = c.converter.store, _variable(c, resource)
    data = store.read(variable)
    if not data.dtype.is_float:
        raise c.unsupported("integers")
    rows = c.unsqueeze(c.int64(indices), indices.rank)
    divisors = scatter_nd(
        c, c.full(data.shape, 1, data.dtype), rows, c.expand(updates, (*indices.shape, *data.shape[1:])), "Mul"
    )
    store.write(variable, c.b.Div(data, divisors))
    return []


@tf_op(
    "ResourceScatterNdUpdate", "ResourceScatterNdAdd", "ResourceScatterNdSub", "ResourceScatterNdMin",
    "ResourceScatterNdMax", raw=True,
)  # fmt: skip
def resource_scatter_nd(c: Call, ref: Any, indices: Value, updates: Value) -> list[Any]:
    """ResourceScatterNdUpdate(ref, indices, updates); T, Tindices, use_locking, bad_indices_policy
    ResourceScatterNdAdd(ref, indices, updates); T, Tindices, use_locking, bad_indices_policy
    ResourceScatterNdSub(ref, indices, updates); T, Tindices, use_locking, bad_indices_policy
    ResourceScatterNdMin(ref, indices, updates); T, Tindices, use_locking, bad_indices_policy
    ResourceScatterNdMax(ref, indices, updates); T, Tindices, use_locking, bad_indices_policy
    """
    store, variable = c.converter.store, _variable(c, ref)
    data = store.read(variable)
    rows = c.int64(indices)
    store.write(variable, scatter_nd(c, data, rows, updates, c.name.removeprefix("ResourceScatterNd")))
    return []


_REDUCTIONS = {"Update": "none", "Add": "add", "Sub": "add", "Mul": "mul", "Min": "min", "Max": "max"}


def scatter_nd(c: Call, data: Value, rows: Value, updates: Value, kind: str) -> Value:
    """`data` with updates put in at index rows, combined as `kind` says."""
    if kind == "Sub":
        updates = c.b.Neg(updates)
    return c.b.ScatterND(data, rows, updates, reduction=_REDUCTIONS[kind])


@tf_op("ResourceGather", raw=True)
def resource_gather(c: Call, resource: Any, indices: Value) -> Value:
    """ResourceGather(resource, indices) -> output; batch_dims, validate_indices, dtype, Tindices"""
    from .indexing import gather

    data = c.converter.store.read(_variable(c, resource))
    return gather(c, data, indices, 0, c.attr("batch_dims"))


@tf_op("ResourceGatherNd", raw=True)
def resource_gather_nd(c: Call, resource: Any, indices: Value) -> Value:
    """ResourceGatherNd(resource, indices) -> output; dtype, Tindices"""
    return c.b.GatherND(c.converter.store.read(_variable(c, resource)), c.int64(indices))


@tf_op("IdentityN", raw=True)
def identity_n(c: Call, input: Sequence[Any]) -> list[Any]:
    """IdentityN(input...) -> output...; T"""
    return list(input)


@tf_op("Fill")
def fill(c: Call, dims: Value, value: Value) -> Value:
    """Fill(dims, value) -> output; T, index_type"""
    return filled(c, dims, value)


def filled(c: Call, shape: Value, value: Value) -> Value:
    """A tensor of one value, of a shape that may be computed."""
    sizes = c.sizes(shape)
    if sizes is None:
        raise c.unsupported("a shape of unknown rank")
    array = c.array(value)
    if array is not None:
        return c.full(sizes, array.reshape(-1)[0], value.dtype)
    return c.expand(value, sizes)


@tf_op("Empty")
def empty(c: Call, shape: Value) -> Value:
    """Empty(shape) -> output; dtype, init"""
    sizes = c.sizes(shape)
    if sizes is None:
        raise c.unsupported("a shape of unknown rank")
    return c.full(sizes, 0, c.dtype("dtype"))


@tf_op("ZerosLike", complex=True, raw=True)
def zeros_like(c: Call, x: Any) -> Any:
    """ZerosLike(x) -> y; T"""
    from dataclasses import replace

    from ..tensor_list import TensorList

    if isinstance(x, TensorList):
        return replace(x, items=None)
    if isinstance(x, ComplexPair):
        return ComplexPair(c.full(x.parts.shape, 0, x.parts.dtype))
    return c.full(x.shape, 0, x.dtype)


@tf_op("OnesLike")
def ones_like(c: Call, x: Value) -> Value:
    """OnesLike(x) -> y; T"""
    return c.full(x.shape, 1, x.dtype)


@tf_op("EnsureShape")
def ensure_shape(c: Call, input: Value) -> Value:
    """EnsureShape(input) -> output; shape, T"""
    wanted = c.attr("shape")
    if wanted is None:
        return input
    if input.rank != len(wanted):
        raise UnsupportedError(f"EnsureShape: rank {input.rank}, expected {len(wanted)}", where=c.loc)
    for size, want in zip(input.shape, wanted, strict=True):
        if want is not None and dims.equal(size, want) is False:
            raise UnsupportedError(f"EnsureShape: size {size}, expected {want}", where=c.loc)
    if any(w is not None and not isinstance(s, int) for s, w in zip(input.shape, wanted, strict=True)):
        sizes = [s if w is None else w for s, w in zip(input.shape, wanted, strict=True)]
        same = c.b.Equal(c.b.ints(input.shape), c.b.ints(sizes))
        c.b.ge.Check(same, message=f"the shape does not fit {list(wanted)}")
        return c.b.Reshape(input, c.b.ints(sizes), allowzero=1)
    return input


@tf_op("LinSpace")
def lin_space(c: Call, start: Value, stop: Value, num: Value) -> Value:
    """LinSpace(start, stop, num) -> output; T, Tidx"""
    import numpy as np

    count, first, last = c.sizes(num), c.array(start), c.array(stop)
    if count is None or not isinstance(count[0], int):
        raise c.unsupported("a number of steps that is not known")
    n = count[0]
    if first is not None and last is not None:
        dtype = start.dtype.numpy
        if n == 1:
            return c.b.constant(first.reshape(1).astype(dtype))
        step = (last.astype(dtype) - first.astype(dtype)) / np.asarray(n - 1, dtype)
        found = (first.astype(dtype) + step * np.arange(n, dtype=dtype)).astype(dtype)
        found[-1] = last
        return c.b.constant(found)
    b = c.b
    if n == 1:
        return c.reshape(start, (1,))
    step = b.Div(b.Sub(stop, start), c.like(n - 1, start))
    steps = b.Mul(c.b.constant(np.arange(n - 1).astype(start.dtype.numpy)), step)
    return b.Concat([b.Add(start, steps), c.reshape(stop, (1,))], axis=0)


@tf_op("Range")
def range_(c: Call, start: Value, limit: Value, delta: Value) -> Value:
    """Range(start, limit, delta) -> output; Tidx"""
    dtype = start.dtype
    if dtype.is_integer and dtype.name not in ("int32", "int64", "int16"):
        wide = [c.int64(v) for v in (start, limit, delta)]
        return c.cast(c.b.Range(*wide), dtype)
    contents = [v.content for v in (start, limit, delta)]
    if all(x is not None for x in contents) and dtype.is_integer:
        found = c.b.Range(*(c.int64(v) for v in (start, limit, delta)))
        return c.cast(found, dtype)
    if dtype.name in ("float16", "bfloat16"):
        wide = [c.cast(v, dtype_of(1)) for v in (start, limit, delta)]
        return c.cast(c.b.Range(*wide), dtype)
    return c.b.Range(start, limit, delta)
