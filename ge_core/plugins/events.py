"""What observers are told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Event:
    """Something that happened: a dotted name ("pass.done") and its figures."""

    name: str
    data: Mapping[str, object] = field(default_factory=dict)
