"""The nested structure of a call and its result, from torch's descriptions of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.export.graph_signature import ConstantArgument
from torch.utils import _pytree

from ge_core.errors import GeError
from ge_core.structure import describe


def leaf(arg: Any) -> object:
    """A leaf of a structure: a marker for what is computed, the value of a constant."""
    return arg.value if isinstance(arg, ConstantArgument) else torch.empty(0, device="meta")


def is_marker(value: object) -> bool:
    """Whether a value of a structure is a marker that `leaf` made."""
    return isinstance(value, torch.Tensor)


def rebuild(spec: Any, leaves: Sequence[object]) -> Any:
    """The structure that a TreeSpec describes, with these leaves.

    A container that only its own class can open becomes a dict of its parts when torch knows their names, else a
    tuple.
    """
    return _rebuild(spec, iter(leaves))


def _children(spec: Any) -> Sequence[Any]:
    """The parts of a TreeSpec; torch before 2.9 has them as an attribute alone."""
    found: Sequence[Any] = spec.children() if hasattr(spec, "children") else spec.children_specs
    return found


def _rebuild(spec: Any, leaves: Iterator[object]) -> Any:
    if spec.is_leaf():
        return next(leaves)
    children = [_rebuild(child, leaves) for child in _children(spec)]
    try:
        whole = _pytree.SUPPORTED_NODES[spec.type].unflatten_fn(children, spec.context)
    except Exception:  # noqa: BLE001 - a class may check its parts, which are markers here
        whole = None
    if _markers(whole) == _markers(children):
        return whole
    names = spec.context
    named = isinstance(names, (list, tuple)) and len(names) == len(children) and all(isinstance(n, str) for n in names)
    return dict(zip(names, children, strict=True)) if named else tuple(children)


def _markers(value: object) -> list[int] | None:
    """The markers in a value as the core's structures see it, None when they cannot look into it."""
    try:
        return [id(marker) for marker in describe(value, is_marker)[1]]
    except GeError:
        return None


def slots(structure: object, leaves: Sequence[object]) -> list[int]:
    """For each marker of a structure, in the order of its slots, its place among the leaves."""
    place = {id(value): index for index, value in enumerate(leaves)}
    return [place[id(marker)] for marker in describe(structure, is_marker)[1]]
