"""Checks data from a file's JSON against the types that the program expects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints, is_typeddict


def misfit(data: object, form: Any, place: str = "") -> str | None:
    """Where data differ from a type, in words; None when they fit.

    Args:
        form: bool, int, float, str, None, Any, list[...], dict[str, ...], a union, a TypedDict, or a dataclass (a
            table of its fields, any of which may be missing).
        place: what the data are, for the answer.
    """
    origin = get_origin(form)
    if form is Any:
        return None
    if origin in (Union, UnionType):
        return None if any(misfit(data, part) is None for part in get_args(form)) else _said(data, form, place)
    if origin is list:
        if not isinstance(data, list):
            return _said(data, form, place)
        return _first(misfit(item, get_args(form)[0], f"{place}[{i}]") for i, item in enumerate(data))
    if origin is dict:
        if not isinstance(data, Mapping) or not all(isinstance(key, str) for key in data):
            return _said(data, form, place)
        return _first(misfit(item, get_args(form)[1], f"{place}.{key}"[:80]) for key, item in data.items())
    if is_typeddict(form) or is_dataclass(form):
        return _table(data, form, place)
    if form is float:
        fits = isinstance(data, (int, float)) and not isinstance(data, bool) and abs(data) < 1e300
    elif form is int:
        fits = isinstance(data, int) and not isinstance(data, bool) and abs(data) < 1 << 63
    else:
        fits = isinstance(data, NoneType if form is None else form)
    return None if fits else _said(data, form, place)


def _table(data: object, form: Any, place: str) -> str | None:
    if not isinstance(data, Mapping):
        return _said(data, form, place)
    hints = get_type_hints(form)
    optional = {f.name for f in fields(form)} if is_dataclass(form) else form.__optional_keys__
    missing = [name for name in hints if name not in data and name not in optional]
    if missing:
        return f"{place} has no {missing[0]}"
    return _first(misfit(data[name], hint, f"{place}.{name}") for name, hint in hints.items() if name in data)


def _first(found: Any) -> str | None:
    return next((text for text in found if text is not None), None)


def _said(data: object, form: Any, place: str) -> str:
    name = form.__name__ if isinstance(form, type) and get_origin(form) is None else str(form)
    return f"{place or 'it'} is {str(data)[:40]!r}, expected {name}"
