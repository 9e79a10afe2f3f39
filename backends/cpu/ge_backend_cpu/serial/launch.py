"""Launches and implementations of serial kernels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ge_backend_cpu.groups import typical
from ge_backend_cpu.kernel import Kernel, Launch, Operand, Recipe, launch_data
from ge_core.backend import Implementation
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Node, Value

NATIVE_BITS = 8
"""Smaller elements share a byte, which only one work item may write."""


def launched(
    name: str,
    operands: Sequence[tuple[Operand, DType]],
    sizes: Mapping[str, Size],
    extent: Size,
    picoseconds: Size,
    *,
    uneven: bool = False,
    **options: Any,
) -> Launch:
    """A launch of the family "serial.<name>".

    Args:
        operands: with the element types in which the kernel sees them.
        sizes: the launch's integers by name.
        options: what else the kernel's code depends on.
    """
    parameters = {"dtypes": [dtype.name for _, dtype in operands], "names": list(sizes), **options}
    return Launch(
        kernel=Kernel(f"serial.{name}", parameters),
        operands=tuple(operand for operand, _ in operands),
        params=tuple(sizes.values()),
        extent=extent,
        picoseconds=picoseconds,
        uneven=uneven,
    )


def implemented(
    node: Node,
    launches: Sequence[Launch],
    workspace: Size = 0,
    in_place: Sequence[tuple[int, int]] = (),
    recipes: Mapping[str, Recipe] | None = None,
) -> Implementation:
    """The only implementation of a node."""
    works = any(operand.kind == "work" for launch in launches for operand in launch.operands)
    return Implementation(
        name=f"serial.{node.op}",
        # what launches read must exist, even where there is nothing to do
        workspace=dims.maximum(workspace, 1) if works else 0,
        in_place=tuple(in_place),
        cost=sum(typical(launch.picoseconds) for launch in launches) * 1e-12,
        precision="accurate",
        data=launch_data(launches, recipes),
    )


def operand(node: Node, index: int) -> Value:
    """A required operand."""
    value = node.input(index)
    assert value is not None
    return value


def computes(*values: Value | None) -> bool:
    """Whether serial kernels read and write the element types of some values."""
    return all(v is None or (v.dtype.kind not in ("complex", "string") and v.dtype.bits >= NATIVE_BITS) for v in values)
