"""How long compiling the LLaMA-2-7B configuration for the CPU takes, whose weights are nowhere, or in a file.

    python bench/compile_large.py            measure and store
    python bench/compile_large.py --table    the stored results

*absent* is transformers' model of fake tensors, exported by PyTorch; *file* an ONNX model with external data: a file of
holes, 13 GB that take no room on a disk. Both in float16 for prompts of 2,048 tokens. Figures are wall seconds of fresh
processes on the processors that they may use: *cold* without a kernel at hand, *cached* with those of the run before;
both begin with the imported graph. *whole* also exports and imports. Results go to bench/results/compile_large.json.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "compile_large.json"
KINDS = ("cold", "cached")
LAYERS, WIDTH, HIDDEN, HEADS, VOCABULARY, SEQUENCE = 32, 4096, 11008, 32, 32000, 2048
_RUNS = 2


def absent(folder: Path) -> Any:
    """The imported graph of fake tensors."""
    import ge_core
    from bench.zoo_torch import MODELS

    example = MODELS["hf/llama-2-7b"]()
    return ge_core.import_model(example.model, (), example.kwargs)


def file(folder: Path) -> Any:
    """The imported graph of the ONNX file."""
    import ge_core

    path = folder / "llama.onnx"
    if not path.exists():
        write_onnx(path)
    return ge_core.import_model(path)


SOURCES: Mapping[str, Callable[[Path], Any]] = {"absent": absent, "file": file}


def write_onnx(path: Path, layers: int = LAYERS) -> None:
    """The configuration in ONNX's operators of opset 23, its weights holes in the file beside it."""
    import onnx
    from onnx import TensorProto, helper

    nodes: list[onnx.NodeProto] = []
    weights: list[onnx.TensorProto] = []
    end = 0

    def weight(*shape: int) -> str:
        nonlocal end
        tensor = onnx.TensorProto(name=f"w{len(weights)}", data_type=TensorProto.FLOAT16, dims=shape)
        tensor.data_location = TensorProto.EXTERNAL
        size = 2
        for length in shape:
            size *= length
        for key, value in (("location", f"{path.stem}.bin"), ("offset", end), ("length", size)):
            tensor.external_data.add(key=key, value=str(value))
        end += -(-size // 4096) * 4096
        weights.append(tensor)
        return str(tensor.name)

    def node(op: str, *inputs: str, **attributes: Any) -> str:
        nodes.append(helper.make_node(op, inputs, [f"v{len(nodes)}"], **attributes))
        return str(nodes[-1].output[0])

    cos, sin = weight(1, SEQUENCE, WIDTH // HEADS // 2), weight(1, SEQUENCE, WIDTH // HEADS // 2)

    def rotated(x: str) -> str:
        return node("RotaryEmbedding", x, cos, sin, num_heads=HEADS)

    x = node("Gather", weight(VOCABULARY, WIDTH), "tokens")
    for _ in range(layers):
        h = node("RMSNormalization", x, weight(WIDTH))
        q, k, v = (node("MatMul", h, weight(WIDTH, WIDTH)) for _ in range(3))
        h = node("Attention", rotated(q), rotated(k), v, q_num_heads=HEADS, kv_num_heads=HEADS, is_causal=1)
        x = node("Add", x, node("MatMul", h, weight(WIDTH, WIDTH)))
        h = node("RMSNormalization", x, weight(WIDTH))
        gate, up = (node("MatMul", h, weight(WIDTH, HIDDEN)) for _ in range(2))
        gate = node("Mul", gate, node("Sigmoid", gate))
        x = node("Add", x, node("MatMul", node("Mul", gate, up), weight(HIDDEN, WIDTH)))
    nodes.append(
        helper.make_node("MatMul", [node("RMSNormalization", x, weight(WIDTH)), weight(WIDTH, VOCABULARY)], ["y"])
    )
    tokens = helper.make_tensor_value_info("tokens", TensorProto.INT64, (1, SEQUENCE))
    logits = helper.make_tensor_value_info("y", TensorProto.FLOAT16, (1, SEQUENCE, VOCABULARY))
    graph = helper.make_graph(nodes, "llama", [tokens], [logits], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11), path)
    with path.with_suffix(".bin").open("wb") as data:
        data.truncate(end)


def one(source: str, kind: str, folder: Path) -> dict[str, Any]:
    """One figure, in this process."""
    import ge_core

    warnings.filterwarnings("ignore")
    started = time.perf_counter()
    graph = SOURCES[source](folder)
    imported = time.perf_counter()
    model = ge_core.compile(graph, target="cpu", options={} if kind == "cached" else {"cache": False})
    done = time.perf_counter()
    assert model.plan is not None
    return {
        "seconds": done - imported,
        "whole": round(done - started, 2),
        "passes": round(model.report.seconds["optimise"], 2),
        "plan": round(model.report.seconds["plan"], 2),
        "build": round(model.report.seconds["build"], 2),
        "nodes": model.report.nodes,
        "steps": len(list(model.plan.all_steps())),
        "resident_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
    }


def measure(source: str, folder: Path) -> dict[str, Any]:
    """One row: the better of two runs of each kind."""
    row: dict[str, Any] = {"processors": len(os.sched_getaffinity(0))}
    for kind in KINDS:
        if kind == "cached":
            _process(source, kind, folder)  # the kernels are there afterwards
        row[kind] = min((_process(source, kind, folder) for _ in range(_RUNS)), key=lambda found: found["seconds"])
        row[kind]["seconds"] = round(row[kind]["seconds"], 2)
    return row


def _process(source: str, kind: str, folder: Path) -> dict[str, Any]:
    env = {**os.environ, "GE_CACHE_DIR": str(folder / "cache")}
    command = [sys.executable, str(Path(__file__)), "--one", source, kind, str(folder)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{source} {kind}: {done.stderr.strip()[-500:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def table(results: Mapping[str, Any]) -> str:
    """The results in Markdown."""
    lines = ["| weights | kernels | compile s | passes | plan | build | with export and import | peak MiB |"]
    lines.append("|---" * 8 + "|")
    for source, row in results.items():
        for kind in KINDS:
            cell = row[kind]
            figures = (cell[key] for key in ("seconds", "passes", "plan", "build", "whole", "resident_mib"))
            lines.append(f"| {source} | {kind} | {' | '.join(map(str, figures))} |")
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    sys.path[:0] = [str(ROOT)]
    if arguments[:1] == ["--one"]:
        source, kind, where = arguments[1:]
        print(json.dumps(one(source, kind, Path(where))))
        return 0
    results: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    if arguments != ["--table"]:
        with tempfile.TemporaryDirectory() as folder:
            for source in arguments or SOURCES:
                results[source] = measure(source, Path(folder))
                RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(table(results))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
