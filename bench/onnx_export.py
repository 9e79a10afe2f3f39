"""Writes a list of models as ONNX files of several opsets and runs them in ONNX Runtime; `make zoo` runs it.

    python bench/onnx_export.py [names ...]        run what has no result yet; a name may be a part of names
    python bench/onnx_export.py --again [names]    run them again
    python bench/onnx_export.py --opset 11 13      these opsets, by default 11, 13, 17, 21 and 28
    python bench/onnx_export.py --list onnx        the pretrained ONNX models

The models are those of `bench/zoo.py`, PyTorch's by default, and of `bench/onnx_models.py`. Each file must be accepted
by onnx's checker and by ONNX Runtime, which must give what the graph gives by reference kernels (of an ONNX model: what
ONNX Runtime gives for the model itself), and so must the file once it is imported again.
Results are written to bench/results/onnx_export.json after each model.
"""

from __future__ import annotations

import argparse
import importlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

RESULTS = ROOT / "bench" / "results" / "onnx_export.json"
OPSETS = (11, 13, 17, 21, 28)
TOLERANCE = 1e-4  # of the largest value of each output
SECONDS_ALLOWED = 1800


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--list", default="torch")
    parser.add_argument("--opset", type=int, nargs="*", default=list(OPSETS))
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.one:
        print(json.dumps(run_model(given.list, given.one, given.opset)))
        return 0
    from bench.zoo import versions

    for name in names_of(given.list):
        rows = read_results()["models"]
        if (given.names and not any(part in name for part in given.names)) or (name in rows and not given.again):
            continue
        row = in_process(given.list, name, given.opset)
        rows = read_results()["models"] | {name: row}
        lines = ",\n".join(f"  {json.dumps(n)}: {json.dumps(r)}" for n, r in rows.items())
        made = json.dumps(versions(["torch", "onnx", "onnxruntime"]))
        part = RESULTS.with_suffix(".part")
        part.write_text(f'{{\n "versions": {made},\n "models": {{\n{lines}\n }}\n}}\n', encoding="utf-8")
        part.replace(RESULTS)
        print(name, row["status"], row.get("message") or row.get("errors") or "", flush=True)
    return 1 if any(row["status"] == "failed" for row in read_results()["models"].values()) else 0


def names_of(listed: str) -> list[str]:
    """The models of a list."""
    if listed == "onnx":
        from bench.onnx_models import MODELS

        return [model.path for model in MODELS]
    from bench.zoo import listing

    return list(listing(listed)["models"])


def read_results() -> dict[str, Any]:
    """The stored results; an empty table when there are none."""
    if not RESULTS.exists():
        return {"models": {}}
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def in_process(listed: str, name: str, opsets: Sequence[int]) -> dict[str, Any]:
    """Run one model in a process of its own; what it printed last."""
    options = ["--list", listed, "--one", name, "--opset", *map(str, opsets)]
    try:
        done = subprocess.run(
            [sys.executable, str(Path(__file__).resolve()), *options],
            capture_output=True, text=True, timeout=SECONDS_ALLOWED, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"status": "failed", "message": f"took more than {SECONDS_ALLOWED} s"}
    lines = done.stdout.strip().splitlines()
    if done.returncode == 0 and lines:
        row: dict[str, Any] = json.loads(lines[-1])
        return row
    last = (done.stderr.strip().splitlines() or ["no output"])[-1]
    return {"status": "failed", "message": f"exit code {done.returncode}: {last[:200]}"}


