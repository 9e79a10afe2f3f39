"""Values stored in other orders, in blocks and with halos: random plans in a memory that forgets what is dead."""

from __future__ import annotations

import os
import random
import zlib
from collections.abc import Sequence

import numpy as np
import pytest

from ge_core.backend import Implementation, Options, Storage, operands
from ge_core.ir import Builder, Graph, Layout, symbol
from ge_core.ir.graph import Node, Value
from ge_core.ir.types import TensorType
from ge_core.plan.execute import PlanExecutor
from ge_core.plan.states import StateStore
from ge_core.reference.backend import ReferenceBackend
from ge_core.reference.interpret import interpret
from tests.core.plan.random_plans import random_graph, random_inputs
from tests.core.plan.running import check, planned

GRAPHS = int(os.environ.get("GE_RANDOM_PLANS", "40")) // 4
PLAIN = Storage()
PLACES = (
    PLAIN,
    Storage(Layout((1, 0))),
    Storage(Layout((0, 1), halo=((1, 2), (0, 0)), fill=7.0)),
    Storage(Layout((1, 0), blocks=((0, 4),), halo=((0, 0), (2, 1)), fill=-1.0)),
    Storage(Layout((0, 1), blocks=((1, 8),), halo=((3, 0), (0, 1)))),
)


class Particular(ReferenceBackend):
    """Kernels that want each operand of rank 2, and give each result, in a storage that its number decides."""

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def _storage(self, value: Value | None, node: Node, index: int) -> Storage:
        if value is None or not isinstance(value.type, TensorType) or value.type.shape is None:
            return PLAIN
        if value.type.rank != 2 or value.type.dtype.name != "float32":
            return PLAIN
        number = zlib.crc32(f"{self.seed} {node.op} {value.name} {index}".encode())
        return PLACES[number % len(PLACES)]

    def implementations(self, node: Node, target: str, options: Options) -> Sequence[Implementation]:
        found = super().implementations(node, target, options)
        if not found:
            return found
        inputs = tuple(self._storage(v, node, i) for i, v in enumerate(operands(node)))
        outputs = tuple(self._storage(v, node, -1 - i) for i, v in enumerate(node.outputs))
        in_place = tuple((i, j) for i, j in found[0].in_place if inputs[i] == outputs[j])
        return [Implementation(name=found[0].name, inputs=inputs, outputs=outputs, in_place=in_place)]


@pytest.mark.parametrize("seed", range(200, 200 + GRAPHS))
def test_random_graphs_in_random_layouts(seed: int) -> None:
    calls = [random_inputs(seed + k, n) for k, n in enumerate((3, 1, 3))]
    plan = check(random_graph(seed), calls, tolerance=1e-5, states=True, backend=Particular(seed))
    stored = {v.layout for v in plan.values if v.layout is not None}
    assert len(stored) >= 2 and any(any(map(any, layout.halo)) for layout in stored)


def with_halo(rows: int, columns: int) -> Graph:
    """exp(x) with a halo of its own, whatever the rows."""
    graph = Graph("halo")
    b = Builder(graph)
    x = b.input("x", "float32", (symbol("n", 1) if rows < 0 else rows, columns))
    b.outputs(b.Neg(b.Exp(x)))
    return graph


class Haloed(ReferenceBackend):
    """Exp writes, and Neg reads, one row above, two below and three columns to the right."""

    LAYOUT = Layout((0, 1), halo=((1, 2), (0, 3)), fill=9.0)

    def implementations(self, node: Node, target: str, options: Options) -> Sequence[Implementation]:
        halo = (Storage(self.LAYOUT),)
        if node.op == "Exp":
            return [Implementation(name="exp", outputs=halo)]
        return [Implementation(name="neg", inputs=halo)] if node.op == "Neg" else ()

    def may_join(self, group: object, node: Node) -> bool:
        return False


@pytest.mark.parametrize("rows", [4, -1])
def test_a_halo_belongs_to_its_buffer(rows: int) -> None:
    """It is planned, filled by the producer in every call, and needs no conversion between two that agree."""
    plan, report = planned(with_halo(rows, 5), backend=Haloed())
    assert report.conversions == []
    (at,) = [i for i, v in enumerate(plan.values) if v.layout == Haloed.LAYOUT]
    executor = PlanExecutor(plan, poison=True)
    draw = random.Random(0)
    for n in (4, 4) if rows > 0 else (4, 1, 6):
        x = np.full((n, 5), draw.random(), np.float32)
        placement = executor.placement([x])
        assert placement.memory.size >= (n + 3) * 8 * 4
        seen: list[np.ndarray] = []

        class Watch:
            def before(self, step: object, frame: object) -> None: ...

            def after(self, step, frame, seconds: float) -> None:  # type: ignore[no-untyped-def]
                if at in getattr(step, "outputs", ()):
                    start = frame.placement.starts[plan.values[at].buffer] + frame.placement.offsets[at]
                    raw = frame.arena[start : start + (n + 3) * 8 * 4].copy()  # noqa: B023
                    seen.append(raw.view(np.float32).reshape(n + 3, 8))  # noqa: B023

        (got,) = executor.observe([x], StateStore(), Watch())
        np.testing.assert_array_equal(got, interpret(plan.graph, [x])[0][0])
        (whole,) = seen
        np.testing.assert_array_equal(whole[1 : n + 1, :5], np.exp(x))
        whole[1 : n + 1, :5] = 9
        assert (whole == 9).all()
