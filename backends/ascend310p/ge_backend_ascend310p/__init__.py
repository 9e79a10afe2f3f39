"""The backend for Ascend 310P, by CANN; thin: everything else is imported when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ge_core.plugins import PluginInfo, hookimpl

if TYPE_CHECKING:
    from ge_core.backend import Backend

GE_PLUGIN_API = 1


@hookimpl
def ge_plugin_info() -> PluginInfo:
    from ge_ascend.options import OPTIONS

    return PluginInfo(
        name="ascend310p",
        kind="backend",
        api=GE_PLUGIN_API,
        description="Ascend 310P, by CANN",
        options=OPTIONS,
    )


@hookimpl
def ge_backend() -> Backend:
    from ge_ascend.backend import AscendBackend

    return AscendBackend(("ascend310p",))
