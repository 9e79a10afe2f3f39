"""The frontend of the made-up framework."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ge_core.errors import UnsupportedError
from ge_core.ir import Builder, Graph, Location, symbol
from ge_core.plugins import ImportedModel, PluginInfo, hookimpl
from ge_core.signature import Signature
from tests.core.api import toys

GE_PLUGIN_API = 1


@hookimpl
def ge_plugin_info() -> PluginInfo:
    return PluginInfo(name="toy", kind="frontend", api=1, options={"depth": "nothing"})


@hookimpl
def ge_claims_model(type_names: tuple[str, ...], path: str | None, head: bytes | None) -> bool:
    return "tests.core.api.toys.Model" in type_names


@hookimpl
def ge_import_model(
    model: toys.Model,
    inputs: Sequence[toys.Tensor] | None,
    kwargs: Mapping[str, toys.Tensor] | None,
    dynamic_shapes: object | None,
    options: Mapping[str, object],
) -> ImportedModel:
    if model.unsupported:
        raise UnsupportedError("2 operators are not supported", details=["toy.fft (3 times)", "toy.eig"])
    args, keywords = tuple(inputs or ()), dict(kwargs or {})
    signature = Signature.of_call(
        args, keywords, model(*args, **keywords), is_tensor=lambda v: isinstance(v, toys.Tensor), parameters=("x",)
    )
    graph = Graph("toy")
    b = Builder(graph)
    rows = symbol("rows", 1, 64) if dynamic_shapes else args[0].shape[0]
    x = b.input("x", "float32", (rows, model.w.shape[0]))
    with b.at(Location("toy", "", "model.py", 40, "toy.linear")):
        h = b.MatMul(x, model.w)
        y = b.Add(h, model.b)
    if keywords:
        y = b.Mul(y, b.input("scale", "float32", ()))
    with b.at(Location("toy", "head", "model.py", 44, "toy.softmax")):
        if model.wrong:
            y = b.Mul(y, np.float32(1.25))
        y = b.Softmax(y)
    b.outputs(y, h, b.ReduceSum(h, keepdims=0))
    return ImportedModel(graph, signature)


@hookimpl
def ge_tensor_to_numpy(tensor: object) -> np.ndarray | None:
    return tensor.data if isinstance(tensor, toys.Tensor) else None


@hookimpl
def ge_tensor_from_numpy(array: np.ndarray, like: object) -> toys.Tensor:
    return toys.Tensor(array)


@hookimpl
def ge_run_original(model: toys.Model, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
    return toys.Model.__call__(model, *args, **kwargs)
