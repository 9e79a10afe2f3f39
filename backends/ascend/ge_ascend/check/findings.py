"""What the checker found."""

from __future__ import annotations

from dataclasses import dataclass, field

from ge_core.device_contract import FileFinding


@dataclass
class Findings:
    """A list under construction, for one graph."""

    graph: str
    found: list[FileFinding] = field(default_factory=list)

    def error(self, rule: str, node: str, what: str, fix: str = "") -> None:
        self.found.append(FileFinding("error", rule, self._where(node), what, fix))

    def warning(self, rule: str, node: str, what: str, fix: str = "") -> None:
        self.found.append(FileFinding("warning", rule, self._where(node), what, fix))

    def _where(self, node: str) -> str:
        return f"{self.graph}/{node}" if node else self.graph
