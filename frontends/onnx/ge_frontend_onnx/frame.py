"""Where a node stands: in the model itself or in the body of a function, and what holds there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from ge_core.errors import ModelImportError
from ge_core.ir.location import Location

_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_STACK = "pkg.torch.onnx.stack_trace"


def normal_domain(domain: str) -> str:
    """A domain by its one name: "ai.onnx" is "" too."""
    return "" if domain == "ai.onnx" else domain


def read_opsets(imports: Any, where: str) -> dict[str, int]:
    """Version by domain.

    Raises:
        ModelImportError: a domain is imported in two versions.
    """
    found: dict[str, int] = {}
    for entry in imports:
        domain, version = normal_domain(entry.domain), int(entry.version)
        if found.setdefault(domain, version) != version:
            raise ModelImportError(
                f"{where} imports the versions {found[domain]} and {version} of {domain or 'ai.onnx'!r}"
            )
    return found


@dataclass(frozen=True)
class Frame:
    """A model, or one call of a function.

    Attributes:
        opsets: version by domain.
        path: the calls that led here, as a prefix of the nodes' names.
        referred: AttributeProtos of the call, by name.
    """

    opsets: Mapping[str, int]
    path: str = ""
    referred: Mapping[str, Any] = field(default_factory=dict)

    def opset(self, domain: str) -> int:
        """The version of a domain; domains besides ONNX's own have one version only."""
        return self.opsets.get(domain, 1)

    def location(self, node: Any) -> Location:
        """A node's place: its name, and the user's source line where the exporter wrote it down."""
        name = node.name or next((n for n in node.output if n), "")
        domain = normal_domain(node.domain)
        op = f"{domain}::{node.op_type}" if domain else node.op_type
        file, line = _source(node.metadata_props) if len(node.metadata_props) else ("", 0)
        return Location("onnx", f"{self.path}{name}", file, line, op)


def _source(properties: Any) -> tuple[str, int]:
    for entry in properties:
        if entry.key == _STACK:
            return _last_frame(entry.value)
    return "", 0


@lru_cache(maxsize=4096)
def _last_frame(trace: str) -> tuple[str, int]:
    frames = _FRAME.findall(trace)
    return (frames[-1][0], int(frames[-1][1])) if frames else ("", 0)
