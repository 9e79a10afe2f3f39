"""What cannot be converted, in one error for the whole model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ge_core.errors import UnsupportedError
from ge_core.ir.location import Location

_PLACES_SHOWN = 3


@dataclass(frozen=True)
class Finding:
    """One step that cannot be converted: the primitive or form, and its place."""

    what: str
    place: str


def place(loc: Location) -> str:
    """`in layers.3`."""
    return f"in {loc.module or 'the model'}"


def report(found: Sequence[Finding], model: str) -> UnsupportedError:
    """One error that names every primitive or form with its count and its places."""
    places: dict[str, list[str]] = {}
    for finding in found:
        places.setdefault(finding.what, []).append(finding.place)
    details = []
    for what, where in sorted(places.items(), key=lambda item: -len(item[1])):
        distinct = list(dict.fromkeys(where))
        more = len(distinct) - _PLACES_SHOWN
        shown = "; ".join(distinct[:_PLACES_SHOWN]) + (f"; and {more} more places" if more > 0 else "")
        details.append(f"{what} ×{len(where)}: {shown}")
    kinds = len(places)
    return UnsupportedError(
        f"{model} uses {kinds} operator{'s' if kinds > 1 else ''} that the MindSpore frontend does not support",
        details=details,
        fix="replace them by other operators in the model, or register a conversion with "
        "ge_frontend_mindspore.registry.primitive",
    )
