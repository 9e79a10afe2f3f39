"""Which plugins are installed, from metadata alone: nothing is imported."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

from ge_core import __version__
from ge_core.plugins.catalogue import Catalogue
from ge_core.plugins.info import GROUPS, Kind
from ge_core.plugins.switches import REFERENCE


@dataclass(frozen=True)
class Source:
    """Where a plugin comes from: its entry point and the distribution that owns it."""

    name: str
    kind: Kind
    distribution: str
    version: str
    entry_point: EntryPoint

    def __str__(self) -> str:
        return f"{self.name} of {self.distribution} {self.version}"


@dataclass(frozen=True)
class Found:
    """The outcome of a discovery: sources whose name is theirs alone, and those whose name is contested."""

    sources: tuple[Source, ...]
    contested: tuple[tuple[Source, str], ...]


CORE = "ge-engine"

# The target that is always there needs no installed metadata, so that a bare source tree has it as well.
BUILT_IN = EntryPoint(name=REFERENCE, value="ge_core.plugins.reference", group="ge_core.backends")


def installed_entry_points() -> list[EntryPoint]:
    """The built-in entry point, and those of all plugin groups on this interpreter's path."""
    found = entry_points()  # all at once: each search reads the metadata of every installed distribution
    return [BUILT_IN, *(point for group in GROUPS for point in found.select(group=group))]


def discover(points: Iterable[EntryPoint], catalogue: Catalogue) -> Found:
    """Sort entry points into sources with a name of their own and contested ones, each with its reason.

    A first-party name belongs to the distribution that the catalogue gives for it, so that no other package
    can take or block it. Any other name that two distributions use belongs to neither.
    """
    by_name: dict[tuple[Kind, str], list[Source]] = {}
    for point in points:
        source = _source(point)
        by_name.setdefault((source.kind, source.name), []).append(source)
    sources: list[Source] = []
    contested: list[tuple[Source, str]] = []
    for (kind, name), rivals in sorted(by_name.items()):
        entry = catalogue.find(kind, name)
        owner = normal(entry.distribution) if entry else None
        first_party = [source for source in rivals if normal(source.distribution) == owner]
        accepted = first_party or rivals
        if len(accepted) == 1:
            sources += accepted
            reason = f"the {kind} name {name!r} belongs to {accepted[0].distribution}"
            contested += [(source, reason) for source in rivals if source is not accepted[0]]
            continue
        owners = " and ".join(sorted({source.distribution for source in rivals}))
        contested += [(source, f"the {kind} name {name!r} is given twice, by {owners}") for source in rivals]
    return Found(tuple(sources), tuple(contested))


def normal(distribution: str) -> str:
    """A distribution's name in the form in which names are compared (PEP 503)."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def _source(point: EntryPoint) -> Source:
    owner = point.dist
    return Source(
        name=point.name,
        kind=GROUPS[point.group],
        distribution=owner.name if owner else CORE,
        version=owner.version if owner else __version__,
        entry_point=point,
    )
