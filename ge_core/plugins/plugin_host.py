"""The plugin host: knows every installed plugin, loads each when asked for, remembers what is wrong."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from importlib.metadata import EntryPoint
from typing import TYPE_CHECKING

from ge_core.errors import GeError, ModelImportError, PluginError
from ge_core.plugins import loader
from ge_core.plugins.catalogue import Catalogue, installed_catalogue
from ge_core.plugins.discovery import Source, discover, installed_entry_points
from ge_core.plugins.evidence import Evidence, gather
from ge_core.plugins.info import Kind, PluginStatus, State
from ge_core.plugins.loader import Broken
from ge_core.plugins.plugin import Plugin
from ge_core.plugins.registry import Registrar, Registry
from ge_core.plugins.switches import REFERENCE, Switches
from ge_core.source_stamp import source_stamp

if TYPE_CHECKING:
    import numpy as np

    from ge_core.plugins.events import Event

_log = logging.getLogger("ge_core.plugins")
_Key = tuple[Kind, str]


class PluginHost:
    """All plugins of one interpreter.

    Args:
        switches: which may load; by default the environment's.
        points: the entry points to look at; by default the installed ones. An explicit list, even an
            empty one, keeps the host from discovering anything else (for tests).
        known: the catalogue of first-party plugins.
    """

    def __init__(
        self,
        switches: Switches | None = None,
        points: Iterable[EntryPoint] | None = None,
        known: Catalogue | None = None,
    ) -> None:
        self.switches = Switches.from_environment(os.environ) if switches is None else switches
        self.catalogue = installed_catalogue() if known is None else known
        self.passes = Registry("pass")
        self.operators = Registry("operator")
        found = discover(installed_entry_points() if points is None else points, self.catalogue)
        self._sources: dict[_Key, Source] = {(source.kind, source.name): source for source in found.sources}
        self._contested = tuple((source, _contested(reason, source)) for source, reason in found.contested)
        self._outcomes: dict[_Key, Plugin | Broken] = {}
        self._tensor_owner: dict[type, Plugin | None] = {}
        self._lock = threading.RLock()
        for source, broken in self._contested:
            self._report(source, broken)

    def get(self, kind: Kind, name: str) -> Plugin:
        """The plugin of this kind and name, loaded.

        Raises:
            PluginError: it is not installed, disabled, or broken; the error says which, why, and what to run.
        """
        source = self._sources.get((kind, name))
        if source is None:
            raise self._missing(kind, name)
        disabled = self.switches.why_disabled(name)
        if disabled:
            raise PluginError(
                f"the {kind} {name!r} is disabled: {disabled}",
                fix="change GE_LOAD_PLUGINS or GE_DISABLE_PLUGINS",
            )
        outcome = self._outcome(source)
        if isinstance(outcome, Broken):
            raise _broken_error(source, outcome) from outcome.error
        return outcome

    def frontend(self, name: str) -> Plugin:
        """`get("frontend", name)`."""
        return self.get("frontend", name)

    def backend(self, name: str) -> Plugin:
        """The backend of this name, or the family of a target: `ascend910b` belongs to the backend `ascend910`."""
        return self.get("backend", self._family(name))

    def _family(self, target: str) -> str:
        """The longest name of an installed backend that a target's name starts with, else the target itself."""
        if ("backend", target) in self._sources:
            return target
        names = [name for kind, name in self._sources if kind == "backend" and target.startswith(name)]
        return max(names, key=len, default=target)

    def recognise(self, model: object, framework: str | None = None) -> Plugin:
        """The frontend that reads this model: the named one, or the only one that claims it.

        No framework is imported for this.

        Raises:
            ModelImportError: there is no file at the path, no frontend claims the model, or two do.
            PluginError: the named frontend is not usable.
        """
        if framework is not None:
            return self.frontend(framework)
        evidence = gather(model)
        claimants = [plugin for plugin in self._usable("frontend") if self._asks_claim(plugin, evidence)]
        if len(claimants) == 1:
            return claimants[0]
        if claimants:
            names = [plugin.name for plugin in claimants]
            raise ModelImportError(
                f"{' and '.join(repr(name) for name in names)} {'both' if len(names) == 2 else 'all'} claim this model",
                where=evidence,
                fix=f"say which one reads it, for example framework={names[0]!r}",
            )
        raise self._unclaimed(evidence)

    def resolve_target(self, target: str | None = None) -> Plugin:
        """The backend plugin for a target name; for None the first usable one of the default targets.

        Raises:
            PluginError: there is no such target, or its plugin is not usable.
        """
        if target is not None:
            return self.backend(target)
        for name in self.catalogue.default_targets:
            source = self._sources.get(("backend", name))
            if source is None or self.switches.why_disabled(name):
                continue
            if isinstance(outcome := self._outcome(source), Plugin):
                return outcome
        return self.backend(REFERENCE)

    def tensor_owner(self, tensor: object) -> Plugin | None:
        """The frontend whose framework this tensor belongs to; None when it is nobody's. Cached by type."""
        kind = type(tensor)
        if kind not in self._tensor_owner:
            owners = (plugin for plugin in self._usable("frontend") if self._asks_tensor(plugin, tensor))
            self._tensor_owner[kind] = next(owners, None)
        return self._tensor_owner[kind]

    def tensor_to_numpy(self, tensor: object) -> np.ndarray | None:
        """The tensor as an array, by the frontend that owns it; None when it is nobody's."""
        owner = self.tensor_owner(tensor)
        return None if owner is None else owner.tensor_to_numpy(tensor)

    def observe(self, event: Event) -> None:
        """Tell every loaded plugin; a listener's failure is logged and goes no further."""
        for plugin in self._loaded():
            try:
                plugin.observe(event)
            except GeError as error:
                _log.warning("%s", error.what)

    def statuses(self, kind: Kind | None = None, *, load: bool = True) -> list[PluginStatus]:
        """Every installed plugin and its state, sorted by kind and name.

        With `load` each plugin's entry module is imported (guarded; it imports no framework), so that what is
        broken shows; without it the list comes from metadata and from what was loaded before.
        """
        rows = [self._status(source, load) for source in self._sources.values()]
        rows += [_row(source, "broken", broken) for source, broken in self._contested]
        wanted = [row for row in rows if kind in (None, row.kind)]
        return sorted(wanted, key=lambda row: (row.kind, row.name, row.distribution))

    def additions(self) -> list[str]:
        """The passes and operators that loaded plugins have added, each with its owner, version and source stamp."""
        rows = [("pass", each) for each in self.passes.values()]
        rows += [("operator", each) for each in self.operators.values()]
        owners = {f"{source.kind} {source.name}": source for source in self._sources.values()}
        return sorted(f"{what} {each.name} {_version(owners[each.owner])}" for what, each in rows)

    def _status(self, source: Source, load: bool) -> PluginStatus:
        disabled = self.switches.why_disabled(source.name)
        if disabled:
            return _row(source, "disabled", Broken(disabled, "change GE_LOAD_PLUGINS or GE_DISABLE_PLUGINS"))
        outcome = self._outcome(source) if load else self._outcomes.get((source.kind, source.name))
        if outcome is None:
            return _row(source, "available")
        return _row(source, "broken" if isinstance(outcome, Broken) else "loaded", outcome)

    def _usable(self, kind: Kind) -> list[Plugin]:
        sources = [source for source in self._sources.values() if source.kind == kind]
        enabled = [source for source in sources if not self.switches.why_disabled(source.name)]
        return [outcome for source in enabled if isinstance(outcome := self._outcome(source), Plugin)]

    def _loaded(self) -> list[Plugin]:
        return [outcome for outcome in self._outcomes.values() if isinstance(outcome, Plugin)]

    def _outcome(self, source: Source) -> Plugin | Broken:
        key = (source.kind, source.name)
        with self._lock:
            if key not in self._outcomes:
                outcome = self._register(source, loader.load(source, trace=self.switches.trace))
                self._outcomes[key] = outcome
                if isinstance(outcome, Broken):
                    self._report(source, outcome)
            outcome = self._outcomes[key]
        if isinstance(outcome, Broken) and self.switches.strict:
            raise _broken_error(source, outcome) from outcome.error
        return outcome

    def _register(self, source: Source, outcome: Plugin | Broken) -> Plugin | Broken:
        """Take a loaded plugin's passes and operators; one that fails there is broken, and leaves nothing."""
        if isinstance(outcome, Broken):
            return outcome
        owner = f"{source.kind} {source.name}"
        try:
            outcome.register_passes(Registrar(self.passes, owner))
            outcome.register_operators(Registrar(self.operators, owner))
        except GeError as error:
            self.passes.discard_owner(owner)
            self.operators.discard_owner(owner)
            return Broken(error.what, error.fix or f"pip install -U {source.distribution}", error)
        return outcome

    def _report(self, source: Source, broken: Broken) -> None:
        if self.switches.strict:
            raise _broken_error(source, broken) from broken.error
        _log.warning("the %s %r (%s) is left out: %s", source.kind, source.name, source.distribution, broken.reason)

    def _asks_claim(self, plugin: Plugin, evidence: Evidence) -> bool:
        try:
            return plugin.claims(evidence)
        except GeError as error:
            self._take_out(plugin, error)
            return False

    def _asks_tensor(self, plugin: Plugin, tensor: object) -> bool:
        try:
            return plugin.tensor_to_numpy(tensor) is not None
        except PluginError as error:  # an InputError, of a tensor that is its own but has no values, goes on
            self._take_out(plugin, error)
            return False

    def _take_out(self, plugin: Plugin, error: GeError) -> None:
        """Remember a loaded plugin as broken, since it failed where every frontend is asked."""
        broken = Broken(error.what, error.fix or f"pip install -U {plugin.source.distribution}", error)
        self._outcomes[(plugin.source.kind, plugin.name)] = broken
        self._report(plugin.source, broken)

    def _missing(self, kind: Kind, name: str) -> PluginError:
        for source, broken in self._contested:
            if (source.kind, source.name) == (kind, name):
                return _broken_error(source, broken)
        entry = self.catalogue.find(kind, name)
        if entry is not None:
            return PluginError(f"the {kind} {name!r} is not installed", fix=entry.pip_line)
        known = [entry.name for entry in self.catalogue.entries if entry.kind == kind]
        others = sorted({source.name for source in self._sources.values() if source.kind == kind} | set(known))
        return PluginError(
            f"there is no {kind} named {name!r}",
            expected=f"one of {', '.join(others)}",
            fix="`ge plugins` lists what is installed",
        )

    def _unclaimed(self, evidence: Evidence) -> ModelImportError:
        """The error for a model that nobody claims: who was asked, who could not be, and what would help."""
        if evidence.is_offline_model:
            return ModelImportError(
                "this is an offline model, which is compiled already",
                where=evidence,
                expected="a model of a framework",
                fix="open it with ge_core.load(path), and for another target with ge_core.load(path, target=...)",
            )
        rows = self.statuses("frontend")
        readable = ", ".join(entry.name for entry in self.catalogue.entries if entry.kind == "frontend")
        details = [_asked(row) for row in rows] or ["no frontend is installed"]
        fixes = []
        for entry in self.catalogue.claimants(evidence):
            row = next((row for row in rows if row.name == entry.name), None)
            fixes.append(row.fix if row is not None and row.fix else entry.pip_line)
        return ModelImportError(
            "no installed frontend recognises this model",
            where=evidence,
            details=details,
            expected=f"a model of one of {readable}",
            fix=" or ".join(fixes) or "pass a model of one of these frameworks, or name the frontend by framework=",
        )


