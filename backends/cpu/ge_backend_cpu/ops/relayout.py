"""Images of bytes between rows of planes and channels last: a transpose in registers, for every image."""

from __future__ import annotations

from collections.abc import Sequence

from ge_backend_cpu.contract.cost import example
from ge_backend_cpu.contract.matrix import Matrix
from ge_backend_cpu.contract.plan import Plan
from ge_backend_cpu.contract.windows import channels_last
from ge_backend_cpu.implementations import implementation
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import launch_data, result, source
from ge_core.backend import Implementation, Options, Storage
from ge_core.ir import dims
from ge_core.ir.graph import Node


@implementation("ge.Relayout")
def relayout(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    """A kernel for 8-bit images of which one side has its channels last, and the other none of the layouts."""
    (x,) = node.inputs
    assert x is not None
    if x.rank < 3 or x.dtype.bits != 8:
        return ()
    last, layouts = channels_last(x.rank).layout, (x.layout, node.output.layout)
    if layouts not in ((None, last), (last, None)):
        return ()
    channels, pixels = x.shape[1], dims.product(x.shape[2:])
    outer, inner = (pixels, channels) if layouts[0] is None else (channels, pixels)
    plan, each = Plan(isa), channels * pixels
    matrix = Matrix(source(0), x.dtype, outer, inner, 1, outer, (each,))
    plan.copy_rows(matrix, (x.shape[0],), result(), each)
    seconds = sum(example(launch.picoseconds) for launch in plan.launches) * 1e-12
    return [
        Implementation(
            name="relayout.bytes",
            inputs=(Storage(layouts[0]),),
            outputs=(Storage(layouts[1]),),
            cost=seconds / 4,
            precision="exact",
            data=launch_data(plan.launches),
        )
    ]
