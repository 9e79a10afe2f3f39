"""The environment's switches over plugins.

    GE_LOAD_PLUGINS=a,b     exactly these may load; empty means none
    GE_DISABLE_PLUGINS=a,b  these are never imported
    GE_STRICT_PLUGINS=1     any broken plugin is an error at once
    GE_TRACE_PLUGINS=1      each hook call is printed to stderr

Names are entry-point names; a frontend and a backend of one name are switched together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ge_core.errors import PluginError

REFERENCE = "reference"
_OFF = {"", "0", "false", "no", "off"}
_ON = {"1", "true", "yes", "on"}


@dataclass(frozen=True)
class Switches:
    """Which plugins may load, and how their failures and calls are shown."""

    only: frozenset[str] | None = None
    disabled: frozenset[str] = frozenset()
    strict: bool = False
    trace: bool = False

    def __post_init__(self) -> None:
        if REFERENCE in self.disabled:
            raise PluginError(
                f"the {REFERENCE} target is built in and cannot be disabled",
                fix=f"take {REFERENCE!r} out of GE_DISABLE_PLUGINS",
            )

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Switches:
        only = environment.get("GE_LOAD_PLUGINS")
        return cls(
            only=None if only is None else _names(only),
            disabled=_names(environment.get("GE_DISABLE_PLUGINS", "")),
            strict=_flag(environment, "GE_STRICT_PLUGINS"),
            trace=_flag(environment, "GE_TRACE_PLUGINS"),
        )

    def why_disabled(self, name: str) -> str:
        """The switch that keeps this plugin from loading, in words; empty when it may load."""
        if name == REFERENCE:
            return ""
        if name in self.disabled:
            return "named in GE_DISABLE_PLUGINS"
        if self.only is not None and name not in self.only:
            return "not named in GE_LOAD_PLUGINS"
        return ""


def _names(text: str) -> frozenset[str]:
    return frozenset(part.strip() for part in text.split(",") if part.strip())


def _flag(environment: Mapping[str, str], name: str) -> bool:
    value = environment.get(name, "").strip().lower()
    if value not in _OFF | _ON:
        raise PluginError(f"{name}={value!r} is no switch position", expected="1 or 0")
    return value in _ON
