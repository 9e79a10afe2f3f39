"""All variants by family; they are what the tests run and what the coverage table counts."""

from __future__ import annotations

import importlib
from typing import Any

FAMILIES = ("unary", "binary", "activation", "reduction", "shape", "indexing", "windows", "algebra", "creation", "sort",
            "loss", "writes", "numbers", "extended", "grids")  # fmt: skip

_CELL = 24


def family(name: str) -> list[Any]:
    """The variants of a family."""
    found: list[Any] = importlib.import_module(f"tests.frontends.mindspore.variants.{name}").VARIANTS
    return found


def groups(name: str) -> list[list[Any]]:
    """The variants of a family, some two dozen for each cell; those of one primitive stay together."""
    found: list[list[Any]] = [[]]
    for variant in family(name):
        if len(found[-1]) >= _CELL and variant.op != found[-1][-1].op:
            found.append([])
        found[-1].append(variant)
    return found
