"""Saving and loading compiled models."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ge_core import __version__, trust
from ge_core.backend import Artifact
from ge_core.compiler import (
    CompileRequest,
    EntrySource,
    compile_entries,
    plain_graph,
    rebuilt_request,
    target_info,
)
from ge_core.device_contract import SavesFiles
from ge_core.errors import BackendError, OfflineModelError
from ge_core.foreign_file import open_elsewhere
from ge_core.ir.constant import refuse_absent
from ge_core.ir.graph import Graph
from ge_core.model import CompiledModel, Provenance
from ge_core.om.container import PartitionType
from ge_core.om.model_file import SealedModel, StoredModel, write_model
from ge_core.plan.codec import plan_from_json, plan_to_json
from ge_core.plan.plan import ExecutionPlan
from ge_core.plan.stored import has_outline, plan_of_outline
from ge_core.plugins import Plugin, host
from ge_core.report import CompileReport
from ge_core.signature import Signature

NOT_TRUSTED = "the file's native code is not trusted here: it was compiled again"
_PLAIN = (bool, int, float, str, type(None))


def save_model(model: CompiledModel, path: str | os.PathLike[str]) -> None:
    """Write a model's file; what it was compiled to, the graphs it came from, and how to call it.

    Raises:
        OfflineModelError: the file cannot be written.
        BackendError: the target has a file form of its own, and could not write it.
        AbsentDataError: the model's weights are absent.
    """
    for entry in model.entries.values():
        constants = [value.constant for value in entry.graph.constants if value.constant is not None]
        refuse_absent([*constants, *(state.initial for state in entry.graph.states)], "be saved")
    plugin = host().backend(model.provenance.backend)
    backend = plugin.backend()
    if isinstance(backend, SavesFiles):
        given = {k: v for k, v in model.provenance.options.items() if k in plugin.info.options}
        backend.save(model.artifact, os.fspath(path), given)
        return
    artifact, provenance = model.artifact, model.provenance
    report = model.report.to_json()
    report["seconds"] = {}  # equal models give equal files
    report["notices"] = [notice for notice in model.report.notices if notice != NOT_TRUSTED]  # of the file before
    plans = artifact.plans if artifact.store_plans else {}
    metadata = {
        "ge": __version__,
        "target": provenance.target,
        "backend": provenance.backend,
        "framework": provenance.framework,
        "precision": provenance.precision,
        "switches": list(provenance.switches),
        "options": {key: value for key, value in provenance.options.items() if _is_plain(value)},
        "signatures": {name: entry.signature.to_json() for name, entry in model.entries.items()},
        "artifact": artifact.metadata,
        "native": artifact.native,
        "plans": {name: plan_to_json(plan) for name, plan in plans.items()},
        "report": report,
    }
    memory = next(iter(model.report.memory.values()), None)
    digests = write_model(
        path,
        {name: entry.graph for name, entry in model.entries.items()},
        metadata,
        items=artifact.items,
        attributes={} if memory is None else {"memory_size": memory.arena},
    )
    if artifact.native or plans:
        trust.remember(digests[PartitionType.MODEL_DEF])


def _is_plain(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    if isinstance(value, Mapping):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    return isinstance(value, _PLAIN)


def load_model(
    path: str | os.PathLike[str], *, target: str | None = None, trusted: bool = False, rebuild: bool = False
) -> CompiledModel:
    """Open a file; for another target, or when its native code is not trusted, compile its graphs again.

    Raises:
        OfflineModelError: no offline model, or damaged.
        PluginError: the target's backend is not installed.
    """
    try:
        sealed = SealedModel.of(path)
        if target is None and not rebuild and (trusted or trust.is_known(sealed.digests[PartitionType.MODEL_DEF])):
            outlined = _outlined(sealed)
            if outlined is not None:
                found = _Metadata(outlined)
                return _reopened(outlined, found, found.plugin(), found.signatures(outlined.entries), found.provenance)
        stored = sealed.opened()
    except OfflineModelError:
        foreign = open_elsewhere(os.fspath(path), target)
        if foreign is None:
            raise
        return foreign
    found = _Metadata(stored)
    plugin = found.plugin() if target is None else host().backend(target)
    same = target is None or target == found.provenance.target
    known = trusted or not same or not _needs_trust(stored, found, plugin)
    known = known or trust.is_known(stored.digests[PartitionType.MODEL_DEF])
    if same and known and not rebuild:
        return _reopened(stored, found, plugin, found.signatures(stored.entries), found.provenance)
    notices = () if known or rebuild else (NOT_TRUSTED,)
    return _rebuilt(stored.entries, found, plugin, target or found.provenance.target, notices)


def _needs_trust(stored: StoredModel, found: _Metadata, plugin: Plugin) -> bool:
    """Whether the file, opened as it is, says what is executed: by code, or by a plan.

    A plan's form is checked, its sense cannot be. A file that denies holding code is not believed.
    """
    items_are_code = target_info(plugin.backend(), found.provenance.target).native
    return found.native or bool(found.table("plans")) or (bool(stored.items) and items_are_code)


def load_kept(
    path: Path,
    plugin: Plugin,
    signatures: Mapping[str, Signature],
    provenance: Provenance,
    seconds: Mapping[str, float],
) -> CompiledModel:
    """Open a file of the user's own cache as a model with these signatures, whose report tells these seconds.

    Raises:
        GeError: it is damaged.
    """
    sealed = SealedModel.of(path)
    stored = _outlined(sealed) or sealed.opened()
    return _reopened(stored, _Metadata(stored), plugin, signatures, provenance, seconds)


def _outlined(sealed: SealedModel) -> StoredModel | None:
    """A trusted file with its graphs left undecoded; None where it has not all that running it needs."""
    stored = sealed.outlined()
    if stored is None:
        return None
    plans = stored.metadata.get("plans")
    complete = isinstance(plans, dict) and set(plans) == set(stored.entries) and all(map(has_outline, plans.values()))
    return stored if complete else None


def _reopened(
    stored: StoredModel,
    found: _Metadata,
    plugin: Plugin,
    signatures: Mapping[str, Signature],
    provenance: Provenance,
    seconds: Mapping[str, float] | None = None,
) -> CompiledModel:
    artifact = Artifact(
        target=found.provenance.target,
        items=dict(stored.items),
        metadata=found.table("artifact"),
        graphs=stored.entries,
        plans={name: _plan(stored, name, data) for name, data in found.table("plans").items()},
        store_plans=bool(found.table("plans")),
        native=found.native,
    )
    backend = plugin.backend()
    options = {k: v for k, v in provenance.options.items() if k in plugin.info.options}
    try:
        executable = backend.load(artifact, options)
    except BackendError as error:
        raise BackendError(
            f"{stored.container.source}: {error.what}",
            where=error.where,
            expected=error.expected,
            fix=error.fix or "load it with rebuild=True, or with target='reference'",
            details=error.details,
        ) from error
    return CompiledModel(
        artifact, executable, stored.entries, signatures, provenance, lambda: found.report(seconds or {})
    )


def _plan(stored: StoredModel, name: str, data: object) -> ExecutionPlan:
    if stored.constants is None:
        return plan_from_json(data, _entry(stored.entries, name))
    return plan_of_outline(data, lambda: stored.entries[name], stored.constants[name])


def _rebuilt(
    graphs: Mapping[str, Graph], found: _Metadata, plugin: Plugin, target: str, notices: tuple[str, ...]
) -> CompiledModel:
    old = found.provenance
    request = rebuilt_request(
        CompileRequest(
            plugin, target, found.precision, frozenset(old.switches), old.options, old.framework, notices=notices
        ),
        plugin,
        target,
    )
    signatures = found.signatures(graphs)
    sources = {name: EntrySource(plain_graph(graph), signatures[name]) for name, graph in graphs.items()}
    model = compile_entries(sources, replace(request, options={**request.options, "share_weights": True}))
    model.provenance = replace(model.provenance, options=request.options)  # the file, not the user, shares its weights
    return model


class _Metadata:
    """A file's metadata, each field checked as it is read."""

    def __init__(self, stored: StoredModel) -> None:
        self._data, self._source = stored.metadata, stored.container.source
        self.native = self._data.get("native") is True
        if stored.constants is None:
            self.report({})  # of a file whose writer is not trusted everything is checked now
        switches = self._data.get("switches")
        if not isinstance(switches, list) or not all(isinstance(name, str) for name in switches):
            raise self._damaged("switches")
        self.precision = _precision(self._text("precision"), self._source)
        self.provenance = Provenance(
            self._text("target"),
            self._text("backend"),
            self._text("framework"),
            self.precision,
            tuple(switches),
            self.table("options"),
        )

    def report(self, seconds: Mapping[str, float]) -> CompileReport:
        """The stored report, with the seconds of this time."""
        report = CompileReport.from_json(self._data.get("report"))
        report.seconds = dict(seconds)
        return report

    def plugin(self) -> Plugin:
        """The backend's plugin.

        Raises:
            PluginError: it is not installed.
        """
        return host().backend(self.provenance.backend)

    def table(self, key: str) -> dict[str, Any]:
        """A field that is a table."""
        found = self._data.get(key)
        if not isinstance(found, dict):
            raise self._damaged(key)
        return found

    def signatures(self, graphs: Collection[str]) -> dict[str, Signature]:
        """The signature of each entry."""
        rows = self.table("signatures")
        if set(rows) != set(graphs):
            raise self._damaged("signatures")
        return {name: Signature.from_json(rows[name]) for name in graphs}

    def _text(self, key: str) -> str:
        found = self._data.get(key)
        if not isinstance(found, str):
            raise self._damaged(key)
        return found

    def _damaged(self, key: str) -> OfflineModelError:
        return OfflineModelError(f"the metadata field {key!r} is damaged", where=self._source)


def _precision(text: str, source: str) -> Any:
    if text not in ("accuracy", "balanced", "speed"):
        raise OfflineModelError(f"unknown precision {text[:40]!r}", where=source)
    return text


def _entry(graphs: Mapping[str, Graph], name: str) -> Graph:
    if name not in graphs:
        raise OfflineModelError(f"a plan of an entry {name[:40]!r} that is not there")
    return graphs[name]
