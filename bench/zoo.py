"""Imports, compiles and compares the lists of models, one process for each model; `make zoo` runs it.

    python bench/zoo.py [names ...]     run what has no result at this commit yet; a name may be a part of names
    python bench/zoo.py --list paddle   another list than PyTorch's: bench/zoo_paddle.py and bench/framework_paddle.py
    python bench/zoo.py --again         run all of them again
    python bench/zoo.py --table         print the table of the results, in Markdown

Each result is written to bench/results/zoo_<list>.json at once, so that an interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bench.framework import Example, Framework, Tracing

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
LISTS = ("torch", "tensorflow", "paddle", "mindspore")
SECONDS_ALLOWED = 1800
_LONG = 0.5  # seconds of imports that are enough to know how long one takes
TOLERANCE = 1e-4  # of the largest value of each result


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--list", choices=LISTS, default="torch")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--names", dest="print_names", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    sys.path[:0] = [str(ROOT)]
    if given.table:
        print(table(read_results(given.list)["models"]))
        return 0
    if not given.one and not given.print_names:
        return run_list(given.list, given.names, given.again)
    framework: Framework = importlib.import_module(f"bench.framework_{given.list}").FRAMEWORK
    if given.one:
        print(json.dumps(run_model(framework, given.one)))
    else:
        print(json.dumps({"models": list(models(given.list)), "packages": list(framework.packages)}))
    return 0


def run_list(name: str, chosen: Sequence[str], again: bool) -> int:
    """Run the chosen models of a list that have no result yet; 1 when one of them failed."""
    listed = listing(name)
    results = read_results(name)
    commit = current_commit()
    for model in listed["models"]:
        if chosen and not any(part in model for part in chosen):
            continue
        if not again and results["models"].get(model, {}).get("commit") == commit:
            continue
        row = in_process(name, "--one", model)
        results = read_results(name)  # another run may have added to it
        results["models"][model] = {**row, "commit": commit}
        ordered = {n: results["models"][n] for n in listed["models"] if n in results["models"]}
        write_results(name, {"versions": versions(listed["packages"]), "commit": commit, "models": ordered})
        print(f"{model}: {row['status']} {row.get('message', '')}".rstrip(), flush=True)
    wrong = [model for model, row in read_results(name)["models"].items() if row["status"] == "failed"]
    return 1 if wrong else 0


def listing(name: str) -> dict[str, Any]:
    """The names of a list's models and its packages, read in a process of its own: it imports the framework."""
    row = in_process(name, "--names")
    if "models" not in row:
        raise SystemExit(f"bench/zoo_{name}.py cannot be read: {row.get('message')}")
    return row


def in_process(name: str, *arguments: str) -> dict[str, Any]:
    """Run this program for one model in a process of its own; what it printed last."""
    command = [sys.executable, str(Path(__file__).resolve()), "--list", name, *arguments]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_ALLOWED, env=env, check=False)
    except subprocess.TimeoutExpired:
        return {"status": "failed", "message": f"took more than {SECONDS_ALLOWED} s"}
    lines = done.stdout.strip().splitlines()
    if done.returncode == 0 and lines:
        row: dict[str, Any] = json.loads(lines[-1])
        return row
    last = (done.stderr.strip().splitlines() or ["no output"])[-1]
    return {"status": "failed", "message": f"exit code {done.returncode}: {last[:200]}"}


def run_model(framework: Framework, name: str) -> dict[str, Any]:
    """Import, compile, run, save, load and compare one model.

    Returns:
        status (ok, refused by the framework, refused by name, failed), operators of the framework's graph, seconds of
        its tracing and of our import (processor time), peak memory after the import, nodes before and after
        optimisation, arena and its lower bound in bytes, host steps, the largest error relative to a result's largest
        value on the default target and on the reference, and the values tried of each symbolic size.
    """
    from ge_core.errors import GeError, ModelImportError, UnsupportedError

    framework.prepare()
    try:
        return _measured(framework, models(framework.name)[name]())
    except ModelImportError as error:
        if not framework.refused(name, error.what):
            return {"status": "failed", "message": str(error)[:2000]}
        if isinstance(error, UnsupportedError):
            named = ", ".join(detail.split()[0] for detail in error.details)
            return {"status": "refused by name", "message": f"{error.what}: {named}"[:300]}
        return {"status": f"refused by {framework.name}", "message": error.what[:300]}
    except (GeError, AssertionError) as error:
        return {"status": "failed", "message": str(error)[:2000]}


