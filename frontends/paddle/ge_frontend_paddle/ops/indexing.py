"""Reading and writing by index, sorting and searching."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import BOOL, INT64, Call, Sizes, element
from ..registry import pd
from .shape import broadcast


@pd("gather")
def gather(c: Call, x: Value, index: Value, axis: Value) -> Value:
    """gather(x, index, axis) -> out"""
    places = c.squeeze(index, 1) if index.rank == 2 else index
    return c.b.Gather(x, places, axis=c.axis_of(axis, x.rank))


@pd("gather_nd")
def gather_nd(c: Call, x: Value, index: Value) -> Value:
    """gather_nd(x, index) -> out"""
    if index.shape[-1] == 0:
        return c.expand(x, (*index.shape[:-1], *x.shape))
    return c.b.GatherND(x, c.cast(index, INT64))


@pd("index_select")
def index_select(c: Call, x: Value, index: Value, *, axis: int = 0) -> Value:
    """index_select(x, index, *, axis=0) -> out"""
    return c.b.Gather(x, c.flat(index), axis=c.axis(axis, x.rank))


@pd("index_sample")
def index_sample(c: Call, x: Value, index: Value) -> Value:
    """index_sample(x, index) -> out"""
    return c.b.GatherElements(x, index, axis=1)


@pd("take_along_axis")
def take_along_axis(c: Call, arr: Value, indices: Value, *, axis: int) -> Value:
    """take_along_axis(arr, indices, *, axis) -> out"""
    at = c.axis(axis, arr.rank)
    return c.b.GatherElements(arr, indices, axis=at)


_REDUCTIONS = {
    "add": "sum", "sum": "sum", "mul": "prod", "multiply": "prod", "amax": "max", "amin": "min", "mean": "mean",
}  # fmt: skip


@pd("put_along_axis")
def put_along_axis(
    c: Call,
    arr: Value,
    indices: Value,
    values: Value,
    *,
    axis: int,
    reduce: str = "assign",
    include_self: bool = True,
) -> Value:
    """put_along_axis(arr, indices, values, *, axis, reduce="assign", include_self=true) -> out"""
    at = c.axis(axis, arr.rank)
    updates = c.cast(values, arr.dtype)
    if updates.shape != indices.shape:
        one = dims.product(updates.shape) == 1
        updates = c.expand(c.reshape(updates, ()) if one else updates, indices.shape)
    if reduce == "assign":
        return c.b.ScatterElements(arr, indices, updates, axis=at)
    return c.b.ge.ScatterReduce(
        arr, indices, updates, axis=at, reduction=_REDUCTIONS[reduce], include_self=int(include_self)
    )


@pd("scatter")
def scatter(c: Call, x: Value, index: Value, updates: Value, *, overwrite: bool = True) -> Value:
    """scatter(x, index, updates, *, overwrite=true) -> out

    Without overwriting, the rows of the index are cleared first and then added to.
    """
    b = c.b
    rows = c.cast(c.reshape(index, (dims.product(index.shape), 1)), INT64)
    wide = c.reshape(updates, (rows.shape[0], *x.shape[1:]))
    if overwrite:
        return b.ScatterND(x, rows, wide)
    cleared = b.ScatterND(x, rows, c.full(wide.shape, 0, x.dtype))
    return b.ScatterND(cleared, rows, wide, reduction="add")


@pd("scatter_nd_add")
def scatter_nd_add(c: Call, x: Value, index: Value, updates: Value) -> Value:
    """scatter_nd_add(x, index, updates) -> out"""
    if index.shape[-1] == 0:
        count = dims.product(index.shape[:-1])
        whole = c.reshape(updates, (count, *x.shape))
        return c.b.Add(x, c.b.ReduceSum(whole, c.b.ints(0), keepdims=0))
    return c.b.ScatterND(x, c.cast(index, INT64), updates, reduction="add")


@pd("index_add")
def index_add(c: Call, x: Value, index: Value, add_value: Value, *, axis: int = 0) -> Value:
    """index_add(x, index, add_value, *, axis=0) -> out"""
    at = c.axis(axis, x.rank)
    order = [at, *(a for a in range(x.rank) if a != at)]
    places = c.cast(c.reshape(index, (dims.product(index.shape), 1)), INT64)
    written = c.b.ScatterND(c.transpose(x, order), places, c.transpose(add_value, order), reduction="add")
    return c.transpose(written, list(np.argsort(order)))


@pd("index_put")
def index_put(c: Call, x: Value, indices: Sequence[Value], value: Value, *, accumulate: bool = False) -> Value:
    """index_put(x, indices, value, *, accumulate=false) -> out"""
    b = c.b
    columns: list[Value] = []
    for index in indices:
        if index.dtype.kind == "bool":
            found = b.NonZero(index)
            columns += [b.Gather(found, b.scalar(axis), axis=0) for axis in range(index.rank)]
        else:
            columns.append(c.cast(index, INT64))
    if len(indices) == 1 and indices[0].dtype.kind == "bool" and dims.product(value.shape) == 1 and not accumulate:
        mask = c.reshape(indices[0], (*indices[0].shape, *(1 for _ in range(x.rank - indices[0].rank))))
        return b.Where(mask, c.cast(c.reshape(value, ()), x.dtype), x)
    shape: tuple[Size, ...] = ()
    for column in columns:
        shape = broadcast(shape, column.shape)
    table = c.concat([c.unsqueeze(c.expand(column, shape), len(shape)) for column in columns], len(shape))
    updates = c.expand(c.cast(value, x.dtype), (*shape, *x.shape[len(columns) :]))
    return b.ScatterND(x, table, updates, reduction="add" if accumulate else "none")


@pd("masked_select")
def masked_select(c: Call, x: Value, mask: Value) -> Value:
    """masked_select(x, mask) -> out"""
    shape = broadcast(x.shape, mask.shape)
    return c.b.Compress(c.flat(c.expand(x, shape)), c.flat(c.expand(mask, shape)), axis=0)


@pd("masked_fill")
def masked_fill(c: Call, x: Value, mask: Value, value: Value) -> Value:
    """masked_fill(x, mask, value) -> out"""
    return c.b.Where(mask, c.cast(c.reshape(value, ()) if value.rank else value, x.dtype), x)


@pd("nonzero")
def nonzero(c: Call, condition: Value) -> Value:
    """nonzero(condition) -> out"""
    return c.swap(c.b.NonZero(condition))


@pd("embedding", "sparse_weight_embedding", ignores=("sparse",))
def embedding(c: Call, x: Value, weight: Value, *, padding_idx: int = -1) -> Value:
    """embedding(x, weight, *, padding_idx=-1, sparse=false) -> out
    sparse_weight_embedding(x, weight, *, padding_idx=-1, sparse=false) -> out
    """
    return _rows(c, x, weight, padding_idx)


def _rows(c: Call, x: Value, weight: Value, padding: int) -> Value:
    """Rows of a table; an index that is the padding gives zeros."""
    found = c.b.Gather(weight, x, axis=0)
    if padding < 0:
        return found
    kept = c.unsqueeze(c.b.Not(c.b.Equal(x, c.scalar(padding, x.dtype))), x.rank)
    return c.b.Where(kept, found, c.scalar(0, weight.dtype))


@pd("lookup_table", ignores=(
    "is_sparse", "is_distributed", "remote_prefetch", "entry_config", "is_test", "entry", "table_class", "table_names",
    "trainer_id", "slot", "grad_inplace", "epmap", "height_sections",
))  # fmt: skip
def lookup_table(c: Call, w: Value, ids: Value, *, padding_idx: int = -1) -> Value:
    """lookup_table(w, ids, *, is_sparse=false, is_distributed=false, padding_idx=-1, remote_prefetch=false,
    entry_config="", is_test=false, entry="none", table_class="none", table_names={}, trainer_id=0, slot=0,
    grad_inplace=false, epmap={}, height_sections={}) -> out
    """
    places = c.squeeze(ids, ids.rank - 1) if ids.rank and ids.shape[-1] == 1 else ids
    return _rows(c, places, w, padding_idx)


@pd("topk")
def topk(
    c: Call, x: Value, k: Value, *, axis: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Value, Value]:
    """topk(x, k, *, axis=-1, largest=true, sorted=true) -> out, indices"""
    if not x.rank:
        return x, c.scalar(0, INT64)
    count = c.sizes(k)
    wanted = c.vector(k) if count is None else c.b.ints(count[0])
    found: tuple[Value, Value] = c.b.TopK(
        x, wanted, axis=c.axis(axis, x.rank), largest=int(largest), sorted=int(sorted)
    )
    return found


@pd("argsort", ignores=("stable",))
def argsort(c: Call, x: Value, *, axis: int = -1, descending: bool = False) -> tuple[Value, Value]:
    """argsort(x, *, axis=-1, descending=false, stable=false) -> out, indices"""
    if not x.rank:
        return x, c.scalar(0, INT64)
    found: tuple[Value, Value] = c.b.ge.Sort(x, axis=c.axis(axis, x.rank), descending=int(descending))
    return found


@pd("searchsorted")
def searchsorted(
    c: Call, sorted_sequence: Value, values: Value, *, out_int32: bool = False, right: bool = False
) -> Value:
    """searchsorted(sorted_sequence, values, *, out_int32=false, right=false) -> out"""
    if sorted_sequence.rank == 1 and values.rank != 1:
        found = c.b.ge.SearchSorted(sorted_sequence, c.flat(values), right=int(right))
        return c.cast(c.reshape(found, values.shape), c.dtype())
    return c.cast(c.b.ge.SearchSorted(sorted_sequence, values, right=int(right)), c.dtype())


@pd("unique", ignores=("is_sorted",))
def unique(
    c: Call,
    x: Value,
    *,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Sequence[int] = (),
    dtype: DType | None = None,
) -> tuple[Value | None, ...]:
    """unique(x, *, return_index=false, return_inverse=false, return_counts=false, axis={}, dtype=phi::DataType::INT64,
    is_sorted=false) -> out, indices, inverse, counts
    """
    at = {"axis": c.axis(axis[0], x.rank)} if axis else {}
    values, first, inverse, counts = c.b.Unique(x, sorted=1, num_outputs=4, **at)
    kind = INT64 if dtype is None else dtype
    wanted = ((first, return_index), (inverse, return_inverse), (counts, return_counts))
    return values, *(c.cast(v, kind) if asked else None for v, asked in wanted)


@pd("unique_consecutive")
def unique_consecutive(
    c: Call,
    x: Value,
    *,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Sequence[int] = (),
    dtype: DType | None = None,
) -> tuple[Value | None, ...]:
    """unique_consecutive(x, *, return_inverse=false, return_counts=false, axis={}, dtype=phi::DataType::FLOAT32) ->
    out, index, counts
    """
    b = c.b
    kind = INT64 if dtype is None else dtype
    at = c.axis(axis[0], x.rank) if axis else 0
    data = x if axis else c.flat(x)
    size = data.shape[at]
    later, earlier = c.slice(data, at, 1, size), c.slice(data, at, 0, size - 1)
    changed = b.Cast(b.Not(b.Equal(later, earlier)), to="int32")
    others = [a for a in range(data.rank) if a != at]
    if others:
        changed = b.ReduceMax(changed, b.ints(others), keepdims=0)
    starts = b.Concat([b.constant(np.array([True])), c.cast(changed, BOOL)], axis=0)
    values = b.Compress(data, starts, axis=at)
    inverse = b.Sub(b.CumSum(b.Cast(starts, to=INT64), b.scalar(0)), 1)
    places = b.Compress(c.range(size), starts, axis=0)
    ends = b.Concat([b.Slice(places, b.ints(1), b.ints(1 << 62), b.ints(0), b.ints(1)), b.ints(size)], axis=0)
    counts = c.cast(b.Sub(ends, places), kind)
    return values, c.cast(inverse, kind) if return_inverse else None, counts if return_counts else None


@pd("shard_index")
def shard_index(c: Call, input: Value, *, index_num: int, nshards: int, shard_id: int, ignore_value: int = -1) -> Value:
    """shard_index(input, *, index_num, nshards, shard_id, ignore_value=-1) -> out"""
    b = c.b
    size = c.scalar((index_num + nshards - 1) // nshards, input.dtype)
    mine = b.Equal(b.ge.FloorDiv(input, size), c.scalar(shard_id, input.dtype))
    return b.Where(mine, b.Mod(input, size), c.scalar(ignore_value, input.dtype))


@pd("multiplex")
def multiplex(c: Call, inputs: Sequence[Value], index: Value) -> Value:
    """multiplex(inputs, index) -> out"""
    b = c.b
    stacked = c.concat([c.unsqueeze(x, 0) for x in inputs], 0)
    rows = inputs[0].shape[0]
    places = c.cast(c.reshape(index, (rows, 1)), INT64)
    return b.GatherND(stacked, b.Concat([places, c.unsqueeze(c.range(rows), 1)], axis=1))


@pd("segment_pool")
def segment_pool(c: Call, x: Value, segment_ids: Value, *, pooltype: str = "SUM") -> tuple[Value]:
    """segment_pool(x, segment_ids, *, pooltype="SUM") -> out, summed_ids"""
    b = c.b
    ids = c.cast(segment_ids, INT64)
    size = b.Add(b.ReduceMax(ids, b.ints(0), keepdims=0), 1)
    if pooltype in ("SUM", "MEAN"):
        total = b.ge.SegmentReduce(x, ids, size, reduction="sum")
        if pooltype == "SUM":
            return (total,)
        counts = b.ge.SegmentReduce(c.full((x.shape[0],), 1, x.dtype), ids, size, reduction="sum")
        wide = c.unsqueeze(b.Max(counts, c.scalar(1, x.dtype)), *range(1, x.rank))
        return (b.Div(total, wide),)
    found = b.ge.SegmentReduce(x, ids, size, reduction="max" if pooltype == "MAX" else "min")
    counts = b.ge.SegmentReduce(c.full((x.shape[0],), 1, INT64), ids, size, reduction="sum")
    hit = c.unsqueeze(b.Greater(counts, 0), *range(1, x.rank))
    return (b.Where(hit, found, c.scalar(0, x.dtype)),)


@pd("gather_tree")
def gather_tree(c: Call, ids: Value, parents: Value) -> Value:
    """gather_tree(ids, parents) -> out"""
    b = c.b
    steps, batch, beams = ids.shape
    first = c.expand(c.cast(c.range(beams), parents.dtype), (batch, beams))

    def body(r, beam, step, parent):  # type: ignore[no-untyped-def]
        place = r.Cast(beam, to=INT64)
        return [r.GatherElements(parent, place, axis=1), r.GatherElements(step, place, axis=1)]

    _, found = b.Scan(
        [first, ids, parents],
        num_scan_inputs=2,
        scan_input_directions=[1, 1],
        scan_output_directions=[1],
        body=body,
    )
    return c.reshape(found, (steps, batch, beams))


# Slices that a model assigns to.


def _assigned(
    c: Call,
    x: Value,
    starts: Sizes,
    ends: Sizes,
    steps: Sizes,
    axes: Sequence[int],
    decrease_axes: Sequence[int],
    none_axes: Sequence[int],
    values: Callable[[Sequence[Size]], Value],
) -> Value:
    """`x[starts:ends:steps] = values`: written by ScatterND at the places of each axis."""
    b = c.b
    first = c.known_sizes(starts, "starts of a slice that is assigned to")
    last = c.known_sizes(ends, "ends of a slice that is assigned to")
    by = c.known_ints(steps, "steps of a slice that is assigned to")
    at = [c.axis(a, x.rank) for a in axes]
    places: list[Value] = []
    sizes: list[Size] = []
    for axis in range(x.rank):
        line = c.range(x.shape[axis])
        if axis in at:
            i = at.index(axis)
            line = b.Slice(line, b.ints(first[i]), b.ints(last[i]), b.ints(0), b.ints(by[i]))
        places.append(line)
        sizes.append(line.shape[0])
    kept = [sizes[a] for a in range(x.rank) if a not in {c.axis(d, x.rank) for d in decrease_axes}]
    updates = values(kept)
    # axes of size 1 that the index put in are no axes of x
    if none_axes and updates.rank > len(kept):
        updates = c.squeeze(updates, *(axis for axis in none_axes if axis < updates.rank and updates.shape[axis] == 1))
    updates = c.reshape(c.expand(c.cast(updates, x.dtype), kept), sizes)
    written = [axis for axis in range(x.rank) if axis in at]
    deepest = (written[-1] + 1) if written else 0
    if not deepest:
        return updates
    table = c.concat(
        [
            c.unsqueeze(
                c.expand(c.reshape(line, [-1 if a == axis else 1 for a in range(deepest)]), sizes[:deepest]), deepest
            )
            for axis, line in enumerate(places[:deepest])
        ],
        deepest,
    )
    return b.ScatterND(x, table, updates)


@pd("set_value")
def set_value(
    c: Call,
    x: Value,
    starts: Sizes,
    ends: Sizes,
    steps: Sizes,
    *,
    axes: Sequence[int],
    decrease_axes: Sequence[int],
    none_axes: Sequence[int],
    shape: Sequence[int],
    values: Sequence[float],
) -> Value:
    """set_value(x, starts, ends, steps, *, axes, decrease_axes, none_axes, shape, values) -> out"""
    flat = np.array([element(v, x.dtype) for v in values]).astype(x.dtype.numpy)
    given = c.b.constant(flat.reshape(()) if flat.size == 1 else flat.reshape([int(n) for n in shape]))
    return _assigned(c, x, starts, ends, steps, axes, decrease_axes, none_axes, lambda _: given)


@pd("set_value_with_tensor")
def set_value_with_tensor(
    c: Call,
    x: Value,
    values: Value,
    starts: Sizes,
    ends: Sizes,
    steps: Sizes,
    *,
    axes: Sequence[int],
    decrease_axes: Sequence[int],
    none_axes: Sequence[int],
) -> Value:
    """set_value_with_tensor(x, values, starts, ends, steps, *, axes, decrease_axes, none_axes) -> out"""
    return _assigned(c, x, starts, ends, steps, axes, decrease_axes, none_axes, lambda _: values)
