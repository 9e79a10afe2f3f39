"""Everything that is not supported in a model, as one error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ge_core.errors import UnsupportedError

_PLACES_SHOWN = 3


@dataclass(frozen=True)
class Finding:
    """One place that cannot be converted: the operator or form, and where it stands."""

    what: str
    place: str


def report(found: Sequence[Finding], model: str) -> UnsupportedError:
    """One error that names every operator or form with its count and its places."""
    places: dict[str, list[str]] = {}
    for finding in found:
        places.setdefault(finding.what, []).append(finding.place)
    details = []
    for what, where in sorted(places.items(), key=lambda item: -len(item[1])):
        distinct = list(dict.fromkeys(place for place in where if place))
        more = len(distinct) - _PLACES_SHOWN
        shown = "; ".join(distinct[:_PLACES_SHOWN]) + (f"; and {more} more places" if more > 0 else "")
        details.append(f"{what} ×{len(where)}" + (f": {shown}" if shown else ""))
    kinds = len(places)
    return UnsupportedError(
        f"{model} uses {kinds} operator{'s' if kinds > 1 else ''} or form{'s' if kinds > 1 else ''} "
        "that the ONNX frontend does not support",
        details=details,
        fix="export the model with other operators, or register a conversion with ge_frontend_onnx.registry.converts",
    )
