"""Loads one plugin, guarded: whatever is wrong with it becomes a reason, and touches no other plugin."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

import pluggy

from ge_core.errors import GeError, PluginError
from ge_core.plugins import hookspecs
from ge_core.plugins.discovery import CORE, Source
from ge_core.plugins.evidence import Evidence
from ge_core.plugins.info import GE_PLUGIN_API, OLDEST_API, PluginInfo
from ge_core.plugins.plugin import LoadCost, Plugin, describe, implemented, remedy

_REQUIRED = {
    "frontend": ("ge_plugin_info", "ge_claims_model", "ge_import_model"),
    "backend": ("ge_plugin_info", "ge_backend"),
}
# What an entry module leaves to its hooks: importing any of these takes seconds or mixes frameworks.
_HEAVY = frozenset(("torch", "tensorflow", "keras", "mindspore", "paddle", "jax", "onnx", "onnxruntime", "llvmlite"))
# What every frontend is asked once at load: a plugin that claims this claims everything.
_NOBODYS_MODEL = Evidence(type_names=("builtins.object",))


@dataclass(frozen=True)
class Broken:
    """Why a plugin cannot be used, what to run, and the error behind it."""

    reason: str
    fix: str
    error: BaseException | None = None


def load(source: Source, *, trace: bool = False) -> Plugin | Broken:
    """Import, check and register one plugin.

    Never raises for what the plugin does (KeyboardInterrupt apart): the outcome says what is wrong.
    """
    present = _HEAVY.intersection(sys.modules)
    started = time.perf_counter()
    try:
        module = source.entry_point.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a plugin may fail in any way; the reason is kept
        return Broken(f"import failed: {describe(error)}", remedy(source, error), error)
    milliseconds = 1e3 * (time.perf_counter() - started)
    early_imports = tuple(sorted(_HEAVY.intersection(sys.modules) - present))
    return _check(source, module, LoadCost(milliseconds, early_imports), trace)


def _check(source: Source, module: object, cost: LoadCost, trace: bool) -> Plugin | Broken:
    """Register an imported entry module with a manager of its own, and hold it to the contract."""
    update = f"pip install -U {source.distribution}"
    wrong_api = _wrong_api(source, getattr(module, "GE_PLUGIN_API", None))
    if wrong_api is not None:
        return wrong_api
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    try:
        manager.register(module, name=source.name)
        manager.check_pending()
    except Exception as error:  # noqa: BLE001 - a validation error, or whatever the module's attributes raise
        return Broken(f"breaks the hook contract: {describe(error)}", update, error)
    wrong_hooks = _wrong_hooks(source, module, implemented(manager))
    if wrong_hooks:
        return Broken(wrong_hooks, update)
    try:
        info = manager.hook.ge_plugin_info()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - as for the import
        return Broken(f"ge_plugin_info failed: {describe(error)}", update, error)
    wrong_info = _wrong_info(source, info, module)
    if wrong_info:
        return Broken(wrong_info, update)
    plugin = Plugin(source, info, manager, cost, trace=trace)
    return _claims_everything(plugin, update) or plugin


def hook_names() -> tuple[str, ...]:
    """The names of all hooks, in the order of their specification."""
    return tuple(name for name in vars(hookspecs) if name.startswith("ge_"))


def _wrong_api(source: Source, api: object) -> Broken | None:
    if not isinstance(api, int) or isinstance(api, bool):
        return Broken(f"states no plugin API number: GE_PLUGIN_API is {api!r}", f"pip install -U {source.distribution}")
    served = f"this ge-engine serves {OLDEST_API} to {GE_PLUGIN_API}"
    if api < OLDEST_API:
        return Broken(f"written for plugin API {api}, too old: {served}", f"pip install -U {source.distribution}")
    if api > GE_PLUGIN_API:
        return Broken(f"written for plugin API {api}, too new: {served}", f"pip install -U {CORE}")
    return None


def _wrong_hooks(source: Source, module: object, present: tuple[str, ...]) -> str:
    unmarked = [name for name in hook_names() if name not in present and callable(getattr(module, name, None))]
    if unmarked:
        return f"{', '.join(unmarked)} lacks the @hookimpl mark"
    missing = [name for name in _REQUIRED[source.kind] if name not in present]
    if missing:
        return f"a {source.kind} needs the hooks {', '.join(missing)}"
    return ""


def _wrong_info(source: Source, info: object, module: object) -> str:
    if not isinstance(info, PluginInfo):
        return f"ge_plugin_info returned {type(info).__qualname__}, not PluginInfo"
    if (info.name, info.kind) != (source.name, source.kind):
        return f"calls itself the {info.kind} {info.name!r}, installed as the {source.kind} {source.name!r}"
    stated = getattr(module, "GE_PLUGIN_API", None)
    if info.api != stated:
        return f"ge_plugin_info gives API {info.api}, GE_PLUGIN_API is {stated}"
    return ""


def _claims_everything(plugin: Plugin, update: str) -> Broken | None:
    if plugin.source.kind != "frontend":
        return None
    try:
        claimed = plugin.claims(_NOBODYS_MODEL)
    except GeError as error:
        cause = error.__cause__ if isinstance(error, PluginError) else None
        text = f"ge_claims_model failed: {describe(cause)}" if cause else error.what
        return Broken(text, update, error)
    if claimed:
        return Broken("ge_claims_model claims every object", update)
    return None
