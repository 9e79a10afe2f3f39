"""Scratch memory of single steps: it is planned with the rest, as large as a call needs, and never on live bytes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from ge_core.backend import Implementation, Options
from ge_core.ir import Builder, Graph, symbol
from ge_core.ir.graph import Node
from ge_core.ir.types import TensorType
from ge_core.plan.execute import PlanExecutor
from ge_core.plan.frame import Frame
from ge_core.plan.plan import KernelStep, Step
from ge_core.plan.states import StateStore
from ge_core.reference.backend import ReferenceBackend
from ge_core.reference.interpret import interpret
from tests.core.plan.random_plans import random_graph, random_inputs
from tests.core.plan.running import Forgetful, planned

GRAPHS = int(os.environ.get("GE_RANDOM_PLANS", "40")) // 4


class Working(ReferenceBackend):
    """Each kernel wants three times the bytes of its first result, and one more."""

    def implementations(self, node: Node, target: str, options: Options) -> Sequence[Implementation]:
        found = super().implementations(node, target, options)
        type = node.outputs[0].type if node.outputs else None
        if not found or not isinstance(type, TensorType) or type.shape is None:
            return found
        return [replace(one, workspace=3 * type.nbytes() + 1) for one in found]


class Scribbling(Forgetful):
    """Fills a step's workspace before it reads its operands, and again when it has written its results."""

    def __init__(self, executor: PlanExecutor, inputs: Sequence[np.ndarray]) -> None:
        super().__init__(executor, inputs)
        placement = executor.placement(inputs)
        buffers = executor.placer.compound([placement.env[s.name] for s in executor.plan.symbols])
        self.extents = {b.name: (placement.memory.offsets[b.name], b.rects[0].size) for b in buffers if b.rects}
        self.scribbled = 0

    def before(self, step: Step, frame: Frame) -> None:
        super().before(step, frame)
        self._scribble(step, frame)

    def after(self, step: Step, frame: Frame, seconds: float) -> None:
        self._scribble(step, frame)

    def _scribble(self, step: Step, frame: Frame) -> None:
        if not isinstance(step, KernelStep) or step.workspace < 0:
            return
        buffer = frame.plan.buffers[step.workspace]
        if buffer.kind == "arena":
            start, size = self.extents[buffer.name]
            frame.arena[start : start + size] = 0xAA
            self.scribbled += size


@pytest.mark.parametrize("seed", range(300, 300 + GRAPHS))
def test_random_graphs_whose_kernels_scribble(seed: int) -> None:
    graph = random_graph(seed)
    plan, _ = planned(graph, backend=Working())
    executor = PlanExecutor(plan, poison=True)
    for n in (3, 1):
        inputs = random_inputs(seed, n)
        want, _ = interpret(graph, inputs, {s.name: s.initial.array() for s in graph.states})
        watch = Scribbling(executor, inputs)
        got = executor.observe(inputs, StateStore(graph.states), watch)
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
        assert watch.scribbled > 0


def test_workspaces_live_for_their_step_alone_and_share_bytes() -> None:
    graph = Graph("chain")
    b = Builder(graph)
    x = b.input("x", "float32", (symbol("n", 1), 16))
    for _ in range(4):
        x = b.Softmax(x)
    b.outputs(x)
    plan, _ = planned(graph, backend=Working())
    scratch = [plan.buffers[s.workspace] for s in plan.steps if isinstance(s, KernelStep)]
    assert len({buffer.name for buffer in scratch}) == 4
    for buffer in scratch:
        (extent,) = buffer.extents
        assert extent.end == extent.start + 1 and str(buffer.size) == "192*n+1"
    executor = PlanExecutor(plan)
    for n in (1, 100):
        memory = executor.placement([np.zeros((n, 16), np.float32)]).memory
        bytes = n * 16 * 4
        assert 3 * bytes < memory.size == memory.lower_bound <= 5 * bytes + 3 * 64 < memory.no_reuse