def run_model(listed: str, name: str, opsets: Sequence[int]) -> dict[str, Any]:
    """Import a model and write it at each opset.

    Returns:
        status (ok, refused by the framework, not run, failed), and by opset the larger of the errors of ONNX Runtime
        and of the graph imported again, or what the opset cannot say.
    """
    from ge_core.errors import GeError, ModelImportError

    try:
        opened = open_onnx(name) if listed == "onnx" else open_example(listed, name)
    except ModelImportError as error:
        refused = importlib.import_module(f"bench.framework_{listed}").FRAMEWORK.refused(name, error.what)
        return {"status": f"refused by {listed}" if refused else "failed", "message": error.what[:300]}
    if opened is None:
        return {"status": "not run"}
    graph, arrays, want = opened
    row: dict[str, Any] = {"status": "ok", "errors": {}, "refused": {}}
    for opset in opsets:
        try:
            row["errors"][opset] = float(f"{_error(graph, arrays, want, opset):.2g}")
        except GeError as error:
            row["refused"][opset] = [error.what, *error.details][:6]
    worst = max(row["errors"].values(), default=0.0)
    if worst > TOLERANCE or row["refused"]:
        row["status"] = "failed" if worst > TOLERANCE else "refused"
        row["message"] = f"the largest error is {worst:.1e}; refused at {list(row['refused'])}"
    return row


def open_example(listed: str, name: str) -> tuple[Any, Sequence[Any], Sequence[Any]] | None:
    """Graph, inputs, and what the graph gives for them, states after its outputs; None for one that is not run."""
    import ge_core
    from bench.zoo import models
    from ge_core.reference.interpret import interpret

    framework = importlib.import_module(f"bench.framework_{listed}").FRAMEWORK
    framework.prepare()
    example = models(listed)[name]()
    if not example.values:
        return None
    graph = ge_core.import_model(
        example.model, example.args, example.kwargs, framework=listed, dynamic_shapes=example.shapes
    )
    arrays = framework.arrays(example)
    want, after = interpret(graph, list(arrays))
    return graph, arrays, [*want, *(after[state.name] for state in graph.states)]


def open_onnx(name: str) -> tuple[Any, Sequence[Any], Sequence[Any]]:
    """Graph and inputs of a pretrained model, and what ONNX Runtime gives for the file."""
    from bench.onnx_models import MODELS, fetched
    from ge_core.ir.clone import clone_graph
    from ge_core.ir.types import TensorType
    from ge_core.passes import optimise
    from ge_frontend_onnx.importer import import_model
    from tests.frontends.onnx.agreement import run_ort

    model = next(m for m in MODELS if m.path == name)
    path = str(fetched(model.package) / model.path)
    feed = next(iter(model.feeds()))
    imported = import_model(path)
    trial = clone_graph(imported.graph)
    optimise(trial, ("fold", "dce"))
    if any(isinstance(v.type, TensorType) and v.type.shape is None for v in trial.outputs):
        # the number of axes depends on the sizes of the call: those are fixed
        shapes = {key: dict(enumerate(array.shape)) for key, array in feed.items() if array.shape}
        imported = import_model(path, dynamic_shapes=shapes)
    return imported.graph, [feed[n] for n in imported.signature.input_names], run_ort(path, feed)


def _error(graph: Any, arrays: Sequence[Any], want: Sequence[Any], opset: int) -> float:
    """The larger error of ONNX Runtime and of our import, beside what is wanted."""
    import onnx

    from bench.zoo import largest_error
    from ge_frontend_onnx.exporter import export
    from ge_frontend_onnx.importer import import_model
    from tests.frontends.onnx.agreement import run_imported, run_ort

    feed = dict(zip((value.name for value in graph.inputs), arrays, strict=True))
    feed |= {state.name: state.initial.array() for state in graph.states}
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "net.onnx")
        export(graph, path, opset)
        onnx.checker.check_model(path)
        results: Mapping[str, list[Any]] = {
            "ONNX Runtime": run_ort(path, {name: feed[name] for name in _inputs(path)}),
            "imported again": run_imported(import_model(path), feed),
        }
    return max(largest_error(want, found) for found in results.values())


def _inputs(path: str) -> list[str]:
    import onnx

    return [info.name for info in onnx.load(path, load_external_data=False).graph.input]


if __name__ == "__main__":
    sys.exit(main())
