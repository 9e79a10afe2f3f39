"""Compares imported models, run by the interpreter, with ONNX Runtime without optimisations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnxruntime
from onnx import ModelProto, TensorProto, ValueInfoProto, helper, numpy_helper

from ge_core.ir.verifier import verify
from ge_core.plugins.frontend import ImportedModel
from ge_core.reference.interpret import interpret
from ge_frontend_onnx.importer import import_model

_NUMBERS = {
    np.dtype(np.float32): TensorProto.FLOAT,
    np.dtype(np.float64): TensorProto.DOUBLE,
    np.dtype(np.float16): TensorProto.FLOAT16,
    np.dtype(np.bool_): TensorProto.BOOL,
    np.dtype(np.int8): TensorProto.INT8,
    np.dtype(np.int16): TensorProto.INT16,
    np.dtype(np.int32): TensorProto.INT32,
    np.dtype(np.int64): TensorProto.INT64,
    np.dtype(np.uint8): TensorProto.UINT8,
    np.dtype(np.uint16): TensorProto.UINT16,
}


def one_node(
    op: str,
    inputs: Sequence[np.ndarray | None],
    attrs: Mapping[str, Any] | None = None,
    *,
    outputs: Sequence[bool] = (True,),
    constants: Sequence[int] = (),
    domain: str = "",
    opset: int = 17,
    dynamic: Sequence[int] = (),
) -> ModelProto:
    """A model of one node.

    Args:
        inputs: an example for each input, None for one that is left out.
        outputs: which outputs the node names.
        constants: inputs that are initializers.
        dynamic: inputs whose sizes are all named.
    """
    infos, tensors = [], []
    for i, array in enumerate(inputs):
        if array is None:
            continue
        if i in constants:
            tensors.append(numpy_helper.from_array(array, f"i{i}"))
            continue
        shape = [f"d{i}_{axis}" if i in dynamic else size for axis, size in enumerate(array.shape)]
        infos.append(helper.make_tensor_value_info(f"i{i}", _NUMBERS[array.dtype], shape))
    names = [f"i{i}" if array is not None else "" for i, array in enumerate(inputs)]
    results = [f"o{i}" if wanted else "" for i, wanted in enumerate(outputs)]
    node = helper.make_node(op, names, results, domain=domain, **(attrs or {}))
    graph = helper.make_graph([node], "g", infos, [ValueInfoProto(name=name) for name in results if name], tensors)
    imports = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def feed_of(inputs: Sequence[np.ndarray | None], constants: Sequence[int] = ()) -> dict[str, np.ndarray]:
    """The inputs of `one_node` by name."""
    return {f"i{i}": a for i, a in enumerate(inputs) if a is not None and i not in constants}


def run(model: ModelProto | str, feed: Mapping[str, Any], **options: Any) -> list[Any]:
    """What the imported model gives."""
    imported = import_model(model, **options)
    verify(imported.graph)
    return run_imported(imported, feed)


def run_imported(imported: ImportedModel, feed: Mapping[str, Any]) -> list[Any]:
    """What an imported model gives for inputs by name."""
    outputs, _ = interpret(imported.graph, [feed[name] for name in imported.signature.input_names])
    return outputs


def run_ort(model: ModelProto | str, feed: Mapping[str, np.ndarray]) -> list[Any]:
    """What ONNX Runtime gives, one thread, nothing optimised."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    given = model if isinstance(model, str) else model.SerializeToString()
    outputs: list[Any] = onnxruntime.InferenceSession(given, options).run(None, dict(feed))
    return outputs


def error_of_scale(got: Any, want: Any) -> float:
    """The largest difference, as a part of the largest magnitude of what is wanted."""
    assert got.dtype == want.dtype and got.shape == want.shape, (got.dtype, got.shape, want.dtype, want.shape)
    if not want.size:
        return 0.0
    got, want = got.astype(np.float64), want.astype(np.float64)
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    scale = np.abs(want[np.isfinite(want)]).max(initial=0.0) or 1.0
    with np.errstate(invalid="ignore"):  # infinities that are the same
        difference = np.abs(got - want)
    return float(np.where(same, 0.0, difference).max() / scale)


def check(
    op: str,
    inputs: Sequence[np.ndarray | None],
    attrs: Mapping[str, Any] | None = None,
    *,
    tolerance: float = 1e-5,
    expected: Sequence[np.ndarray] | None = None,
    **form: Any,
) -> None:
    """One node gives what ONNX Runtime gives, or what is `expected`, within a part of the outputs' scale."""
    model = one_node(op, inputs, attrs, **form)
    feed = feed_of(inputs, form.get("constants", ()))
    want = run_ort(model, feed) if expected is None else list(expected)
    got = run(model, feed)
    assert len(got) == len(want)
    for g, w in zip(got, want, strict=True):
        assert error_of_scale(np.asarray(g), np.asarray(w)) <= tolerance