def _version(source: Source) -> str:
    """A plugin's version, and a stamp of its sources, which change without it while it is developed."""
    file = getattr(sys.modules.get(source.entry_point.module), "__file__", None)
    return f"{source} {source_stamp(os.path.dirname(file)) if file else ''}"


def _asked(row: PluginStatus) -> str:
    who = f"{row.name} ({row.distribution} {row.version})"
    return f"{who}: {row.state}, {row.reason}" if row.reason else f"{who}: does not claim it"


def _contested(reason: str, source: Source) -> Broken:
    return Broken(reason, f"pip uninstall {source.distribution}")


def _broken_error(source: Source, broken: Broken) -> PluginError:
    return PluginError(
        f"the {source.kind} {source.name!r} is broken: {broken.reason}",
        where=f"{source.distribution} {source.version} ({source.entry_point.value})",
        fix=broken.fix,
    )


def _row(source: Source, state: State, outcome: Plugin | Broken | None = None) -> PluginStatus:
    row = PluginStatus(
        name=source.name,
        kind=source.kind,
        state=state,
        distribution=source.distribution,
        version=source.version,
        entry_point=source.entry_point.value,
    )
    if isinstance(outcome, Broken):
        return replace(row, reason=outcome.reason, fix=outcome.fix)
    if outcome is None:
        return row
    return replace(
        row,
        description=outcome.info.description,
        api=outcome.info.api,
        tested=outcome.info.tested,
        file_suffixes=tuple(outcome.info.file_suffixes),
        options=tuple(outcome.info.options),
        hooks=outcome.hooks,
        load_ms=round(outcome.cost.milliseconds, 2),
        early_imports=outcome.cost.early_imports,
    )


@cache
def host() -> PluginHost:
    """The interpreter's plugin host, made at first use with the environment's switches."""
    return PluginHost()
