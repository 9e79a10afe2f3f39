"""All variants by family; they are what the tests run and what the coverage table counts."""

from __future__ import annotations

import importlib
from typing import Any

FAMILIES = ("unary", "binary", "activation", "reduction", "shape", "indexing", "windows", "algebra", "creation", "sort",
            "loss", "writes", "numbers", "extended", "grids")  # fmt: skip


def family(name: str) -> list[Any]:
    """The variants of a family."""
    found: list[Any] = importlib.import_module(f"tests.frontends.mindspore.variants.{name}").VARIANTS
    return found
