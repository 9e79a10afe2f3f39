"""The frontend `air`: AIR files, ours and others'. Thin, so that knowing of it costs nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ge_core.plugins import Evidence, ImportedModel, PluginInfo, claimed_by_catalogue, hookimpl

if TYPE_CHECKING:
    import numpy as np

GE_PLUGIN_API = 1


@hookimpl
def ge_plugin_info() -> PluginInfo:
    return PluginInfo(
        name="air",
        kind="frontend",
        api=GE_PLUGIN_API,
        description="AIR files of CANN",
        file_suffixes=(".air",),
    )


@hookimpl
def ge_claims_model(type_names: tuple[str, ...], path: str | None, head: bytes | None) -> bool:
    return claimed_by_catalogue("air", Evidence(type_names, path, head))


@hookimpl
def ge_import_model(
    model: object,
    inputs: Sequence[object] | None,
    kwargs: Mapping[str, object] | None,
    dynamic_shapes: object | None,
    options: Mapping[str, object],
) -> ImportedModel:
    from ge_ascend.air import import_air, read_air
    from ge_core.errors import ModelImportError, OptionError

    if not isinstance(model, str):
        raise ModelImportError(f"a {type(model).__qualname__} is no path", expected="the path of an .air file")
    if dynamic_shapes is not None:
        raise OptionError("an AIR file says itself which sizes are dynamic", expected="no dynamic_shapes")
    return import_air(read_air(model))


@hookimpl
def ge_tensor_to_numpy(tensor: object) -> np.ndarray | None:
    return None
