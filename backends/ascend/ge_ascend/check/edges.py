"""Edges: every source exists, and both ends describe the same tensor."""

from __future__ import annotations

from collections.abc import Mapping

from ge_ascend.air.model import AirNode
from ge_ascend.air.tensors import BY_PROTO
from ge_ascend.check.findings import Findings


def check_edges(findings: Findings, by_name: Mapping[str, AirNode], node: AirNode) -> None:
    """The inputs of one node.

    Args:
        by_name: the nodes of its graph.
    """
    for name in node.controls:
        if name not in by_name:
            findings.error("control-edge", node.name, f"it must run after {name}, which does not exist")
    for slot, source in enumerate(node.inputs):
        if slot >= len(node.input_descs):
            findings.error("no-descriptor", node.name, f"input {slot} has no descriptor")
            continue
        if source is None:
            continue
        name, index = source
        producer = by_name.get(name)
        if producer is None:
            findings.error("dangling", node.name, f"input {slot} reads {name}:{index}, and there is no {name}")
            continue
        if not 0 <= index < len(producer.output_descs):
            findings.error(
                "source-index", node.name,
                f"input {slot} reads output {index} of {name}, which has {len(producer.output_descs)}",
            )  # fmt: skip
            continue
        _same(findings, node, slot, producer, index)


def _same(findings: Findings, node: AirNode, slot: int, producer: AirNode, index: int) -> None:
    given, wanted = producer.output_descs[index], node.input_descs[slot]
    if given.dtype != wanted.dtype:
        findings.error(
            "edge-type", node.name,
            f"input {slot} is described as {_type(wanted.dtype)}, {producer.name} gives {_type(given.dtype)}",
        )  # fmt: skip
    known = -2 not in given.shape and -2 not in wanted.shape
    if known and (
        len(given.shape) != len(wanted.shape)
        or any(a != b and -1 not in (a, b) for a, b in zip(given.shape, wanted.shape, strict=False))
    ):
        findings.warning(
            "edge-shape", node.name,
            f"input {slot} is described as {list(wanted.shape)}, {producer.name} gives {list(given.shape)}",
        )  # fmt: skip


def _type(number: int) -> str:
    return str(BY_PROTO.get(number, f"type {number}"))
