"""TensorFlow's own signatures of its operators, see `tools/generate_tensorflow_operators.py`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Argument:
    """An argument or result: one tensor, or several.

    Attributes:
        count: the attribute that says how many tensors it is (a number, or a list of types), "" for one.
    """

    name: str
    count: str


@dataclass(frozen=True)
class Described:
    """The signature of an operator.

    Attributes:
        defaults: attributes that have a default, as JSON data; element types are {"type": number}.
        attributes: kinds of all attributes.
    """

    name: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    attributes: Mapping[str, str]
    defaults: Mapping[str, Any]

    @cached_property
    def is_plain(self) -> bool:
        """Whether every argument is one tensor."""
        return not any(a.count for a in self.inputs)


_PRIVATE: dict[str, Any] = {
    "_TfliteConstant": [[], ["output"], {"index": ["int"]}],
    "_TfliteDequantize": [
        ["x"],
        ["output"],
        {"scale": ["list(float)"], "zero_point": ["list(int)"], "axis": ["int"]},
    ],
    "_TfliteLstm": [["x", "w", "r", "b", "h", "c"], ["y", "h_last", "c_last"], {}],
    "_TfliteQuantize": [
        ["x"],
        ["output"],
        {"scale": ["list(float)"], "zero_point": ["list(int)"], "axis": ["int"], "dtype": ["type"]},
    ],
}
"""Nodes that this frontend makes of TFLite's operators; no file of TensorFlow has them."""


@lru_cache(maxsize=1)
def _rows() -> dict[str, Any]:
    text = (Path(__file__).parent / "operators.json").read_text(encoding="utf-8")
    rows: dict[str, Any] = json.loads(text)
    return rows


@cache
def described(name: str) -> Described | None:
    """The signature of an operator, None for one that is not known."""
    row = _rows().get(name) or _PRIVATE.get(name)
    if row is None:
        return None
    inputs, outputs, attributes = row
    return Described(
        name,
        tuple(_argument(a) for a in inputs),
        tuple(_argument(a) for a in outputs),
        {key: value[0] for key, value in attributes.items()},
        {key: value[1] for key, value in attributes.items() if len(value) > 1},
    )


def names() -> list[str]:
    """All operators of the table."""
    return list(_rows())


def _argument(text: str) -> Argument:
    name, _, count = text.partition(":")
    return Argument(name, count)
