"""Index checks where there is nothing to compute: an index that is out of range is an error for an empty result too.

A nest checks an index where it reads at it. Where the result has no element because of sizes that the index does not
depend on, nothing is read: a launch of its own then checks all indices, and has no work item for all other results.
"""

from __future__ import annotations

from collections.abc import Sequence

from ge_backend_cpu.kernel import Kernel, Launch, source
from ge_backend_cpu.loops.expr import Expr, reachable
from ge_backend_cpu.loops.index import Axis
from ge_backend_cpu.loops.program import Range
from ge_backend_cpu.loops.writer import Writer
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType


def unread_checks(axes: Sequence[Axis], values: Sequence[Expr], dtypes: Sequence[DType]) -> list[Launch]:
    """Launches for the checks that values of a domain make although the domain may be empty.

    Args:
        axes: of the domain.
        values: what is computed for each place; their operands are those of the node.
        dtypes: of the operands.
    """
    found = []
    for check in (e for e in reachable(values) if e.op == "check"):
        rest = dims.product([a.size for a in axes if a not in check.axes])
        if dims.less_equal(1, rest) is not True and not _is_reduced(check):
            found.append(_launch(check, 1 - dims.minimum(rest, 1), dtypes))
    return found


def _is_reduced(check: Expr) -> bool:
    return any(e.op in ("reduce", "arg") for e in reachable([check]))


def _launch(check: Expr, times: Size, dtypes: Sequence[DType]) -> Launch:
    over = sorted(check.axes, key=lambda a: a.uid)
    used = sorted({e.data[0] for e in reachable([check]) if e.op == "load"})
    writer = Writer({}, {k: n for n, k in enumerate(used)}, 0, 1)
    items = [Range(writer.axis(a)) for a in over]
    with writer.scope(over):
        writer.value(check)
    program = writer.program([dtypes[k].name for k in used], [], items)
    return Launch(
        kernel=Kernel("loops", program.to_json()),
        operands=tuple(map(source, used)),
        params=tuple(writer.params),
        extent=times * dims.product([a.size for a in over]),
    )
