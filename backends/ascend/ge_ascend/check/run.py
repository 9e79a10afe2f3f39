"""Runs all rules over a file."""

from __future__ import annotations

import os

from ge_ascend.air.model import AirModel
from ge_ascend.air.reader import read_air
from ge_ascend.check.attributes import check_attributes
from ge_ascend.check.edges import check_edges
from ge_ascend.check.findings import Findings
from ge_ascend.check.graphs import check_graph, check_model
from ge_ascend.check.ports import check_ports
from ge_ascend.check.types import check_types
from ge_ascend.chips import CHIPS, Chip
from ge_ascend.prototypes import prototype
from ge_core.device_contract import FileFinding
from ge_core.errors import ModelImportError


def check_file(path: str | os.PathLike[str], target: str | None = None) -> list[FileFinding]:
    """Check a file; one that cannot be read at all is one finding."""
    try:
        model = read_air(path)
    except ModelImportError as error:
        return [FileFinding("error", "file", os.fspath(path), error.what, error.fix or "")]
    return check_air(model, None if target is None else CHIPS[target])


def check_air(model: AirModel, chip: Chip | None = None) -> list[FileFinding]:
    """Check a file that was read.

    Args:
        chip: also check the element types against what its kernels take.
    """
    found: list[FileFinding] = check_model(model)
    for graph in model.graphs:
        findings = Findings(graph.name)
        check_graph(findings, graph, model)
        by_name = {node.name: node for node in graph.nodes}
        for node in graph.nodes:
            declared = prototype(node.type)
            if node.type == "NetOutput":
                check_edges(findings, by_name, node)
                continue
            if declared is None:
                findings.error("unknown-type", node.name, f"no release of CANN has an operator {node.type}")
                check_edges(findings, by_name, node)
                continue
            if declared.kernel_only:
                findings.warning("undeclared-type", node.name, f"{node.type} is known from a kernel list only")
            check_ports(findings, node, declared)
            check_edges(findings, by_name, node)
            check_attributes(findings, node, declared)
            check_types(findings, node, declared, chip)
        found += findings.found
    return found
