"""The hooks: everything that the core ever asks of a plugin.

Each plugin has a plugin manager of its own, so every call goes to one plugin and the order of plugins
carries no meaning. An implementation may take fewer arguments than its specification. Implementations
import their framework inside the function, never at the top of the entry module.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    import numpy as np

    from ge_core.backend import Backend
    from ge_core.ir import Graph
    from ge_core.plugins.events import Event
    from ge_core.plugins.frontend import ImportedModel
    from ge_core.plugins.info import PluginInfo
    from ge_core.plugins.registry import Registrar

PROJECT = "ge_core"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)

# A specification has no body; what it returns is said by its type.
# mypy: disable-error-code="empty-body"


@hookspec(firstresult=True)
def ge_plugin_info() -> PluginInfo:
    """All plugins: who you are. Called once, at load; imports nothing heavy."""


@hookspec(firstresult=True)
def ge_claims_model(type_names: tuple[str, ...], path: str | None, head: bytes | None) -> bool:
    """Frontends: whether this model is yours, decided without importing the framework.

    Args:
        type_names: qualified names of the classes in the model's MRO, most derived first; empty for a path.
        path: the model's path, else None.
        head: the first 4096 bytes of the file; None for a live object and for a folder.
    """


@hookspec(firstresult=True)
def ge_import_model(
    model: object,
    inputs: Sequence[object] | None,
    kwargs: Mapping[str, object] | None,
    dynamic_shapes: object | None,
    options: Mapping[str, object],
) -> ImportedModel:
    """Frontends: turn the model into a graph.

    Args:
        model: a live object of the framework, or the path of a file or folder as `str`.
        inputs: positional examples; None when the model carries its own specification.
        kwargs: keyword examples.
        dynamic_shapes: torch.export's form (per argument), or names by input; None means all static.
        options: the keys that this plugin's `PluginInfo.options` names.

    Raises:
        UnsupportedError: once, after the whole model was scanned, with every operator that is not supported.
        ModelImportError: the model is damaged, or its framework refuses it.
    """


@hookspec(firstresult=True)
def ge_tensor_to_numpy(tensor: object) -> np.ndarray | None:
    """Frontends: the tensor as an array, sharing memory where possible; None for what is no tensor of yours.

    16-bit and 8-bit floats come as ml_dtypes arrays. Must not import the framework: a tensor of a framework
    that is not imported cannot exist.
    """


@hookspec(firstresult=True)
def ge_tensor_from_numpy(array: np.ndarray, like: object) -> object:
    """Frontends: the array as a tensor on the device of `like`, sharing memory where possible."""


@hookspec(firstresult=True)
def ge_run_original(model: object, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
    """Frontends: what the model returns in its own framework, run for inference (`ge verify`)."""


@hookspec(firstresult=True)
def ge_export_graph(graph: Graph, path: str, opset: int | None) -> bool:
    """Frontends: write an optimised graph as a file of the framework's own form; True when that is done.

    Args:
        graph: stays as it is.
        opset: version of the framework's operators; None is the frontend's choice.

    Raises:
        UnsupportedError: the form cannot say something that is in the graph; all of it is listed.
    """


@hookspec(firstresult=True)
def ge_backend() -> Backend:
    """Backends: the object that compiles and runs (`ge_core.backend.Backend`). Opens no device."""


@hookspec
def ge_register_passes(registry: Registrar) -> None:
    """All plugins: add graph passes by name; a name that is taken is an error that names both owners."""


@hookspec
def ge_register_operators(registry: Registrar) -> None:
    """All plugins: add operators of a domain of your own to the operator table, as "domain::Name"."""


@hookspec
def ge_observe(event: Event) -> None:
    """All plugins: be told what happens (an import, a pass, a build). Errors are logged and go no further."""
