"""Phase one of an import: every operator of the model that is not supported, in one report."""

from __future__ import annotations

from dataclasses import dataclass

from ge_core.errors import UnsupportedError

from .convert import Converter
from .operator_table import described
from .program import Body, called
from .refused import reason
from .registry import find

_PLACES_SHOWN = 3


@dataclass(frozen=True)
class Finding:
    """One node that cannot be converted: the operator and its place."""

    what: str
    place: str


def unknown_operators(converter: Converter, body: Body) -> list[Finding]:
    """A finding for each needed node, in the body and all functions that it calls, that nothing converts."""
    found: list[Finding] = []
    seen = {body.name}
    waiting = [body]
    while waiting:
        current = waiting.pop()
        for node in converter.order(current):
            if find(node.op) is None or described(node.op) is None:
                found.append(Finding(node.op, _place(converter, body, current, node.name)))
                continue
            for name in called(node):
                if name not in seen:
                    seen.add(name)
                    waiting.append(converter.program.function(name))
    return found


def _place(converter: Converter, main: Body, body: Body, name: str) -> str:
    if body is not main:
        return f"{name} in the function {body.name}"
    file, line = converter.places.get(name, ("", 0))
    return f"{name} at {file}:{line}" if file else name


def report(found: list[Finding], model: str) -> UnsupportedError:
    """One error that names every operator with its count, its places and the reason."""
    places: dict[str, list[str]] = {}
    for finding in found:
        places.setdefault(finding.what, []).append(finding.place)
    details = []
    for what, where in sorted(places.items(), key=lambda item: -len(item[1])):
        distinct = list(dict.fromkeys(where))
        more = len(distinct) - _PLACES_SHOWN
        shown = "; ".join(distinct[:_PLACES_SHOWN]) + (f"; and {more} more places" if more > 0 else "")
        details.append(f"{what} ×{len(where)} ({reason(what)}): {shown}")
    kinds = len(places)
    return UnsupportedError(
        f"{model} uses {kinds} operator{'s' if kinds > 1 else ''} that the TensorFlow frontend does not support",
        details=details,
        fix="replace them by other operators in the model, or register a conversion with "
        "ge_frontend_tensorflow.registry.tf_op",
    )
