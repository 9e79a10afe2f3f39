"""What a plugin says about itself, and what the host knows about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["frontend", "backend"]
State = Literal["available", "loaded", "disabled", "broken"]

GROUPS: dict[str, Kind] = {"ge_core.frontends": "frontend", "ge_core.backends": "backend"}

# The contract's version. Adding a hook or an argument keeps it, since pluggy passes arguments by name;
# renaming or removing one raises GE_PLUGIN_API, and the oldest number still served stays in OLDEST_API.
GE_PLUGIN_API = 1
OLDEST_API = 1


@dataclass(frozen=True, kw_only=True)
class PluginInfo:
    """What `ge_plugin_info` returns; cheap to build, without importing the framework or opening a device.

    Args:
        name: the entry-point name: the framework ("torch") or the target family ("ascend310p").
        kind: "frontend" or "backend".
        api: the plugin API number that this plugin was written for (a literal, not the core's constant).
        description: one line for `ge plugins`.
        file_suffixes: suffixes of the model files that a frontend reads, such as ".onnx".
        tested: the range of the framework or driver that it is tested with, such as "torch>=2.6,<2.14".
        options: the keys of `compile(options=...)` that this plugin reads, each with a line of explanation.
    """

    name: str
    kind: Kind
    api: int
    description: str = ""
    file_suffixes: tuple[str, ...] = ()
    tested: str = ""
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PluginStatus:
    """One line of `plugins()`: an installed plugin, its state, and why.

    `state` is "available" (installed, not loaded yet), "loaded", "disabled" (by a switch) or "broken";
    `reason` says why it is disabled or broken, `fix` what to run. `load_ms` is the time that loading took,
    `early_imports` the frameworks that loading imported, which a thin entry module does not.
    """

    name: str
    kind: Kind
    state: State
    distribution: str
    version: str
    entry_point: str = ""
    description: str = ""
    api: int | None = None
    tested: str = ""
    file_suffixes: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    reason: str = ""
    fix: str = ""
    load_ms: float | None = None
    early_imports: tuple[str, ...] = ()
