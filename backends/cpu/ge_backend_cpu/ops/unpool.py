"""Pools that give the places of their maxima, what is written back at them, and windows that are added up."""

from __future__ import annotations

from collections.abc import Sequence

from ge_backend_cpu.contract.windows import NodeAttributes, windows_of
from ge_backend_cpu.implementations import implementation
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import result, source
from ge_backend_cpu.loops.index import Unsupported
from ge_backend_cpu.loops.reading import attribute, sizes
from ge_backend_cpu.ops.selecting import SCAN
from ge_backend_cpu.serial.launch import computes, implemented, launched, operand
from ge_core.backend import Implementation, Options
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import int64
from ge_core.ir.graph import Node
from ge_core.ops.windows import explicit_windows


@implementation("MaxPool")
def max_pool(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    x = operand(node, 0)
    if len(node.outputs) < 2 or not computes(x):
        return []
    windows = windows_of(node, attribute(node, "kernel_shape"), x.shape[2:])
    rank = windows.rank
    values: dict[str, Size] = {}
    for i in range(rank):
        values |= {
            f"size{i}": x.shape[2 + i], f"out{i}": node.outputs[0].shape[2 + i], f"kernel{i}": windows.kernel[i],
            f"stride{i}": windows.strides[i], f"begin{i}": windows.begin[i], f"dilation{i}": windows.dilations[i],
        }  # fmt: skip
    column = bool(attribute(node, "storage_order"))
    taps = dims.product(windows.kernel)
    return [_places(node, rank, values, taps, adaptive=False, column=column, whole=True)]


@implementation("ge.AdaptivePool")
def adaptive_max_pool(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    x = operand(node, 0)
    out: tuple[Size, ...] = tuple(node.attrs["output_size"])  # type: ignore[arg-type]
    rank = len(out)
    if len(node.outputs) < 2 or not computes(x):
        return []
    if not all(dims.less_equal(1, size) is True for size in x.shape[x.rank - rank :]):
        return []
    values: dict[str, Size] = {}
    for i, size in enumerate(x.shape[x.rank - rank :]):
        values |= {f"size{i}": size, f"out{i}": out[i]}
    return [_places(node, rank, values, 4, adaptive=True, column=False, whole=False)]


def _places(node: Node, rank: int, values: dict[str, Size], taps: Size, **options: bool) -> Implementation:
    x, y = operand(node, 0), node.outputs[0]
    count = dims.product(y.shape)
    launch = launched(
        "max_places", [(source(0), x.dtype), (result(), y.dtype), (result(1), int64)], values, count,
        count * taps * SCAN, rank=rank, **options,
    )  # fmt: skip
    return implemented(node, [launch])


@implementation("MaxUnpool")
def max_unpool(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    x, numbers, y = operand(node, 0), operand(node, 1), node.output
    if not computes(x) or not all(dims.equal(a, b) is True for a, b in zip(x.shape, numbers.shape, strict=True)):
        return []
    attributes = NodeAttributes(node)
    windows = explicit_windows(attributes, attributes.fail, attributes.attr("kernel_shape"), x.rank - 2)
    inner = (*x.shape[:2], *windows.transposed(x.shape[2:], (0,) * windows.rank))
    count = dims.product(x.shape)
    values: dict[str, Size] = {"count": count}
    for i in range(x.rank):
        values |= {f"inner{i}": inner[i], f"room{i}": y.shape[i]}
    launch = launched(
        "unpool", [(source(0), x.dtype), (source(1), int64), (result(), y.dtype)], values, 1,
        (count + dims.product(y.shape)) * SCAN, rank=x.rank,
    )  # fmt: skip
    return [implemented(node, [launch])]


@implementation("Col2Im")
def col2im(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    x, y = operand(node, 0), node.output
    try:
        image, block = sizes(node.input(1)), sizes(node.input(2))
    except Unsupported:
        return []
    windows = windows_of(node, block, image)
    places = windows.positions(image)
    expected = [(x.shape[2], dims.product(places)), (x.shape[1], y.shape[1] * dims.product(block))]
    if not computes(x) or not all(dims.equal(a, b) is True for a, b in expected):
        return []
    values: dict[str, Size] = {}
    for i, size in enumerate(image):
        values |= {
            f"size{i}": size, f"place{i}": places[i], f"kernel{i}": block[i], f"stride{i}": windows.strides[i],
            f"begin{i}": windows.begin[i], f"dilation{i}": windows.dilations[i],
        }  # fmt: skip
    launch = launched(
        "fold", [(source(0), x.dtype), (result(), y.dtype)], values, y.shape[0] * dims.product(y.shape[1:-1]),
        dims.product(y.shape) * dims.product(block) * SCAN, rank=len(image),
    )  # fmt: skip
    return [implemented(node, [launch])]
