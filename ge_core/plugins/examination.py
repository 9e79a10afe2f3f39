"""A closer look at the installed plugins, for `ge plugins --check`: what would fail at the first use."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution, requires

from ge_core.errors import GeError
from ge_core.plugins.discovery import CORE, normal
from ge_core.plugins.info import Kind, PluginStatus
from ge_core.plugins.plugin_host import PluginHost

# "name>=1; marker": requirements with a marker hold only sometimes and are left to pip.
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)[^;]*$")


@dataclass(frozen=True)
class Finding:
    """Something that is not in order with one plugin, and what to run."""

    name: str
    kind: Kind
    distribution: str
    problem: str
    fix: str


def examine(plugin_host: PluginHost) -> list[Finding]:
    """Every plugin that is broken, lacks a requirement, imports a framework too early, or gives no backend."""
    rows = plugin_host.statuses()
    return [finding for row in rows for finding in _examine_one(plugin_host, row)]


def _examine_one(plugin_host: PluginHost, row: PluginStatus) -> list[Finding]:
    if row.state == "disabled":
        return []
    problems: list[tuple[str, str]] = []
    if row.state == "broken":
        problems.append((row.reason, row.fix))
    if row.early_imports:
        names = ", ".join(row.early_imports)
        problems.append((f"its entry module imports {names}", f"pip install -U {row.distribution}"))
    missing = missing_requirements(row.distribution)
    if missing:
        problems.append((f"not installed: {', '.join(missing)}", f"pip install {' '.join(missing)}"))
    if row.kind == "backend" and row.state == "loaded" and not missing:
        try:
            plugin_host.backend(row.name).backend().targets()
        except GeError as error:
            problems.append((error.what, error.fix or f"pip install -U {row.distribution}"))
        except Exception as error:  # noqa: BLE001 - foreign code; its failure is the finding
            problems.append((f"targets() failed: {error!r}", f"pip install -U {row.distribution}"))
    return [Finding(row.name, row.kind, row.distribution, problem, fix) for problem, fix in problems]


def missing_requirements(name: str) -> list[str]:
    """The names that a distribution requires without a condition and that are not installed."""
    if normal(name) == CORE:  # runs from a source tree as well, without metadata
        return []
    try:
        lines = requires(name) or []
    except PackageNotFoundError:
        return []
    needed = [match.group(1) for line in lines if (match := _REQUIREMENT.match(line))]
    return [requirement for requirement in needed if not _installed(requirement)]


def _installed(name: str) -> bool:
    if normal(name) == CORE:
        return True
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True
