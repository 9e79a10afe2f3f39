"""Channels last and first: the graph's operators are channels first, so others stand between two Transposes.

The Transposes are views once layouts are selected.
"""

from __future__ import annotations

from collections.abc import Callable

from ge_core.ir.dims import Size
from ge_core.ir.graph import Value

from .call import Call


def is_last(c: Call) -> bool:
    """Whether the node's data_format has the channels last."""
    return not str(c.attr("data_format")).startswith("NC")


def to_first(c: Call, x: Value) -> Value:
    """[N, *spatial, C] as [N, C, *spatial]."""
    return c.transpose(x, (0, x.rank - 1, *range(1, x.rank - 1)))


def to_last(c: Call, x: Value) -> Value:
    """[N, C, *spatial] as [N, *spatial, C]."""
    return c.transpose(x, (0, *range(2, x.rank), 1))


def channels_first(c: Call, x: Value, build: Callable[[Value], Value]) -> Value:
    """An operator on channels first, for data in the node's format."""
    return to_last(c, build(to_first(c, x))) if is_last(c) else build(x)


def spatial(c: Call, numbers: list[int]) -> list[int]:
    """The spatial ones of numbers that stand for all axes."""
    return numbers[1:-1] if is_last(c) else numbers[2:]


def spatial_sizes(c: Call, x: Value) -> tuple[Size, ...]:
    """The spatial sizes of data in the node's format."""
    return x.shape[1:-1] if is_last(c) else x.shape[2:]
