"""Pools over windows and whole planes, on images with their channels last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ge_backend_cpu.contract.cost import example, figures
from ge_backend_cpu.contract.pool import CHANNELS, Pool
from ge_backend_cpu.contract.windows import NodeAttributes, channels_last, windows_of
from ge_backend_cpu.implementations import implementation
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Launch, launch_data, result, source
from ge_core.backend import Implementation, Options
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.graph import Node, Value
from ge_core.ir.types import Shape

_FORMS: dict[str, Any] = {
    "MaxPool": "max", "GlobalMaxPool": "max", "AveragePool": "average", "ge.AveragePool": "average",
    "GlobalAveragePool": "average", "LpPool": "power", "GlobalLpPool": "power",
}  # fmt: skip


@implementation(*_FORMS)
def pool(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    """A kernel for a pool without indices."""
    x = node.input(0)
    assert x is not None
    if len(node.outputs) > 1 or not _computes(node, x):
        return ()
    attributes = NodeAttributes(node)
    form, rank = _FORMS[node.op], x.rank - 2
    values: dict[str, Size] = {"divisor": 1}
    divisor: Any = "inside"
    if node.op.startswith("Global"):
        for i, size in enumerate(x.shape[2:]):
            values |= {f"size{i}": size, f"out{i}": 1, f"taps{i}": size, f"stride{i}": 1, f"dilation{i}": 1}
            values |= {f"begin{i}": 0, f"end{i}": 0}
    else:
        windows = windows_of(node, attributes.attr("kernel_shape"), x.shape[2:])
        for i in range(rank):
            values |= {
                f"size{i}": x.shape[2 + i], f"out{i}": node.output.shape[2 + i], f"taps{i}": windows.kernel[i],
                f"stride{i}": windows.strides[i], f"dilation{i}": windows.dilations[i], f"begin{i}": windows.begin[i],
                f"end{i}": windows.end[i],
            }  # fmt: skip
        if form == "average" and attributes.attr("count_include_pad"):
            divisor = "padded"
        if node.op == "ge.AveragePool" and attributes.attr("divisor"):
            divisor, values["divisor"] = "given", attributes.attr("divisor")
    power = attributes.attr("p") if form == "power" else 2
    return [_implementation(node, Pool(x.dtype.name, form, rank, False, divisor, power), values, isa)]


@implementation("ge.AdaptivePool")
def adaptive_pool(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    """A kernel for an adaptive pool without indices over all axes but the first two."""
    x = node.input(0)
    assert x is not None
    attributes = NodeAttributes(node)
    out: Shape = tuple(attributes.attr("output_size"))
    if len(node.outputs) > 1 or not _computes(node, x) or x.rank != len(out) + 2:
        return ()
    if any(dims.less_equal(1, size) is not True for size in x.shape[2:]):
        return ()  # windows over nothing are an error
    values: dict[str, Size] = {"divisor": 1}
    for i, (size, count) in enumerate(zip(x.shape[2:], out, strict=True)):
        values |= {f"size{i}": size, f"out{i}": count}
    return [_implementation(node, Pool(x.dtype.name, attributes.attr("mode"), len(out), True), values, isa)]


def _computes(node: Node, x: Value) -> bool:
    """Whether kernels hold the element type; sums are those of floats."""
    if x.rank < 3 or not x.dtype.is_numeric or x.dtype.bits < 8 or x.dtype.name == "float8e8m0":
        return False
    return x.dtype.is_float or _FORMS.get(node.op) == "max" or node.attrs.get("mode") == "max"


def _implementation(node: Node, form: Pool, values: dict[str, Size], isa: Isa) -> Implementation:
    x = node.input(0)
    assert x is not None
    channels = x.shape[1]
    values |= {"channels": channels, "blocks": dims.ceildiv(channels, CHANNELS)}
    elements = dims.product(x.shape) + dims.product(node.output.shape)
    picoseconds = elements * round(8e12 / figures(isa).near)
    launch = Launch(
        kernel=form.kernel(),
        operands=(source(0), result()),
        params=form.params(values),
        extent=x.shape[0] * dims.product(node.output.shape[2:-1]) * values["blocks"],
        picoseconds=picoseconds,
    )
    last = channels_last(x.rank)
    return Implementation(
        name=f"pool.{form.form}",
        inputs=(last,),
        outputs=(last,),
        cost=example(picoseconds) * 1e-12,
        precision="exact" if form.form == "max" else "accurate",
        data=launch_data([launch]),
    )
