"""Everything that a frontend cannot convert in a model, as one error."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ge_core.errors import UnsupportedError

_PLACES_SHOWN = 3


@dataclass(frozen=True)
class Unsupported:
    """One place that cannot be converted.

    Attributes:
        what: the operator or form.
        place: where it stands in the user's model, "" when nothing is known.
    """

    what: str
    place: str


def unsupported_error(
    found: Iterable[Unsupported],
    model: str,
    frontend: str,
    register: str,
    *,
    reason: Callable[[str], str] | None = None,
) -> UnsupportedError:
    """One error that names every operator or form with its count and its first places, the most frequent first.

    Args:
        model: the model's name, as the user knows it.
        frontend: the frontend's name, such as `PyTorch`.
        register: what registers a conversion in the frontend, such as `ge_frontend_torch.registry.aten`.
        reason: why an operator is not supported.
    """
    places: dict[str, list[str]] = {}
    for one in found:
        places.setdefault(one.what, []).append(one.place)
    details = []
    for what, where in sorted(places.items(), key=lambda item: -len(item[1])):
        distinct = list(dict.fromkeys(place for place in where if place))
        more = len(distinct) - _PLACES_SHOWN
        shown = "; ".join(distinct[:_PLACES_SHOWN]) + (f"; and {more} more places" if more > 0 else "")
        why = f" ({reason(what)})" if reason else ""
        details.append(f"{what} ×{len(where)}{why}" + (f": {shown}" if shown else ""))
    kinds = len(places)
    return UnsupportedError(
        f"{model} uses {kinds} operator{'s' if kinds > 1 else ''} that the {frontend} frontend does not support",
        details=details,
        fix=f"replace them by other operators in the model, or register a conversion with {register}",
    )
