"""Changes of storage: any layout to any other, with halos and blocks, at every width."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from ge_backend_cpu.kernel import OK
from ge_backend_cpu.loops.lower import lower
from ge_backend_cpu.loops.part import Part
from ge_core.ir import Builder, DType, Graph, Layout
from ge_core.plan.storage import codec
from tests.backends.cpu.test_loops import launch

RNG = np.random.default_rng(4)
SHAPE = (2, 5, 6, 19)
LAYOUTS = [
    None,
    Layout((0, 2, 3, 1)),
    Layout((3, 1, 0, 2)),
    Layout((0, 2, 3, 1), halo=((0, 0), (0, 0), (1, 2), (3, 0)), fill=-1.5),
    Layout((0, 1, 2, 3), halo=((0, 0), (0, 0), (1, 1), (1, 1))),
    Layout((0, 1, 2, 3), blocks=((1, 4),)),
    Layout((0, 2, 3, 1), blocks=((3, 8), (1, 2)), fill=2.0),
]


@pytest.mark.parametrize(
    ("dtype", "isa"),
    [("float32", "host"), ("float32", "x86-64-v3"), ("float32", "x86-64-v3/4"), ("float16", "host"), ("int8", "host")],
)
def test_any_layout_to_any_other(dtype: str, isa: str) -> None:
    kind = DType.of(dtype)
    values = (RNG.standard_normal(SHAPE) * 20).astype(kind.numpy)
    for before, after in product(LAYOUTS, LAYOUTS):
        # all pairs once; the other widths and types from and to row-major
        if (dtype, isa) != ("float32", "host") and None not in (before, after):
            continue
        graph = Graph()
        b = Builder(graph)
        x = b.input("x", dtype, SHAPE)
        y = b.ge.Relayout(x)
        b.outputs(y)
        stored = [np.zeros(codec(kind, layout).nbytes(SHAPE), np.uint8) for layout in (before, after, after)]
        codec(kind, before).store(stored[0], SHAPE, values)
        codec(kind, after).store(stored[1], SHAPE, values)
        part = Part(tuple(graph.nodes), (x,), (y,))
        assert launch(lower(part, [before], [after]), [stored[0]], [stored[2]], isa) == OK
        np.testing.assert_array_equal(stored[2], stored[1], err_msg=f"{before} to {after}")
