"""Einsum equations and the type rule.

An equation is `terms -> result`: one term of letters for each operand, separated by commas, with at most one
ellipsis each; without `->` the result is the ellipsis followed, in alphabetical order, by the letters that occur
once. Sizes of one letter must be equal or 1; the axes of ellipses align at the right and broadcast.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ge_core.errors import TypeRuleError
from ge_core.ir.dims import Size
from ge_core.ir.types import TensorType
from ge_core.ops.constraints import numeric_dtype
from ge_core.ops.infer import Infer
from ge_core.ops.registry import type_rule

_ELLIPSIS = "..."


@dataclass(frozen=True)
class Equation:
    """A parsed equation: the labels of each operand's axes and of the result's. Ellipsis axes are `.0`, `.1`, …
    counted from the right."""

    operands: tuple[tuple[str, ...], ...]
    result: tuple[str, ...]


def parse_equation(text: str, ranks: Sequence[int]) -> Equation:
    """The labels of every axis.

    Args:
        text: the equation.
        ranks: ranks of the operands, in order.

    Raises:
        TypeRuleError: the equation is malformed or does not fit the operands.
    """
    compact = "".join(text.split())
    left, arrow, right = compact.partition("->")
    terms = left.split(",")
    if len(terms) != len(ranks):
        raise _bad(text, f"it has {len(terms)} terms for {len(ranks)} operands")
    operands = tuple(_labels(text, term, rank) for term, rank in zip(terms, ranks, strict=True))
    widest = max((sum(label[0] == "." for label in labels) for labels in operands), default=0)
    ellipsis = tuple(f".{i}" for i in reversed(range(widest)))
    counts = Counter(label for labels in operands for label in labels)
    if not arrow:
        once = sorted(label for label, n in counts.items() if n == 1 and label[0] != ".")
        return Equation(operands, (*ellipsis, *once))
    result: tuple[str, ...] = ()
    for part in _letters(text, right):
        result += ellipsis if part == _ELLIPSIS else (part,)
    for label in result:
        if label not in counts:
            raise _bad(text, f"the result has {label!r}, which no operand has")
    if len(set(result)) != len(result):
        raise _bad(text, "a letter stands twice in the result")
    return Equation(operands, result)


def _labels(text: str, term: str, rank: int) -> tuple[str, ...]:
    parts = _letters(text, term)
    letters = len(parts) - parts.count(_ELLIPSIS)
    covered = rank - letters
    if covered < 0 or (covered > 0 and _ELLIPSIS not in parts):
        raise _bad(text, f"the term {term!r} has {letters} letters for an operand of rank {rank}")
    out: list[str] = []
    for part in parts:
        out += [f".{i}" for i in reversed(range(covered))] if part == _ELLIPSIS else [part]
    return tuple(out)


def _letters(text: str, term: str) -> list[str]:
    before, ellipsis, after = term.partition(_ELLIPSIS)
    for letter in before + after:
        if not (letter.isascii() and letter.isalpha()):
            raise _bad(text, f"{letter!r} is no letter")
    return [*before, *([_ELLIPSIS] if ellipsis else []), *after]


def _bad(text: str, why: str) -> TypeRuleError:
    return TypeRuleError(f"the Einsum equation {text[:200]!r} is wrong: {why}")


@type_rule("Einsum")
def einsum(c: Infer) -> TensorType:
    shapes = [c.shape(i) for i in range(c.num_inputs)]
    equation = parse_equation(c.attr("equation"), [len(s) for s in shapes])
    sizes: dict[str, Size] = {}
    for labels, shape in zip(equation.operands, shapes, strict=True):
        for label, size in zip(labels, shape, strict=True):
            sizes[label] = c.broadcast((sizes.get(label, 1),), (size,))[0]
    return TensorType(numeric_dtype(c, *range(c.num_inputs)), tuple(sizes[label] for label in equation.result))
