"""What `dynamic_shapes` says about inputs, for frontends whose models name their inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ge_core.errors import InputError

Asked = Any
"""About one axis: a name, a fixed size, torch.export's Dim, None for nothing."""


def asked_shapes(dynamic_shapes: object, names: Sequence[str]) -> dict[str, Mapping[int, Asked]]:
    """What `dynamic_shapes` says, by input and axis.

    Args:
        dynamic_shapes: by input name or by position; for an input a mapping from axes or one entry for each axis.

    Raises:
        InputError: an input is not known, or an entry has another form.
    """
    if dynamic_shapes is None:
        return {}
    if isinstance(dynamic_shapes, Mapping):
        entries = dict(dynamic_shapes)
    elif isinstance(dynamic_shapes, (list, tuple)):
        if len(dynamic_shapes) > len(names):
            raise InputError(f"dynamic_shapes has {len(dynamic_shapes)} entries, the model {len(names)} inputs")
        entries = dict(zip(names, dynamic_shapes, strict=False))
    else:
        raise InputError(f"dynamic_shapes is {dynamic_shapes!r}", expected="a dict by input name, or a tuple")
    unknown = [name for name in entries if name not in names]
    if unknown:
        raise InputError(f"dynamic_shapes names {unknown[0]!r}", expected=f"one of {', '.join(names)}")
    return {name: _axes(entry, name) for name, entry in entries.items() if entry is not None}


def _axes(entry: object, name: str) -> Mapping[int, Asked]:
    if isinstance(entry, Mapping) and all(isinstance(axis, int) for axis in entry):
        return dict(entry)
    if isinstance(entry, (list, tuple)):
        return dict(enumerate(entry))
    raise InputError(f"dynamic_shapes of {name!r} is {entry!r}", expected="a dict from axis to size, or a tuple")
