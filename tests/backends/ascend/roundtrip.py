"""From a graph to AIR and back, both interpreted."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from ge_ascend.air import import_air, parse_air, write_air
from ge_ascend.check import check_air
from ge_ascend.chips import CHIPS
from ge_ascend.lower import Lowered, lower
from ge_ascend.precision import policy_of

from ge_core.ir import Builder, Graph, symbol
from ge_core.ir.verifier import verify
from ge_core.reference.interpret import interpret

Shape = Sequence[int | str]


def graph_of(build: Callable[..., object], *inputs: tuple[str, Shape]) -> Graph:
    """A graph whose inputs have (dtype, shape); sizes that are names become symbols."""
    graph = Graph("net")
    b = Builder(graph)
    values = [
        b.input(f"x{i}", dtype, [symbol(s, 1, 64) if isinstance(s, str) else s for s in shape])
        for i, (dtype, shape) in enumerate(inputs)
    ]
    found = build(b, *values)
    b.outputs(*(found if isinstance(found, (tuple, list)) else [found]))
    return graph


def lowered(graph: Graph, target: str = "ascend910b", mode: str | None = None, **options: object) -> Lowered:
    chip = CHIPS[target]
    return lower(graph, chip, policy_of(mode, chip), **options)  # type: ignore[arg-type]


def back(found: Lowered, target: str = "ascend910b") -> Graph:
    """The graph that the written file holds; the file passes the checker."""
    assert not found.problems, [str(p) for p in found.problems]
    model = parse_air(write_air(found.program).data)
    errors = [str(f) for f in check_air(model, CHIPS[target]) if f.severity == "error"]
    assert not errors, errors
    graph = import_air(model).graph
    verify(graph)
    return graph


def data(graph: Graph, sizes: dict[str, int] | None = None, seed: int = 0) -> list[np.ndarray]:
    """Reproducible values: floats around 0, small non-negative integers, mixed bools."""
    from ge_core.ir import dims

    rng = np.random.default_rng(seed)
    found = []
    for value in graph.inputs:
        env = {s.name: (sizes or {}).get(s.name, 3) for size in value.shape for s in dims.symbols(size)}
        shape = [dims.evaluate(size, env) for size in value.shape]
        kind = value.dtype
        if kind.is_float:
            found.append(rng.uniform(-2, 2, shape).astype(kind.numpy))
        elif kind.kind == "bool":
            found.append(rng.random(shape) < 0.5)
        else:
            found.append(rng.integers(0, 3, shape).astype(kind.numpy))
    return found


def types(found: Lowered) -> list[str]:
    """The operators of the program, structure left out."""
    return [op.type for op in found.program.ops() if op.type not in ("Data", "Const")]


def same(
    graph: Graph, inputs: Sequence[np.ndarray] | None = None, *, tolerance: float = 1e-5, target: str = "ascend910b",
    mode: str | None = None, sizes: dict[str, int] | None = None, **options: object,
) -> Lowered:  # fmt: skip
    """Lower, write, read, interpret: the results are those of the source."""
    arrays = data(graph, sizes) if inputs is None else list(inputs)
    found = lowered(graph, target, mode, **options)
    again = back(found, target)
    want, _ = interpret(graph, arrays)
    got, _ = interpret(again, arrays)
    for a, b in zip(got, want, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        assert a.shape == b.shape and a.dtype == b.dtype, (a.shape, b.shape, a.dtype, b.dtype)
        scale = max(float(np.abs(b.astype(np.float64)[np.isfinite(b.astype(np.float64))]).max(initial=0)), 1.0)
        np.testing.assert_allclose(
            a.astype(np.float64),
            b.astype(np.float64),
            rtol=0,
            atol=tolerance * scale if b.dtype.kind not in "iub" else 0,
        )
    return found
