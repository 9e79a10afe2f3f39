"""ONNX's own node cases written as files of an opset, and run again."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from ge_core.errors import GeError
from ge_core.reference.interpret import interpret
from ge_frontend_onnx.exporter import export
from ge_frontend_onnx.importer import import_model
from tests.frontends.onnx.agreement import error_of_scale, run_ort

_TOLERANCE = 1e-3  # of the largest number: cases of 16-bit floats are among them


def failure(case: Any, opset: int) -> str | None:
    """Why a case fails as a file of an opset, None where it passes.

    onnx's checker must accept the file, and ONNX Runtime must give what the imported case gives by reference kernels,
    or what it gives for the case itself, where it knows better than ONNX. Where it runs not even that, the file is
    imported again.
    """
    graph = import_model(case.model).graph
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "case.onnx")
        try:
            export(graph, path, opset)
            onnx.checker.check_model(path)
        except GeError as error:
            return "; ".join(error.details[:2])
        except onnx.checker.ValidationError as error:
            return str(error)[:200]
        names = [info.name for info in onnx.load(path).graph.input]
        for inputs, _ in case.data_sets:
            given = [_plain(x) for x in inputs]
            found = _one(case.model, path, names, given, interpret(graph, given)[0])
            if found is not None:
                return found
    return None


def _one(
    model: onnx.ModelProto, path: str, names: Sequence[str], given: Sequence[Any], want: Sequence[Any]
) -> str | None:
    own = _run({i.name: x for i, x in zip(model.graph.input, given, strict=False)}, model)
    got = _run(dict(zip(names, given, strict=False)), path)
    if isinstance(own, str):
        got = interpret(import_model(path).graph, list(given))[0]
    if isinstance(got, str):
        return got
    if _same(got, want) or (not isinstance(own, str) and _same(got, own)):
        return None
    return "other numbers"


def _run(feed: dict[str, Any], model: onnx.ModelProto | str) -> list[Any] | str:
    """What ONNX Runtime gives, or why it gives nothing."""
    try:
        return run_ort(model, {name: x for name, x in feed.items() if x is not None})
    except Exception as error:  # noqa: BLE001  ONNX Runtime's errors have no common class
        said = str(error)
        return (said.replace(model, Path(model).name) if isinstance(model, str) else said)[:200]


def _same(got: Any, want: Any) -> bool:
    if isinstance(want, (list, tuple)):
        return isinstance(got, (list, tuple)) and len(got) == len(want) and all(map(_same, got, want))
    if got is None or want is None:
        return got is want
    a, b = np.asarray(got), np.asarray(want)
    return a.dtype == b.dtype and a.shape == b.shape and error_of_scale(a, b) <= _TOLERANCE


def _plain(x: Any) -> Any:
    if x is None or isinstance(x, list):
        return x
    return np.asarray(x) if isinstance(x, (np.ndarray, np.generic)) else numpy_helper.to_array(x)
