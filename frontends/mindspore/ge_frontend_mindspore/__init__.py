"""The MindSpore frontend's entry module: thin, so that knowing of it never imports mindspore."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from ge_core.plugins import Evidence, ImportedModel, PluginInfo, claimed_by_catalogue, hookimpl

if TYPE_CHECKING:
    import numpy as np

GE_PLUGIN_API = 1


@hookimpl
def ge_plugin_info() -> PluginInfo:
    return PluginInfo(
        name="mindspore",
        kind="frontend",
        api=GE_PLUGIN_API,
        description="MindSpore cells and MindIR files",
        file_suffixes=(".mindir",),
        tested="mindspore>=2.7,<2.11",
    )


@hookimpl
def ge_claims_model(type_names: tuple[str, ...], path: str | None, head: bytes | None) -> bool:
    return claimed_by_catalogue("mindspore", Evidence(type_names, path, head))


@hookimpl
def ge_import_model(
    model: object,
    inputs: Sequence[object] | None,
    kwargs: Mapping[str, object] | None,
    dynamic_shapes: object | None,
    options: Mapping[str, object],
) -> ImportedModel:
    from .importer import import_model

    return import_model(model, inputs, kwargs, dynamic_shapes, options)


@cache
def _tensors() -> Any:
    """The conversions, found once: every call of a model needs them."""
    from . import tensors

    return tensors


@hookimpl
def ge_tensor_to_numpy(tensor: object) -> np.ndarray | None:
    array: np.ndarray | None = _tensors().to_numpy(tensor)
    return array


@hookimpl
def ge_tensor_from_numpy(array: np.ndarray, like: object) -> object:
    return _tensors().from_numpy(array, like)


@hookimpl
def ge_run_original(model: object, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
    from .original import run_original

    return run_original(model, args, kwargs)
