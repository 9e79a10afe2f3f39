"""The plugin that is always there: the reference target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ge_core.plugins.hookspecs import hookimpl
from ge_core.plugins.info import PluginInfo

if TYPE_CHECKING:
    from ge_core.backend import Backend

GE_PLUGIN_API = 1


@hookimpl
def ge_plugin_info() -> PluginInfo:
    return PluginInfo(
        name="reference",
        kind="backend",
        api=GE_PLUGIN_API,
        description="the oracle: numpy kernels, built in, slow",
    )


@hookimpl
def ge_backend() -> Backend:
    from ge_core.reference.backend import ReferenceBackend

    return ReferenceBackend()
