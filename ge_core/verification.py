"""Compares a compiled model with the original, run in its own framework."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ge_core.compiler import CompileRequest, EntrySource, compile_entries, parse_precision
from ge_core.errors import GeError
from ge_core.ir.clone import clone_graph
from ge_core.ir.graph import Graph, Value
from ge_core.ir.types import TensorType
from ge_core.model import MAIN, CompiledModel
from ge_core.passes.pipeline import optimise
from ge_core.plugins import host
from ge_core.reference.call import bind_shape
from ge_core.reference.interpret import run_block
from ge_core.signature import Signature

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
        predicted: for a target that was emulated, the error that its element types bring, one line each.
    """

    target: str
    outputs: list[Difference] = field(default_factory=list)
    first_divergence: str = ""
    predicted: list[str] = field(default_factory=list)

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
        lines += [f"  {line}" for line in self.predicted]
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
    """The first node whose result is wrong, and who is to blame: the core passes, or the target.

    The optimised graph is interpreted and compared with the imported one; values are matched by name, since passes
    keep the names of what they do not rewrite (what the canonical form renames is matched with that form). Then the
    optimised graph is compiled again with every value as an output, and compared with its interpretation. Empty when
    nothing that can be matched differs.
    """
    optimised = compiled.graph
    try:
        canonical = clone_graph(imported)
        optimise(canonical, frozenset())
        oracle = _all_values(canonical, arrays) | _all_values(imported, arrays)
        mine = _all_values(optimised, arrays)
    except GeError as error:
        return f"the graph fails when it is interpreted: {error.what}"
    found = _first(optimised, mine, oracle)
    if found:
        return f"the core passes changed the result of {found}"
    found = _first(optimised, _on_target(optimised, compiled, arrays), mine)
    return f"the target {compiled.target!r} computes another result of {found}" if found else ""


def _on_target(graph: Graph, compiled: CompiledModel, arrays: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """The values of the graph's top level as the target computes them."""
    probe = clone_graph(graph)
    watched = [v for node in probe.nodes for v in node.outputs if isinstance(v.type, TensorType)]
    probe.set_outputs(watched)
    names = [v.name for v in watched]
    origin = compiled.provenance
    request = CompileRequest(
        host().backend(origin.backend),
        origin.target,
        parse_precision(origin.precision),
        frozenset(origin.switches),
        {**origin.options, "share_weights": True},
        optimised=True,
    )
    source = EntrySource(probe, Signature.flat([v.name for v in probe.inputs], names))
    model = compile_entries({MAIN: source}, request)
    results = model.executable.run(list(arrays), model.session().states, MAIN)
    return dict(zip(names, results, strict=True))


def _first(graph: Graph, got: Mapping[str, np.ndarray], want: Mapping[str, np.ndarray]) -> str:
    """The first node of the top level whose result differs."""
    for node in graph.nodes:
        for value in node.outputs:
            a, b = got.get(value.name), want.get(value.name)
            if a is None or b is None or a.dtype != b.dtype:
                continue
            difference = compare(value.name, a, b)
            if not difference.passed:
                return f"{node.op} ({node.loc}): {difference}"
    return ""


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
