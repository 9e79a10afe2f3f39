"""What a lowering did on its own account, for the report."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ge_core.ir.graph import Node


@dataclass
class Notes:
    """Choices by kind and operator, counted; the first place of each is kept."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    places: dict[tuple[str, str], str] = field(default_factory=dict)

    def add(self, kind: str, what: str, node: Node | None = None) -> None:
        """Note one choice; equal ones are counted."""
        key = kind, what
        self.counts[key] += 1
        if node is not None and str(node.loc):
            self.places.setdefault(key, str(node.loc))

    def lines(self) -> list[str]:
        """One line per choice, in order of appearance."""
        found = []
        for (kind, what), count in self.counts.items():
            place = self.places.get((kind, what))
            often = f" ({count} times)" if count > 1 else ""
            found.append(f"{kind}: {what}{often}" + (f", first {place}" if place else ""))
        return found
