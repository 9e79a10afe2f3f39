"""How long compiling for the CPU takes, beside the time that ONNX Runtime and OpenVINO take for the same model.

    python bench/compile.py [names ...]     rows of `peer_models.py`, by default those of `NAMES`
    python bench/compile.py --table         the stored results

Figures are wall times of fresh processes on all cores, best of two, and for *cold* also the processor time of all
processes, which other work on the machine changes less. *cold* compiles the imported graph without a single kernel at
hand; *warm* does it again with the kernels in the user's cache, *cached* with the whole model there; *load* opens the
stored model, trusted; *load again* does so a second time in the same process, when its modules are imported. The peers
open the ONNX file that PyTorch's exporter wrote. Python's own compiled modules are kept, as an installer leaves them,
and the machine's figures are known. Results go to bench/results/compile.json.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "compile.json"
NAMES = ("resnet50-b1", "mobilenetv3", "vit-b16", "bert-base")
KINDS = ("cold", "warm", "cached", "load", "onnxruntime", "openvino")
_RUNS = 2


def prepare(name: str, folder: Path) -> dict[str, Any]:
    """Write the imported graph and the ONNX file."""
    import torch

    import ge_core
    from bench.peer_models import built
    from ge_core.om.graph_codec import write_model

    model, arguments = built(name)
    graph = ge_core.import_model(model, arguments)
    write_model(folder / "graph.om", {"main": graph}, {})
    torch.onnx.export(model, arguments, str(folder / "model.onnx"), dynamo=True, external_data=True, verbose=False)
    return {"nodes": len(graph.nodes)}


def _compiled(folder: Path, cache: bool) -> tuple[float, Any]:
    import ge_core
    from ge_core.om.graph_codec import open_model

    ge_core.frontends()  # whoever imported the model has looked for plugins
    graph, compile = open_model(folder / "graph.om").entries["main"], ge_core.compile
    started = time.perf_counter()
    model = compile(graph, target="cpu", options={} if cache else {"cache": False})
    return time.perf_counter() - started, model


def cold(folder: Path) -> dict[str, Any]:
    """Compile with no kernel at hand."""
    from ge_backend_cpu.backend import plan_kernels
    from ge_backend_cpu.compile import close_workers

    before = time.process_time()
    seconds, model = _compiled(folder, cache=False)
    own = time.process_time() - before
    close_workers()
    return {
        "seconds": seconds,
        "processor": round(own + sum(os.times()[2:4]), 3),
        "kernels": len(plan_kernels(model.artifact.plans.values())),
    }


def warm(folder: Path) -> dict[str, Any]:
    """Compile with the kernels of the run before."""
    os.environ["GE_MODEL_CACHE_MB"] = "0"
    return {"seconds": _compiled(folder, cache=True)[0]}


def cached(folder: Path) -> dict[str, Any]:
    """Compile what was compiled before; the model is stored for `load`."""
    seconds, model = _compiled(folder, cache=True)
    model.save(folder / "model.om")
    return {"seconds": seconds}


def load(folder: Path) -> dict[str, Any]:
    """Open the stored model, and once more with all of ge's modules imported."""
    import ge_core

    open_trusted, seconds = ge_core.load, []
    for _ in range(2):
        started = time.perf_counter()
        open_trusted(folder / "model.om", trust=True)
        seconds.append(time.perf_counter() - started)
    return {"seconds": seconds[0], "again": round(seconds[1], 3)}


def onnxruntime(folder: Path) -> dict[str, Any]:
    """Create a session."""
    import onnxruntime

    started = time.perf_counter()
    onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    return {"seconds": time.perf_counter() - started}


def openvino(folder: Path) -> dict[str, Any]:
    """Read and compile."""
    import openvino

    started = time.perf_counter()
    core = openvino.Core()
    core.compile_model(core.read_model(str(folder / "model.onnx")), "CPU")
    return {"seconds": time.perf_counter() - started}


_KINDS: Mapping[str, Callable[[Path], dict[str, Any]]] = {
    f.__name__: f for f in (cold, warm, cached, load, onnxruntime, openvino)
}


def _process(folder: Path, *arguments: str) -> dict[str, Any]:
    """What one of the functions says in a process of its own."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    env |= {"PYTHONPYCACHEPREFIX": str(folder.parent / "modules"), "GE_CACHE_DIR": str(folder.parent / "cache")}
    command = [sys.executable, str(Path(__file__)), "--one", *arguments, str(folder)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stderr.strip()[-500:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def measure(name: str, folder: Path) -> dict[str, Any]:
    """One row: nodes, kernels, and seconds by kind."""
    folder.mkdir()
    row: dict[str, Any] = {**_process(folder, "prepare", name)}
    for kind in KINDS:
        if kind in ("cold", "warm", "cached"):
            _process(folder, kind)  # modules, the machine's figures and the kernels are there afterwards
        found = [_process(folder, kind) for _ in range(_RUNS)]
        row[kind] = round(min(one.pop("seconds") for one in found), 3)
        row |= min(found, key=lambda one: one.get("processor", one.get("again", 0.0)))
    return row


def table(results: Mapping[str, Any]) -> str:
    """The results in Markdown."""
    heads = ("model", "nodes", "kernels", "cold s", "its processor s", "warm s", "cached s", "load s", "again s",
             "ONNX Runtime s", "OpenVINO s")  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for name, row in results["models"].items():
        shown = (
            row.get(key) for key in ("cold", "processor", "warm", "cached", "load", "again", "onnxruntime", "openvino")
        )
        seconds = " | ".join("–" if figure is None else f"{figure:.2f}" for figure in shown)
        lines.append(f"| {name} | {row['nodes']} | {row['kernels']} | {seconds} |")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    sys.path[:0] = [str(ROOT)]
    if arguments[:1] == ["--one"]:
        *what, where = arguments[1:]
        done = prepare(what[1], Path(where)) if what[0] == "prepare" else _KINDS[what[0]](Path(where))
        print(json.dumps(done))
        return 0
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"models": {}}
    if arguments == ["--table"]:
        print(table(results))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments or NAMES:
            results["models"][name] = row = measure(name, Path(folder) / name)
            results["cores"] = len(os.sched_getaffinity(0))
            print(name, row, flush=True)
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