def _measured(framework: Framework, example: Example) -> dict[str, Any]:
    import ge_core
    from ge_core.ir.traverse import walk
    from ge_core.reference.interpret import interpret

    graph, traced, imported = _imported(framework, example)
    row: dict[str, Any] = {
        "status": "ok",
        "operators": traced.operators,
        "export_seconds": round(traced.seconds, 3),
        "import_seconds": round(imported, 4),
    }
    row["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    if not example.values:
        row["nodes"] = [sum(1 for _ in walk(graph)), None]
        return row
    compiled = ge_core.compile(graph, example.args, example.kwargs)
    report = compiled.report
    memory = report.memory["main"]
    row["target"] = compiled.target
    row["nodes"] = [report.nodes["imported"], report.nodes["optimised"]]
    row["arena"], row["lower_bound"] = memory.arena, memory.lower_bound
    row["host_steps"] = len(report.host_steps)
    arrays = framework.arrays(example)
    sizes = tried_sizes(compiled, arrays)
    original = framework.original(example)
    expected = framework.call(original, example, arrays)
    row["reference_error"] = float(f"{largest_error(expected, interpret(graph, arrays)[0]):.2g}")
    errors = [largest_error(expected, framework.call(compiled, example, arrays))]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.om"
        compiled.save(path)
        errors.append(largest_error(expected, framework.call(ge_core.load(path), example, arrays)))
    for other in sizes[1:]:
        arrays = at_sizes(compiled, arrays, other)
        expected = framework.call(original, example, arrays)
        errors.append(largest_error(expected, framework.call(compiled, example, arrays)))
    row["error"] = float(f"{max(errors):.2g}")
    worst = max(row["error"], row["reference_error"])
    if not worst <= TOLERANCE:
        row |= {"status": "failed", "message": f"the largest error is {worst:.1e}, allowed {TOLERANCE:.0e}"}
    row["sizes"] = {name: [chosen[name] for chosen in sizes] for name in sizes[0]}
    return row


def _imported(framework: Framework, example: Example) -> tuple[Any, Tracing, float]:
    """The graph, what the framework spent on the first import, and our own seconds: the best of several imports while
    they are short."""
    import ge_core

    first: tuple[Any, Tracing] | None = None
    best, spent = float("inf"), 0.0
    while spent < _LONG:
        with framework.tracing() as traced:
            started = time.process_time()
            graph = ge_core.import_model(
                example.model, example.args, example.kwargs, framework=framework.name, dynamic_shapes=example.shapes
            )
            seconds = time.process_time() - started
        first = first or (graph, traced)
        ours = seconds - traced.seconds
        best, spent = min(best, ours), spent + max(ours, _LONG / 20)
    assert first is not None
    return *first, best


def tried_sizes(compiled: Any, arrays: Sequence[Any]) -> list[dict[str, int]]:
    """The example's symbolic sizes, then one more of each, then the least that are allowed (at least 1)."""
    from ge_core.ir import dims

    example: dict[str, int] = {}
    least: dict[str, int] = {}
    for value, array in zip(compiled.graph.inputs, arrays, strict=True):
        for size, actual in zip(value.shape, array.shape, strict=True):
            for symbol in dims.symbols(size):
                if size == dims.symbol(symbol.name, symbol.lo, symbol.hi):
                    example[symbol.name], least[symbol.name] = actual, max(symbol.lo, 1)
    found = [example]
    for sizes in ({name: size + 1 for name, size in example.items()}, least):
        if sizes not in found:
            found.append(sizes)
    return found


def at_sizes(compiled: Any, arrays: Sequence[Any], sizes: Mapping[str, int]) -> list[Any]:
    """Values like the given ones for these sizes."""
    import numpy as np

    from ge_core.ir import dims

    random = np.random.default_rng(0)
    found = []
    for value, array in zip(compiled.graph.inputs, arrays, strict=True):
        shape = tuple(int(dims.evaluate(size, sizes)) for size in value.shape)
        if array.shape != shape and array.dtype.kind == "f":
            array = random.standard_normal(shape).astype(array.dtype)
        elif array.shape != shape:
            array = random.integers(int(array.min()), int(array.max()) + 1, shape).astype(array.dtype)
        found.append(array)
    return found


def largest_error(expected: Sequence[Any], result: Sequence[Any]) -> float:
    """The largest error of all tensors, relative to the largest value of each; infinite when one does not fit."""
    import numpy as np

    if len(result) != len(expected):
        return float("inf")
    worst = 0.0
    for a, b in zip(result, expected, strict=True):
        left, right = np.asarray(a), np.asarray(b)
        if left.shape != right.shape or left.dtype != right.dtype:
            return float("inf")
        left, right = left.astype(np.float64), right.astype(np.float64)
        finite = np.isfinite(right)
        if not np.array_equal(np.isfinite(left), finite) or not np.array_equal(
            left[~finite], right[~finite], equal_nan=True
        ):
            return float("inf")
        if finite.any():
            scale = max(float(np.abs(right[finite]).max()), 1e-30)
            worst = max(worst, float(np.abs(left[finite] - right[finite]).max()) / scale)
    return worst


def models(name: str) -> Mapping[str, Callable[[], Example]]:
    """The list of models of a framework."""
    found: Mapping[str, Callable[[], Example]] = importlib.import_module(f"bench.zoo_{name}").MODELS
    return found


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Versions of what a result depends on."""
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in packages}}


def current_commit() -> str:
    """The commit of the working tree."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def read_results(name: str) -> dict[str, Any]:
    """The stored results of a list; an empty table when there are none."""
    path = RESULTS / f"zoo_{name}.json"
    if not path.exists():
        return {"models": {}}
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def write_results(name: str, results: Mapping[str, Any]) -> None:
    """Write the results, a line for each model, whole or not at all."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in results["models"].items())
    head = "".join(f" {json.dumps(key)}: {json.dumps(results[key])},\n" for key in ("versions", "commit"))
    part = RESULTS / f"zoo_{name}.part"
    part.write_text(f'{{\n{head} "models": {{\n{rows}\n }}\n}}\n', encoding="utf-8")
    part.replace(RESULTS / f"zoo_{name}.json")


HEAD = (
    "| model | operators | export s | import s | nodes | arena ÷ bound | host steps | largest error | sizes tried |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


def table(models: Mapping[str, Mapping[str, Any]]) -> str:
    """The results as a Markdown table."""
    return "\n".join([HEAD, *(_line(name, row) for name, row in models.items())])


def _line(name: str, row: Mapping[str, Any]) -> str:
    if row["status"] != "ok":
        return f"| {name} | {row['status']} | | | | | | | |"
    before, after = row["nodes"]
    seconds = f"{row['export_seconds']:.2f} | {row['import_seconds']:.2f}"
    if after is None:
        return f"| {name} | {row['operators']} | {seconds} | {before} | | | not run | |"
    ratio = row["arena"] / row["lower_bound"] if row["lower_bound"] else 1.0
    sizes = "; ".join(f"{key} {_numbers(values)}" for key, values in row["sizes"].items()) or "static"
    error = max(row["error"], row.get("reference_error", 0.0))
    measured = f"{ratio:.3f} | {row.get('host_steps', '')} | {error:.1e}"
    return f"| {name} | {row['operators']} | {seconds} | {before} → {after} | {measured} | {sizes} |"


def _numbers(values: Iterable[int]) -> str:
    return ", ".join(str(value) for value in dict.fromkeys(values))


if __name__ == "__main__":
    sys.exit(main())
