"""What is in an offline model, read without running or compiling anything of it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ge_core.ir.graph import Graph
from ge_core.ir.printer import print_graph
from ge_core.ir.traverse import walk
from ge_core.om.model_file import open_model
from ge_core.report import CompileReport, readable

_SHOWN_OPERATORS = 12


@dataclass(frozen=True)
class ModelDescription:
    """An offline model's content.

    Attributes:
        path, bytes: the file.
        partitions: (name, bytes) of each partition, in the order of the file.
        digests: SHA-256 of each partition, hex.
        metadata: what ge wrote beside the graphs: versions, target, options, plans, report.
        graphs: the graph of each entry.
        items: named binaries of the backend with their sizes.
    """

    path: str
    bytes: int
    partitions: tuple[tuple[str, int], ...]
    digests: Mapping[str, str]
    metadata: Mapping[str, Any]
    graphs: Mapping[str, Graph]
    items: Mapping[str, int]

    @property
    def report(self) -> CompileReport:
        return CompileReport.from_json(self.metadata.get("report"))

    def operators(self) -> Counter[str]:
        """Number of nodes by operator, regions included."""
        return Counter(node.op for graph in self.graphs.values() for node in walk(graph))

    def summary(self) -> str:
        """Lines for a person."""
        of = self.metadata
        lines = [
            f"{self.path}: {readable(self.bytes)}, written by ge {of.get('ge')} for target {of.get('target')}"
            + (f", from {of['framework']}" if of.get("framework") else ""),
            "partitions: " + ", ".join(f"{name} {readable(size)}" for name, size in self.partitions),
        ]
        for name, graph in self.graphs.items():
            lines.append(f"entry {name}:")
            lines += [f"  input  {value.name}: {value.type}" for value in graph.inputs]
            lines += [f"  output {value.name}: {value.type}" for value in graph.outputs]
            lines += [f"  state  {state.name}: {state.read.type}" for state in graph.states]
        counts = self.operators()
        shown = ", ".join(f"{n} {op}" for op, n in counts.most_common(_SHOWN_OPERATORS))
        more = len(counts) - _SHOWN_OPERATORS
        lines.append(f"operators: {counts.total()} ({shown}{f', {more} more kinds' if more > 0 else ''})")
        if self.items:
            lines.append("binaries: " + ", ".join(f"{name} {readable(size)}" for name, size in self.items.items()))
        return "\n".join([*lines, *self.report.summary().splitlines()])

    def steps(self) -> list[str]:
        """One line for each step of the stored plans."""
        lines: list[str] = []
        for name, plan in dict(self.metadata.get("plans") or {}).items():
            lines.append(f"plan of {name}:")
            lines += [f"  {_step(step)}" for step in plan.get("steps", ())]
        return lines or ["the file holds no plan: it is planned when it is loaded"]

    def to_json(self) -> dict[str, Any]:
        """Plain data, graphs in text form."""
        return {
            "path": self.path,
            "bytes": self.bytes,
            "partitions": [{"name": name, "bytes": size} for name, size in self.partitions],
            "sha256": dict(self.digests),
            "metadata": dict(self.metadata),
            "operators": dict(self.operators()),
            "items": dict(self.items),
            "graphs": {name: print_graph(graph) for name, graph in self.graphs.items()},
        }


def describe_file(path: str | os.PathLike[str], *, verify_weights: bool = False) -> ModelDescription:
    """Read an offline model's description.

    Args:
        verify_weights: compare the digest of the weights too, which reads the whole file.

    Raises:
        OfflineModelError: no offline model, or damaged.
    """
    stored = open_model(path, verify_weights=verify_weights)
    return ModelDescription(
        os.fspath(path),
        Path(path).stat().st_size,
        tuple((p.type.name, len(p.data)) for p in stored.container.groups[0].partitions),
        {kind.name: digest.hex() for kind, digest in stored.digests.items()},
        stored.metadata,
        stored.entries,
        {name: memoryview(data).nbytes for name, data in stored.items.items()},
    )


def _step(step: object) -> str:
    if not isinstance(step, Mapping):
        return str(step)
    shown = {k: v for k, v in step.items() if k not in ("loc", "data")}
    return " ".join(f"{k}={v}" for k, v in shown.items())
