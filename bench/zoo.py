"""Imports, compiles and compares the list of models, one process for each; `make zoo` runs it.

    python bench/zoo.py [names ...]     run what has no result at this commit yet; a name may be a part of names
    python bench/zoo.py --again         run all of them again
    python bench/zoo.py --table         print the table of the results, in Markdown

Each result is written to bench/results/zoo_torch.json at once, so that an interrupted run goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "zoo_torch.json"
PACKAGES = ("torch", "torchvision", "timm", "transformers", "numpy")
SECONDS_ALLOWED = 1800
TOLERANCE = 1e-4  # of the largest value of each result


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    sys.path[:0] = [str(ROOT)]
    if given.one:
        print(json.dumps(run_model(given.one)))
        return 0
    if given.table:
        print(table(read_results()["models"]))
        return 0
    return run_list(given.names, given.again)


def run_list(names: Sequence[str], again: bool) -> int:
    """Run the chosen models that have no result yet; 1 when one of them failed."""
    from bench.zoo_torch import MODELS

    results = read_results()
    commit = current_commit()
    for name in MODELS:
        if names and not any(part in name for part in names):
            continue
        if not again and results["models"].get(name, {}).get("commit") == commit:
            continue
        row = in_process(name)
        results["models"][name] = {**row, "commit": commit}
        ordered = {n: results["models"][n] for n in MODELS if n in results["models"]}
        write_results({"versions": versions(), "commit": commit, "models": ordered})
        print(f"{name}: {row['status']} {row.get('message', '')}".rstrip(), flush=True)
    wrong = [name for name, row in read_results()["models"].items() if row["status"] == "failed"]
    return 1 if wrong else 0


def in_process(name: str) -> dict[str, Any]:
    """Run one model in a process of its own."""
    command = [sys.executable, str(Path(__file__).resolve()), "--one", name]
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


def run_model(name: str) -> dict[str, Any]:
    """Import, compile, run, save, load and compare one model.

    Returns:
        status (ok, refused by torch, failed), operators of torch's graph, seconds of torch's export and of our
        import (processor time), peak memory after the import, nodes before and after optimisation, arena and its
        lower bound in bytes, the largest error relative to a result's largest value, and the values tried of
        each symbolic size.
    """
    import warnings

    import torch

    from bench.zoo_torch import MODELS, UNEXPORTABLE
    from ge_core.errors import GeError, ModelImportError

    warnings.filterwarnings("ignore")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    try:
        return _measured(MODELS[name]())
    except ModelImportError as error:
        refused = name in UNEXPORTABLE and "torch.export cannot trace" in error.what
        return {"status": "refused by torch" if refused else "failed", "message": error.what[:300]}
    except (GeError, AssertionError) as error:
        return {"status": "failed", "message": str(error)[:2000]}


def _measured(example: Any) -> dict[str, Any]:
    import torch

    import ge_core
    from ge_core.ir.traverse import walk
    from ge_core.reference.interpret import interpret

    # modules that are loaded on first use are no part of an import's time
    ge_core.import_model(torch.nn.Linear(1, 1).eval(), (torch.zeros(1, 1),), framework="torch")
    with TorchTime() as torch_time:
        started = time.process_time()
        graph = ge_core.import_model(
            example.model, example.args, example.kwargs, framework="torch", dynamic_shapes=example.shapes
        )
        imported = time.process_time() - started
    row: dict[str, Any] = {
        "status": "ok",
        "operators": torch_time.operators,
        "export_seconds": round(torch_time.seconds, 3),
        "import_seconds": round(imported - torch_time.seconds, 3),
    }
    row["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    if not example.values:
        row["nodes"] = [sum(1 for _ in walk(graph)), None]
        return row
    compiled = ge_core.compile(graph, example.args, example.kwargs)
    report = compiled.report
    memory = report.memory["main"]
    row["nodes"] = [report.nodes["imported"], report.nodes["optimised"]]
    row["arena"], row["lower_bound"] = memory.arena, memory.lower_bound
    calls = Calls(example, compiled)
    first, *others = calls.sizes()
    args, kwargs = calls.at(first)
    expected = calls.original(args, kwargs)
    arrays = calls.arrays(args, kwargs)
    errors = [largest_error(expected, interpret(graph, arrays)[0]), largest_error(expected, compiled(*args, **kwargs))]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.om"
        compiled.save(path)
        loaded = ge_core.load(path)
        errors.append(largest_error(expected, loaded(*args, **kwargs)))
    for sizes in others:
        args, kwargs = calls.at(sizes)
        errors.append(largest_error(calls.original(args, kwargs), compiled(*args, **kwargs)))
    row["error"] = float(f"{max(errors):.2g}")
    if not row["error"] <= TOLERANCE:
        row |= {"status": "failed", "message": f"the largest error is {row['error']:.1e}, allowed {TOLERANCE:.0e}"}
    row["sizes"] = {name: [sizes[name] for sizes in (first, *others)] for name in first}
    return row


class TorchTime:
    """Processor time that torch spends on exporting, and the size of the graph that it gives.

    Attributes:
        seconds: in torch.export.export and in run_decompositions.
        operators: calls of operators in the last graph.
    """

    def __init__(self) -> None:
        self.seconds, self.operators = 0.0, 0

    def __enter__(self) -> TorchTime:
        import torch

        self._saved = torch.export.export, torch.export.ExportedProgram.run_decompositions
        torch.export.export = self._timed(self._saved[0])
        torch.export.ExportedProgram.run_decompositions = self._timed(self._saved[1])
        return self

    def __exit__(self, *_: object) -> None:
        import torch

        torch.export.export, torch.export.ExportedProgram.run_decompositions = self._saved

    def _timed(self, function: Any) -> Any:
        def timed(*args: Any, **kwargs: Any) -> Any:
            started = time.process_time()
            program = function(*args, **kwargs)
            self.seconds += time.process_time() - started
            self.operators = sum(node.op == "call_function" for node in program.graph.nodes)
            return program

        return timed


class Calls:
    """Example calls of a model at several sizes."""

    def __init__(self, example: Any, compiled: Any) -> None:
        self.example, self.compiled = example, compiled
        self.shapes = [value.shape for value in compiled.graph.inputs]

    def sizes(self) -> list[dict[str, int]]:
        """The example's sizes, then one more of each, then the least that are allowed (at least 1)."""
        from ge_core.ir import dims

        example: dict[str, int] = {}
        least: dict[str, int] = {}
        for shape, array in zip(self.shapes, self.arrays(self.example.args, self.example.kwargs), strict=True):
            for size, actual in zip(shape, array.shape, strict=True):
                for symbol in dims.symbols(size):
                    if size == dims.symbol(symbol.name, symbol.lo, symbol.hi):
                        example[symbol.name], least[symbol.name] = actual, max(symbol.lo, 1)
        found = [example]
        for sizes in ({name: size + 1 for name, size in example.items()}, least):
            if sizes not in found:
                found.append(sizes)
        return found

    def at(self, sizes: Mapping[str, int]) -> tuple[list[Any], dict[str, Any]]:
        """The example call with tensors of other sizes; values are like the example's."""
        import torch

        from ge_core.ir import dims

        shapes = iter(self.shapes)

        def visit(value: Any) -> Any:
            if not isinstance(value, torch.Tensor):
                return value
            shape = [dims.evaluate(size, sizes) for size in next(shapes)]
            if list(value.shape) == shape:
                return value.clone()
            if value.dtype.is_floating_point:
                return torch.randn(shape).to(value.dtype)
            return torch.randint(int(value.min()), int(value.max()) + 1, shape).to(value.dtype)

        tree = torch.utils._pytree
        args = [tree.tree_map(visit, value) for value in self.example.args]
        return args, {key: tree.tree_map(visit, value) for key, value in self.example.kwargs.items()}

    def arrays(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """The tensors of a call as the graph takes them."""
        import torch

        leaves = torch.utils._pytree.tree_leaves((list(args), dict(kwargs)))
        return [leaf.numpy() for leaf in leaves if isinstance(leaf, torch.Tensor)]

    def original(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """What the model itself returns, called with copies of its arguments, which it may write."""
        import torch

        def clone(value: Any) -> Any:
            return value.clone() if isinstance(value, torch.Tensor) else value

        tree = torch.utils._pytree
        with torch.no_grad():
            return self.example.model(*tree.tree_map(clone, list(args)), **tree.tree_map(clone, dict(kwargs)))


def largest_error(expected: Any, result: Any) -> float:
    """The largest error of all tensors, relative to the largest value of each; infinite when one does not fit."""
    import numpy as np
    import torch

    tree = torch.utils._pytree
    ours = [leaf for leaf in tree.tree_leaves(result) if leaf is not None]
    theirs = [leaf for leaf in tree.tree_leaves(expected) if leaf is not None]
    if len(ours) != len(theirs):
        return float("inf")
    worst = 0.0
    for a, b in zip(ours, theirs, strict=True):
        left, right = np.asarray(a), np.asarray(b.detach() if isinstance(b, torch.Tensor) else b)
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


def versions() -> dict[str, str]:
    """Versions of what a result depends on."""
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in PACKAGES}}


