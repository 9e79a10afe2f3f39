"""The catalogue of first-party plugins (`plugins.toml`): install hints, recognition, default targets."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

from ge_core.errors import PluginError
from ge_core.plugins.evidence import Evidence, FileRule, claims
from ge_core.plugins.info import Kind


@dataclass(frozen=True)
class Entry:
    """One first-party plugin.

    Args:
        name: the entry-point name.
        kind: "frontend" or "backend".
        distribution: what to install.
        description: one line.
        types: patterns of qualified class names; any in a model's MRO makes the model this frontend's.
        files: rules over files and folders; any that holds makes the path this frontend's.
    """

    name: str
    kind: Kind
    distribution: str
    description: str
    types: tuple[str, ...] = ()
    files: tuple[FileRule, ...] = ()

    def claims(self, evidence: Evidence) -> bool:
        """Whether a model that shows this evidence is this frontend's."""
        return claims(evidence, self.types, self.files)

    @property
    def pip_line(self) -> str:
        return f"pip install {self.distribution}"


@dataclass(frozen=True)
class Catalogue:
    """The first-party plugins and the targets that `compile(target=None)` tries in order."""

    entries: tuple[Entry, ...]
    default_targets: tuple[str, ...]

    def find(self, kind: Kind, name: str) -> Entry | None:
        """The entry of this kind and name, if any."""
        return next((entry for entry in self.entries if (entry.kind, entry.name) == (kind, name)), None)

    def claimants(self, evidence: Evidence) -> list[Entry]:
        """The frontends that a model showing this evidence belongs to, installed or not."""
        return [entry for entry in self.entries if entry.kind == "frontend" and entry.claims(evidence)]


@cache
def installed_catalogue() -> Catalogue:
    """The catalogue of this installation: inside the package in a wheel, beside it in a source tree."""
    package = Path(__file__).parent.parent
    for path in (package / "plugins.toml", package.parent / "plugins.toml"):
        if path.is_file():
            return parse(path.read_text(encoding="utf-8"), where=str(path))
    raise PluginError(
        "the catalogue of plugins is missing from this installation",
        expected=str(package / "plugins.toml"),
        fix="pip install --force-reinstall ge-engine",
    )


def claimed_by_catalogue(name: str, evidence: Evidence) -> bool:
    """Whether the catalogue's rules give a model that shows this evidence to the first-party frontend `name`.

    First-party frontends answer `ge_claims_model` with it, so that each rule is written once.
    """
    return any(entry.name == name for entry in installed_catalogue().claimants(evidence))


def parse(text: str, where: str = "plugins.toml") -> Catalogue:
    """Read a catalogue.

    Raises:
        PluginError: the text is no TOML, or an entry lacks a key or has one that is not known.
    """
    try:
        data = tomllib.loads(text)
        entries = tuple(_entry(row) for row in data["plugins"])
        return Catalogue(entries, tuple(data["default_targets"]))
    except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
        raise PluginError(f"the catalogue of plugins cannot be read: {error!r}", where=where) from error


def _entry(row: Mapping[str, object]) -> Entry:
    if row.get("kind") not in ("frontend", "backend"):
        raise ValueError(f"kind of {row.get('name')!r} is {row.get('kind')!r}")
    known = {name: row[name] for name in ("name", "kind", "distribution", "description")}
    unknown = set(row) - set(known) - {"types", "files"}
    if unknown:
        raise ValueError(f"unknown keys {sorted(unknown)} in {row['name']!r}")
    files = cast("list[dict[str, str]]", row.get("files", []))
    types = cast("list[str]", row.get("types", []))
    return Entry(
        **cast("dict[str, Kind]", known),
        types=tuple(types),
        files=tuple(FileRule.parse(rule) for rule in files),
    )
