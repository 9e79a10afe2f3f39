"""Sort and TopK: by a list that is kept in order where few elements are wanted, else by merging or by their digits."""

from __future__ import annotations

from collections.abc import Sequence

from ge_backend_cpu.groups import typical
from ge_backend_cpu.implementations import implementation
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Kernel, Launch, launch_data, result, source, work
from ge_backend_cpu.loops.index import Unsupported
from ge_backend_cpu.loops.reading import attribute, sizes
from ge_core.backend import Implementation, Options
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.graph import Node

MOST_KEPT = 64
"""Largest k for which a list in order beats sorting."""
MOST_MERGED = 48
"""Elements of a row up to which merging beats a radix sort."""
PICOSECONDS = 4000
"""Of one element in one round of merging, or of a radix sort; of one element that a list refuses."""


@implementation("TopK", "ge.Sort")
def ordered(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    """Every numeric element type, any axis."""
    data = node.input(0)
    assert data is not None
    if data.dtype.kind in ("complex", "string") or data.dtype.bits < 8 or not data.shape:
        return []
    axis = int(attribute(node, "axis")) % data.rank
    size = data.shape[axis]
    kept: Size = size
    if node.op == "TopK":
        try:
            (kept,) = sizes(node.input(1))
        except Unsupported:
            return []
        if dims.less_equal(0, kept) is not True or dims.less_equal(kept, size) is not True:
            return []
    step = dims.product(data.shape[axis + 1 :])
    rows = dims.product(data.shape[:axis]) * step
    few = isinstance(kept, int) and kept <= MOST_KEPT and node.op == "TopK"
    descending = bool(attribute(node, "largest" if node.op == "TopK" else "descending"))
    parameters: dict[str, object] = {"dtype": data.dtype.name, "descending": descending}
    if few:
        parameters["most"] = MOST_KEPT
    merges = isinstance(size, int) and (size <= MOST_MERGED or size >= 1 << 31)
    method, rounds = ("kept", 1) if few else ("merge", 12) if merges else ("radix", 4)
    room = 0 if few else 16 if merges or data.dtype.bits <= 32 else 32
    launch = Launch(
        kernel=Kernel(f"sorting.{method}", parameters),
        operands=(source(0), result(0), result(1), *(() if few else (work(),))),
        params=(size, kept, step),
        extent=rows if kept != 0 else 0,
        picoseconds=rows * size * (PICOSECONDS * rounds),
    )
    return [
        Implementation(
            name=f"sorting.{node.op}",
            workspace=0 if few else dims.maximum(rows * size * room, 1),
            cost=typical(launch.picoseconds) * 1e-12,
            data=launch_data([launch]),
        )
    ]
