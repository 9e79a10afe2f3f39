"""Phase one of an import: everything in the program that is not supported, in one report."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ge_core.errors import UnsupportedError
from ge_core.ir.location import Location

from .program import Operator, Program
from .registry import find

# Handled by the converter itself: what enters, what leaves, and the end of a block.
STRUCTURE = frozenset({"data", "feed", "fetch", "builtin.parameter", "builtin.shadow_output", "cf.yield"})

_PLACES_SHOWN = 3
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
# Lines of these are not the user's: Paddle, what Paddle writes while it rewrites Python, and ge.
_NOT_THE_MODEL = re.compile(
    r"(site|dist)-packages/paddle/|/python/paddle/|to_static_tmp|/ge_core/|/ge_frontend_paddle/"
)


@dataclass(frozen=True)
class Finding:
    """One operator that cannot be converted: its name or form, and its place."""

    what: str
    place: str


def unknown_operators(program: Program) -> list[Finding]:
    """One finding for each operator that nothing here converts."""
    return [
        Finding(op.name, describe_place(op))
        for op in program.operators()
        if op.name not in STRUCTURE and find(op.name) is None
    ]


def location(op: Operator) -> Location:
    """The layer around an operator and the innermost source line outside of Paddle."""
    file, line = _source(op.stack)
    return Location("paddle", op.module, file, line, op.name)


def _source(stack: Sequence[str]) -> tuple[str, int]:
    for text in reversed(stack):
        place = _frame(text)
        if place is not None:
            return place
    return "", 0


@lru_cache(maxsize=65536)
def _frame(text: str) -> tuple[str, int] | None:
    """The place of a line of a call stack, None when it is none of the model's."""
    frame = _FRAME.search(text)
    if frame is None or _NOT_THE_MODEL.search(frame[1]):
        return None
    return frame[1], int(frame[2])


def describe_place(op: Operator) -> str:
    """`in Conv2D at model.py:12`."""
    file, line = _source(op.stack)
    return f"in {op.module or 'the model'}{f' at {file}:{line}' if file else ''}"


def report(found: Iterable[Finding], model: str) -> UnsupportedError:
    """One error that names every operator or form with its count and its places."""
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
        f"{model} uses {kinds} operator{'s' if kinds > 1 else ''} that the Paddle frontend does not support",
        details=details,
        fix="replace them by other operators in the model, or register a conversion with "
        "ge_frontend_paddle.registry.pd",
    )
