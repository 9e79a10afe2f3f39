"""Paddings and channel orders of operators with windows (convolutions and pools)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.graph import Value

from .call import Call


def channels_last(data_format: str) -> bool:
    """Whether the channels are the last axis (`NHWC`)."""
    return data_format.endswith("C")


def channels_first(c: Call, x: Value, data_format: str, build: Callable[[Value], Any]) -> Any:
    """An operator on data with the channels second, for data of the other order too; it may have several results."""
    if not channels_last(data_format):
        return build(x)
    first = [0, x.rank - 1, *range(1, x.rank - 1)]
    back = [0, *range(2, x.rank), 1]
    found = build(c.transpose(x, first))
    return tuple(c.transpose(v, back) for v in found) if isinstance(found, tuple) else c.transpose(found, back)


def explicit(paddings: Sequence[int], spatial: int) -> tuple[list[int], list[int]]:
    """Paddings before and after each spatial axis: one number for each, or a pair for each."""
    given = [int(p) for p in paddings]
    if len(given) == spatial:
        return given, list(given)
    if len(given) == 2 * spatial:
        return given[::2], given[1::2]
    return given * spatial, given * spatial


def pads_of(
    algorithm: str,
    paddings: Sequence[int],
    sizes: Sequence[Size],
    kernel: Sequence[int],
    strides: Sequence[int],
) -> list[int] | None:
    """ONNX's pads for one of Paddle's algorithms; SAME gives as many outputs as strides fit, the odd one behind.

    Returns:
        None for SAME with a stride on an axis whose size is not fixed: `auto_pad` says that.
    """
    spatial = len(kernel)
    if algorithm == "VALID":
        return [0] * (2 * spatial)
    if algorithm != "SAME":
        before, after = explicit(paddings, spatial)
        return [*before, *after]
    start, end = same_pads(sizes, kernel, strides)
    fixed = [p for p in (*start, *end) if isinstance(p, int)]
    return fixed if len(fixed) == 2 * spatial else None


def same_pads(sizes: Sequence[Size], kernel: Sequence[int], strides: Sequence[int]) -> tuple[list[Size], list[Size]]:
    """Paddings of SAME before and after each spatial axis, for sizes that are not fixed too."""
    before: list[Size] = []
    after: list[Size] = []
    for size, k, stride in zip(sizes, kernel, strides, strict=True):
        over = k - 1 if stride == 1 else dims.maximum((dims.ceildiv(size, stride) - 1) * stride + k - size, 0)
        before.append(dims.floordiv(over, 2))
        after.append(over - before[-1])
    return before, after


def padded(c: Call, x: Value, before: Sequence[Size], after: Sequence[Size]) -> Value:
    """Data with the channels second and zeros around its spatial axes."""
    if all(p == 0 for p in (*before, *after)):
        return x
    return c.b.Pad(x, c.b.ints(0, 0, before, 0, 0, after), c.scalar(0, x.dtype))


def padding(
    algorithm: str,
    paddings: Sequence[int],
    sizes: Sequence[Size],
    kernel: Sequence[int],
    strides: Sequence[int],
) -> dict[str, Any]:
    """The attributes `pads` or `auto_pad` of a convolution or pool."""
    pads = pads_of(algorithm, paddings, sizes, kernel, strides)
    return {"auto_pad": "SAME_UPPER"} if pads is None else {"pads": pads}


def dilations_of(algorithm: str, dilations: Sequence[int], spatial: int) -> list[int]:
    """Dilations as Paddle applies them: SAME sets them to 1."""
    return [1] * spatial if algorithm == "SAME" else [int(d) for d in dilations]
