"""Compares a compiled model with the original, run in its own framework."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ge_core.errors import GeError
from ge_core.ir.clone import clone_graph
from ge_core.ir.graph import Graph, Node, Value
from ge_core.ir.types import TensorType
from ge_core.model import CompiledModel
from ge_core.passes.pipeline import optimise
from ge_core.plan.execute import PlanExecutor
from ge_core.plan.frame import Frame, get
from ge_core.plan.plan import HostStep, KernelStep, Step
from ge_core.plan.states import StateStore
from ge_core.reference.call import bind_shape
from ge_core.reference.interpret import run_block

TOLERANCE: Mapping[str, float] = {"float32": 1e-4, "float64": 1e-6, "float16": 2e-2, "bfloat16": 5e-2}
"""Largest difference allowed, as a part of the output's scale; other floats 0.25, everything else exact."""


@dataclass(frozen=True)
class Difference:
    """One compared output.

    Attributes:
        largest: largest absolute difference; infinite where only one side is finite, or the shapes differ.
        scale: largest finite magnitude of the original's output.
        allowed: `largest` may be this much.
    """

    name: str
    shape: tuple[int, ...]
    largest: float
    scale: float
    allowed: float

    @property
    def passed(self) -> bool:
        return self.largest <= self.allowed

    def __str__(self) -> str:
        verdict = "ok" if self.passed else "DIFFERS"
        return f"{self.name} {list(self.shape)}: off by {self.largest:.3g} at scale {self.scale:.3g}, {verdict}"


@dataclass
class VerifyReport:
    """The result of `verify`.

    Attributes:
        outputs: one entry for each tensor that the model returns.
        first_divergence: where the compiled model leaves the imported graph, when that can be told.
    """

    target: str
    outputs: list[Difference] = field(default_factory=list)
    first_divergence: str = ""

    @property
    def passed(self) -> bool:
        return all(difference.passed for difference in self.outputs)

    def __bool__(self) -> bool:
        return self.passed

    def summary(self) -> str:
        """A line for each output, and the place of the first divergence."""
        lines = [f"target {self.target}: {'the outputs agree' if self.passed else 'the outputs differ'}"]
        lines += [f"  {difference}" for difference in self.outputs]
        if self.first_divergence:
            lines.append(f"  first divergence: {self.first_divergence}")
        return "\n".join(lines)


def compare(name: str, got: np.ndarray, want: np.ndarray, tolerance: float | None = None) -> Difference:
    """How far an output is from the original's."""
    kind = str(want.dtype)
    is_float = want.dtype.kind == "f" or kind in TOLERANCE or "float" in kind
    part = tolerance if tolerance is not None else TOLERANCE.get(kind, 0.25 if is_float else 0.0)
    if got.shape != want.shape:
        return Difference(name, got.shape, float("inf"), 0.0, 0.0)
    if want.dtype.kind in "OUS":
        return Difference(name, got.shape, 0.0 if np.array_equal(got, want) else float("inf"), 0.0, 0.0)
    a, b = got.astype(np.float64), want.astype(np.float64)
    finite = np.isfinite(b)
    scale = float(np.abs(b[finite]).max(initial=0.0))
    same_elsewhere = np.array_equal(np.isfinite(a), finite) and np.array_equal(a[~finite], b[~finite], equal_nan=True)
    largest = float(np.abs(a[finite] - b[finite]).max(initial=0.0)) if same_elsewhere else float("inf")
    return Difference(name, got.shape, largest, scale, part * max(scale, 1e-30) if is_float else 0.0)


def first_divergence(imported: Graph, compiled: CompiledModel, arrays: Sequence[np.ndarray]) -> str:
    """The first node whose result leaves the imported graph's, for targets that show their intermediates.

    Values are matched by name: passes keep the names of what they do not rewrite; what the canonical form renames
    is matched with that form of the imported graph. Empty when nothing that can be matched differs.
    """
    executor = getattr(compiled.executable, "executors", {}).get("main")
    if not isinstance(executor, PlanExecutor):
        return ""
    try:
        canonical = clone_graph(imported)
        optimise(canonical, frozenset())
        oracle = _all_values(canonical, arrays) | _all_values(imported, arrays)
    except GeError as error:
        return f"the imported graph fails by itself: {error.what}"
    watcher = _Watcher(oracle)
    executor.observe(arrays, StateStore(imported.states), watcher)
    return watcher.found


def _all_values(graph: Graph, arrays: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Every value of the graph's top level, by name, from the interpreter."""
    env: dict[str, int] = {}
    values: dict[Value, object] = {}
    for value, array in zip(graph.inputs, arrays, strict=True):
        if isinstance(value.type, TensorType) and value.type.shape is not None:
            bind_shape(value.type.shape, array.shape, env, value.name, value.name)
        values[value] = array
    for state in graph.states:
        values[state.read] = state.initial.array()
    run_block(graph, values, env)
    return {v.name: x for v, x in values.items() if isinstance(x, np.ndarray)}


class _Watcher:
    """Compares results as they come."""

    def __init__(self, oracle: Mapping[str, np.ndarray]) -> None:
        self.oracle = oracle
        self.found = ""

    def before(self, step: Step, frame: Frame) -> None:
        """Nothing to do."""

    def after(self, step: Step, frame: Frame, seconds: float) -> None:
        if self.found or not isinstance(step, (KernelStep, HostStep)):
            return
        node = frame.plan.node(step.node)
        for name, index in zip(_names(node), step.outputs, strict=True):
            want, got = self.oracle.get(name), get(frame.slots[index])
            if want is None or not isinstance(got, np.ndarray) or got.dtype != want.dtype:
                continue
            difference = compare(name, got, want)
            if not difference.passed:
                operators = [n.op for n in node.regions["body"].nodes] if node.op == "ge.Fused" else [node.op]
                self.found = f"{' + '.join(operators)} ({step.loc}): {difference}"
                return


def _names(node: Node) -> list[str]:
    """Names of a node's results; those of a group are the names that they had before grouping."""
    if node.op == "ge.Fused":
        return [v.name for v in node.regions["body"].outputs]
    return [v.name for v in node.outputs]
