"""TensorFlow's paddings as pads: SAME is uneven, the odd element at the end, and depends on the size where the
stride is above 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ge_core.ir.dims import Size

from .call import Call


def same_pads(size: int, kernel: int, stride: int, dilation: int) -> tuple[int, int]:
    """Elements before and after an axis: (ceil(n / s) - 1) * s + (k - 1) * d + 1 - n of them in all."""
    total = max((-(-size // stride) - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
    return total // 2, total - total // 2


def window_pads(
    padding: str,
    explicit: Sequence[int],
    sizes: Sequence[Size],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> dict[str, Any]:
    """The attribute `pads`, or `auto_pad` where it depends on a size that may change.

    Args:
        explicit: pairs for the spatial axes, for the padding EXPLICIT.
    """
    if padding == "EXPLICIT":
        return {"pads": [*explicit[::2], *explicit[1::2]]}
    if padding != "SAME":
        return {"pads": [0] * (2 * len(kernel))}
    pairs = []
    for n, k, s, d in zip(sizes, kernel, strides, dilations, strict=True):
        if s == 1:
            pairs.append(((k - 1) * d // 2, (k - 1) * d - (k - 1) * d // 2))
        elif isinstance(n, int):
            pairs.append(same_pads(n, k, s, d))
        else:
            return {"auto_pad": "SAME_UPPER"}
    return {"pads": [*(a for a, _ in pairs), *(z for _, z in pairs)]}


def explicit_spatial(c: Call) -> list[int]:
    """The pairs of explicit_paddings for the spatial axes."""
    given = c.attr("explicit_paddings") if "explicit_paddings" in c.known.attributes else []
    if not given:
        return []
    last = not str(c.attr("data_format")).startswith("NC")
    return given[2:-2] if last else given[4:]
