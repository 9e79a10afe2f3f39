"""The plugin host: frontends and backends as separately installed packages.

A plugin's entry module needs `hookimpl`, `PluginInfo` and (a frontend) `ImportedModel`; importing them costs
no numpy. The core asks `host()`. The module is callable, because `ge_core.plugins()` lists what is installed.
"""

from __future__ import annotations

import sys
from types import ModuleType

from ge_core.plugins.catalogue import Catalogue, claimed_by_catalogue, installed_catalogue
from ge_core.plugins.events import Event
from ge_core.plugins.evidence import Evidence
from ge_core.plugins.examination import Finding, examine
from ge_core.plugins.frontend import ImportedModel
from ge_core.plugins.hookspecs import hookimpl
from ge_core.plugins.info import GE_PLUGIN_API, OLDEST_API, Kind, PluginInfo, PluginStatus, State
from ge_core.plugins.listing import backends, frontends, plugins
from ge_core.plugins.options import check_options
from ge_core.plugins.plugin import Plugin
from ge_core.plugins.plugin_host import PluginHost, host
from ge_core.plugins.registry import Registered, Registrar, Registry
from ge_core.plugins.switches import Switches

__all__ = [
    "GE_PLUGIN_API",
    "OLDEST_API",
    "Catalogue",
    "Event",
    "Evidence",
    "Finding",
    "ImportedModel",
    "Kind",
    "Plugin",
    "PluginHost",
    "PluginInfo",
    "PluginStatus",
    "Registered",
    "Registrar",
    "Registry",
    "State",
    "Switches",
    "backends",
    "check_options",
    "claimed_by_catalogue",
    "examine",
    "frontends",
    "hookimpl",
    "host",
    "installed_catalogue",
    "plugins",
]


class _CallableModule(ModuleType):
    """`ge_core.plugins` is this package and the public listing function in one."""

    def __call__(self, *, load: bool = True) -> list[PluginStatus]:
        return plugins(load=load)


sys.modules[__name__].__class__ = _CallableModule
