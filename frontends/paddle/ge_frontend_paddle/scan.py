"""Phase one of an import: everything in the program that is not supported, in one report."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from ge_core.errors import UnsupportedError
from ge_core.ir.location import Location
from ge_core.plugins.unsupported import Unsupported, unsupported_error

from .program import Operator, Program
from .registry import find

# Handled by the converter itself: what enters, what leaves, and the end of a block.
STRUCTURE = frozenset({"data", "feed", "fetch", "builtin.parameter", "builtin.shadow_output", "cf.yield"})

_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
# Lines of these are not the user's: Paddle, and what Paddle writes while it rewrites Python.
_NOT_THE_MODEL = re.compile(r"(site|dist)-packages/paddle/|/python/paddle/|to_static_tmp")
# What called this frontend is outside of the model.
_CALLS_THE_MODEL = "/ge_frontend_paddle/"


def unknown_operators(program: Program) -> list[Unsupported]:
    """One finding for each operator that nothing here converts."""
    return [
        Unsupported(op.name, describe_place(op))
        for op in program.operators()
        if op.name not in STRUCTURE and find(op.name) is None
    ]


def location(op: Operator) -> Location:
    """The layer around an operator and the innermost source line outside of Paddle."""
    file, line = _source(op.stack)
    return Location("paddle", op.module, file, line, op.name)


def _source(stack: Sequence[str]) -> tuple[str, int]:
    for text in reversed(stack):
        if _CALLS_THE_MODEL in text:
            break
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


def report(found: Iterable[Unsupported], model: str) -> UnsupportedError:
    """One error that names every operator or form with its count and its places."""
    return unsupported_error(found, model, "Paddle", "ge_frontend_paddle.registry.pd")
