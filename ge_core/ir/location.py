"""Where a node or value came from in the user's model."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Location:
    """A place in the user's model, kept through every rewrite.

    Attributes:
        framework: name of the frontend (`torch`).
        module: dotted path of the enclosing module (`layers.3.attention`).
        file, line: the user's source line; line 0 when unknown.
        op: the framework's own operator name.
    """

    framework: str = ""
    module: str = ""
    file: str = ""
    line: int = 0
    op: str = ""

    def __str__(self) -> str:
        source = f"{self.file}:{self.line}" if self.file and self.line else self.file
        parts = [self.op, self.module and f"in {self.module}", source and f"at {source}"]
        return " ".join(p for p in parts if p) or self.framework


UNKNOWN = Location()
