"""Graphs as ONNX files: the file gives what the graph gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from ge_core.ir import Builder, Graph
from ge_core.ir.graph import Value
from ge_core.ir.verifier import verify
from ge_core.reference.interpret import interpret
from ge_frontend_onnx.exporter import export
from ge_frontend_onnx.importer import import_model
from tests.frontends.onnx.agreement import error_of_scale, run_imported, run_ort

Build = Callable[..., Any]


def built(build: Build, arrays: Sequence[np.ndarray], shapes: Sequence[Any] | None = None) -> Graph:
    """A graph of what `build` makes of inputs x0, x1, ... like the arrays, or of other shapes."""
    b = Builder(Graph("net"))
    given = shapes or [a.shape for a in arrays]
    inputs = [b.input(f"x{i}", a.dtype, s) for i, (a, s) in enumerate(zip(arrays, given, strict=True))]
    made = build(b, *inputs)
    b.outputs(*([made] if isinstance(made, Value) else made))
    verify(b.graph)
    return b.graph


def check(path: Path, graph: Graph, arrays: Sequence[np.ndarray], opset: int, tolerance: float = 1e-5) -> None:
    """The file gives what the graph gives, in ONNX Runtime and imported again; integers and truths exactly."""
    export(graph, path, opset)
    onnx.checker.check_model(str(path))
    want, _ = interpret(graph, list(arrays))
    again = import_model(str(path))
    feed = dict(zip(again.signature.input_names, arrays, strict=True))
    for got in (run_imported(again, feed), run_ort(str(path), feed)):
        for g, w in zip(got, want, strict=True):
            assert error_of_scale(np.asarray(g), np.asarray(w)) <= tolerance
            assert np.asarray(w).dtype.kind not in "iub" or np.array_equal(g, w)
