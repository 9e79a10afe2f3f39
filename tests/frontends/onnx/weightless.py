"""Graphs of real models without their weights: small files, filled from a seed, with a digest of what they give.

python weightless.py MODEL.onnx NAME '{"input": [1, 576]}'    write a fixture of a model, for these input shapes
"""

from __future__ import annotations

import json
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, helper

from ge_core.reference.interpret import interpret
from ge_frontend_onnx.importer import import_model

FOLDER = Path(__file__).parent / "fixtures"
DIGESTS = FOLDER / "digests.json"

# Shorter tensors (shapes, axes, scales of quantisation) stay: graphs mean something by their values.
_KEPT = 64
_SAMPLES = 8


def _tensors(graph: Any) -> Iterator[TensorProto]:
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            if attribute.HasField("g"):
                yield from _tensors(attribute.g)


def strip(model: ModelProto) -> None:
    """Take the data of long tensors of floats out of a model."""
    for tensor in _tensors(model.graph):
        if np.prod(tensor.dims) > _KEPT and tensor.data_type == TensorProto.FLOAT:
            tensor.ClearField("raw_data")
            tensor.ClearField("float_data")
    del model.graph.value_info[:]
    model.graph.ClearField("doc_string")
    for node in model.graph.node:
        node.ClearField("doc_string")


def fill(model: ModelProto) -> ModelProto:
    """Give the stripped tensors values: by place, of a size that keeps results of many layers within range."""
    for place, tensor in enumerate(_tensors(model.graph)):
        shape = tuple(tensor.dims)
        if np.prod(shape) <= _KEPT or tensor.data_type != TensorProto.FLOAT:
            continue
        random = np.random.default_rng(zlib.crc32(f"{place} {shape}".encode()))
        if len(shape) == 1:
            values = random.uniform(0.5, 1.5, shape)  # variances among them
        else:
            values = random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
        tensor.raw_data = values.astype(np.float32).tobytes()
    return model


def load(name: str) -> ModelProto:
    """A fixture with its weights."""
    return fill(onnx.load(FOLDER / f"{name}.onnx"))


def feed(model: ModelProto, shapes: dict[str, list[int]]) -> dict[str, np.ndarray]:
    """Inputs of these shapes."""
    random = np.random.default_rng(0)
    made = {}
    for info in model.graph.input:
        if info.name in shapes:
            dtype = helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type)
            shape = shapes[info.name]
            made[info.name] = (random.random(shape) if dtype.kind == "f" else random.integers(0, 9, shape)).astype(
                dtype
            )
    return made


def digest(model: ModelProto, shapes: dict[str, list[int]]) -> list[dict[str, Any]]:
    """For each output its type, shape, mean, spread and some of its elements."""
    imported = import_model(model)
    given = feed(model, shapes)
    outputs, _ = interpret(imported.graph, [given[name] for name in imported.signature.input_names])
    found = []
    for array in outputs:
        flat = array.astype(np.float64).ravel()
        places = np.linspace(0, flat.size - 1, _SAMPLES).astype(int)
        found.append({
            "dtype": str(array.dtype), "shape": list(array.shape), "mean": float(flat.mean()), "std": float(flat.std()),
            "samples": [float(x) for x in flat[places]],
        })  # fmt: skip
    return found


def write(path: str, name: str, shapes: dict[str, list[int]]) -> None:
    """Store a model's graph and the digest of what it gives with weights from a seed."""
    model = onnx.load(path)
    strip(model)
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.onnx").write_bytes(model.SerializeToString())
    digests = json.loads(DIGESTS.read_text()) if DIGESTS.exists() else {}
    digests[name] = {"shapes": shapes, "outputs": digest(fill(model), shapes)}
    assert all(np.isfinite(o["mean"]) for o in digests[name]["outputs"])
    DIGESTS.write_text(json.dumps(digests, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    write(sys.argv[1], sys.argv[2], json.loads(sys.argv[3]))
