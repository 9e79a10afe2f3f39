"""`frontends()`, `backends()`, `plugins()`: what is installed, usable, broken, and why."""

from __future__ import annotations

from ge_core.plugins.info import PluginStatus
from ge_core.plugins.plugin_host import host


def plugins(*, load: bool = True) -> list[PluginStatus]:
    """Every installed plugin. `load=False` imports none of them and tells from metadata alone."""
    return host().statuses(load=load)


def frontends(*, load: bool = True) -> list[PluginStatus]:
    """The installed frontends."""
    return host().statuses("frontend", load=load)


def backends(*, load: bool = True) -> list[PluginStatus]:
    """The installed backends; the built-in reference target is always among them."""
    return host().statuses("backend", load=load)