def current_commit() -> str:
    """The commit of the working tree."""
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def read_results() -> dict[str, Any]:
    """The stored results; an empty table when there are none."""
    if not RESULTS.exists():
        return {"models": {}}
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def write_results(results: Mapping[str, Any]) -> None:
    """Write the results, a line for each model, whole or not at all."""
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in results["models"].items())
    head = "".join(f" {json.dumps(key)}: {json.dumps(results[key])},\n" for key in ("versions", "commit"))
    part = RESULTS.with_suffix(".part")
    part.write_text(f'{{\n{head} "models": {{\n{rows}\n }}\n}}\n', encoding="utf-8")
    part.replace(RESULTS)


HEAD = (
    "| model | operators | export s | import s | nodes | arena ÷ bound | largest error | sizes tried |\n"
    "|---|---|---|---|---|---|---|---|"
)


def table(models: Mapping[str, Mapping[str, Any]]) -> str:
    """The results as a Markdown table."""
    return "\n".join([HEAD, *(_line(name, row) for name, row in models.items())])


def _line(name: str, row: Mapping[str, Any]) -> str:
    if row["status"] != "ok":
        return f"| {name} | {row['status']} | | | | | | |"
    before, after = row["nodes"]
    seconds = f"{row['export_seconds']:.2f} | {row['import_seconds']:.2f}"
    if after is None:
        return f"| {name} | {row['operators']} | {seconds} | {before} | | not run | |"
    ratio = row["arena"] / row["lower_bound"] if row["lower_bound"] else 1.0
    sizes = "; ".join(f"{key} {_numbers(values)}" for key, values in row["sizes"].items()) or "static"
    return (
        f"| {name} | {row['operators']} | {seconds} | {before} → {after} | {ratio:.3f} | {row['error']:.1e} | {sizes} |"
    )


def _numbers(values: Iterable[int]) -> str:
    return ", ".join(str(value) for value in dict.fromkeys(values))


if __name__ == "__main__":
    sys.exit(main())
