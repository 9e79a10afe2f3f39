"""Which operators of a model are supported."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class CoverageReport:
    """The result of `coverage`.

    Attributes:
        operators: operators of the imported graph with their counts; empty when the import was refused.
        unsupported: what the frontend or the target cannot do, one line each, with the places.
        host_operators: operators that the target leaves to the reference kernels, with their counts.
    """

    target: str
    framework: str = ""
    operators: dict[str, int] = field(default_factory=dict)
    unsupported: list[str] = field(default_factory=list)
    host_operators: dict[str, int] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether the model compiles."""
        return not self.unsupported

    def summary(self) -> str:
        """Lines for a person."""
        total = sum(self.operators.values())
        if self.complete:
            lines = [f"all {total} operators of {len(self.operators)} kinds are supported on {self.target}"]
        else:
            lines = [f"{len(self.unsupported)} things are not supported on {self.target}:"]
            lines += [f"  {line}" for line in self.unsupported]
        if self.host_operators:
            names = ", ".join(f"{n} {op}" for op, n in self.host_operators.items())
            lines.append(f"run by reference kernels: {names}")
        return "\n".join(lines)
