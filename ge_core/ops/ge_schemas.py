"""Domain `ge`: what ONNX cannot say. Pointwise operators of the domain come from the rows of `pointwise.py`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ge_core.ops.pointwise import GE_POINTWISE, Row
from ge_core.ops.schema import Attribute, AttrType, Option, Parameter, Schema

REQUIRED = object()


def _params(names: str) -> tuple[Parameter, ...]:
    """Parameters from `x:T w:T? rest:T*`: `?` optional, `*` variadic (any number), `+` variadic (at least one)."""
    out = []
    for word in names.split():
        name, _, kind = word.partition(":")
        option: Option = "single"
        minimum = 1
        if kind.endswith(("?", "*", "+")):
            option = "optional" if kind[-1] == "?" else "variadic"
            minimum = 1 if kind[-1] == "+" else 0
            kind = kind[:-1]
        homogeneous = not kind.startswith("V")
        out.append(Parameter(name, kind or "T", option, minimum, homogeneous))
    return tuple(out)


def _schema(name: str, inputs: str, outputs: str, **attributes: tuple[AttrType, Any]) -> Schema:
    table = {
        k: Attribute(k, kind, default is REQUIRED, None if default is REQUIRED else default)
        for k, (kind, default) in attributes.items()
    }
    return Schema(f"ge.{name}", _params(inputs), _params(outputs), table, {})


def _table(schemas: Iterable[Schema]) -> dict[str, Schema]:
    return {s.name: s for s in schemas}


def _pointwise(row: Row) -> Schema:
    kinds: dict[type, AttrType] = {float: "float", int: "int", str: "string"}
    inputs = " ".join(f"{name}:{kind}" for name, kind in row.inputs)
    attributes = {name: (kinds[type(v)], v) for name, v in row.attributes.items()}
    return _schema(row.name.removeprefix("ge."), inputs, f"y:{row.output}", **attributes)


_WINDOW: dict[str, tuple[AttrType, Any]] = {
    "kernel_shape": ("ints", REQUIRED),
    "strides": ("ints", REQUIRED),
    "pads": ("ints", REQUIRED),
    "dilations": ("ints", REQUIRED),
}

GE_SCHEMAS: dict[str, Schema] = _table(
    [
        # Sizes as a tensor: exprs is a tuple of int | Dim; int64 of shape [n], or a scalar when scalar=1.
        _schema("Dims", "", "y:int64", exprs=("dims", REQUIRED), scalar=("int", 0)),
        # Makes an integer scalar known as a size: y has content (symbol,), bound when the node runs.
        _schema("BindDim", "x:T", "y:int64", lo=("int", 0), hi=("int", -1)),
        # Assertion: an error with `message` unless every element of cond is true. Effect "check".
        _schema("Check", "cond:bool", "", message=("string", "")),
        # A fusion group: region body whose params are the inputs, in order.
        _schema("Fused", "inputs:V*", "outputs:V*", body=("graph", REQUIRED), kind=("string", "")),
        # The only node that changes storage: same value, other layout.
        _schema("Relayout", "x:T", "y:T"),
        # Stable sort along axis; NaN sorts last ascending, first descending. indices int64.
        _schema("Sort", "x:T", "values:T indices:int64", axis=("int", -1), descending=("int", 0)),
        # Positions of values in sorted (rows over the leading dims): left: first i with s[i] >= v; right: s[i] > v.
        _schema("SearchSorted", "sorted:T values:T", "y:int64", right=("int", 0)),
        # Counts (or sums of weights) of non-negative ints 0..size-1; an index beyond is an error.
        _schema("BinCount", "x:I weights:T? size:int64", "y:V"),
        # Window i covers floor(i*n/out) .. ceil((i+1)*n/out); mode average or max (indices flat in the spatial plane).
        _schema("AdaptivePool", "x:T", "y:T indices:int64?", output_size=("dims", REQUIRED), mode=("string", REQUIRED)),
        # Average over windows. output_size rule: ceil_mode 0 floor, 1 ceil with the last window starting inside
        # input or left pad. count_include_pad counts pad (not the ceil overhang). divisor > 0 replaces the count.
        _schema(
            "AveragePool", "x:T", "y:T", **_WINDOW,
            ceil_mode=("int", REQUIRED), count_include_pad=("int", REQUIRED), divisor=("int", 0),
        ),
        # Sliding blocks: [N, C, *S] -> [N, C*prod(kernel), prod(out)] (torch unfold order).
        _schema("Im2Col", "x:T", "y:T", **_WINDOW),
        # data with updates reduced at indices (same rank as updates) along axis: sum, prod, max, min, mean;
        # include_self 0 leaves the old value out of positions that are hit.
        _schema(
            "ScatterReduce", "data:T indices:I updates:T", "y:T",
            axis=("int", REQUIRED), reduction=("string", REQUIRED), include_self=("int", 1),
        ),
        # ONNX LSTM's operands plus a projection P [num_directions, proj_size, hidden_size].
        _schema(
            "LSTM", "x:T w:T r:T b:T? sequence_lens:int32? initial_h:T? initial_c:T? p:T?", "y:T? y_h:T? y_c:T?",
            hidden_size=("int", REQUIRED), direction=("string", "forward"), layout=("int", 0),
        ),
        # Philox4x32-10; distribution uniform [low, high), normal (mean, scale), bernoulli, randint.
        # seed and offset are int64 scalars.
        _schema(
            "Random", "shape:int64 seed:int64 offset:int64", "y:V",
            dtype=("dtype", REQUIRED), distribution=("string", REQUIRED), low=("float", 0.0), high=("float", 1.0),
        ),
        # Each slice along axis repeated; repeats is a scalar or has one count for each slice.
        _schema("RepeatInterleave", "x:T repeats:int64", "y:T", axis=("int", REQUIRED)),
        # Running max or min along axis with the index of the latest hit.
        _schema("CumMax", "x:T", "values:T indices:int64", axis=("int", REQUIRED)),
        _schema("CumMin", "x:T", "values:T indices:int64", axis=("int", REQUIRED)),
        _schema("LogCumSumExp", "x:T", "y:T", axis=("int", REQUIRED)),
        # Linear algebra on the last two axes.
        _schema("Inverse", "x:T", "y:T"),
        _schema("Cholesky", "x:T", "y:T", upper=("int", 0)),
        _schema("Solve", "a:T b:T", "y:T"),
        # Numbers of the true elements of a vector, in order; size is how many there are.
        _schema("Places", "mask:bool size:int64", "y:int64"),
        # NonMaxSuppression of each class of each image apart: numbers of the boxes that stay, best first, then -1.
        # limit (0 without it) is the most that stay; the last axis has room for it where it is known, else for all.
        _schema(
            "KeptBoxes", "boxes:T scores:T limit:int64? overlap:float32? least:float32?", "y:int64",
            center_point_box=("int", 0),
        ),
        # Elements of x at the places where mask is true are replaced, in order, by elements of source.
        _schema("MaskedScatter", "x:T mask:bool source:T", "y:T"),
        # Segments of rows reduced per id (ids may repeat, any order); rows without an id hold the identity.
        _schema("SegmentReduce", "data:T ids:I size:int64", "y:T", reduction=("string", REQUIRED)),
    ]
    + [_pointwise(row) for row in GE_POINTWISE]
)  # fmt: skip
