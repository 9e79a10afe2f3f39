"""Whole graphs: names, cycles, inputs, outputs, constants, sub graphs."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Sequence

from ge_ascend.air.importer import ordered
from ge_ascend.air.model import AirGraph, AirModel, AirNode
from ge_ascend.air.tensors import BY_PROTO, file_constant
from ge_ascend.check.findings import Findings
from ge_ascend.prototypes import prototype
from ge_core.device_contract import FileFinding
from ge_core.errors import ModelImportError

_MOST_BYTES = 2**31 - 1


def check_model(model: AirModel) -> list[FileFinding]:
    """What concerns the graphs together."""
    findings = Findings(model.name or model.source)
    names = [graph.name for graph in model.graphs]
    for name, count in _repeated(names):
        findings.error("graph-name", "", f"{count} graphs are called {name!r}")
    if model.source and os.path.isfile(model.source) and os.path.getsize(model.source) > _MOST_BYTES:
        findings.error("file-size", "", "the file is larger than 2 GiB", "write the weights beside it")
    used: dict[str, set[str]] = {
        graph.name: {sub for node in graph.nodes for sub in node.graphs} for graph in model.graphs
    }
    reached, left = set[str](), [names[0]]
    while left:
        name = left.pop()
        if name not in reached:
            reached.add(name)
            left += used.get(name, ())
    for name in names[1:]:
        if name not in reached:
            findings.warning("unused-graph", name, "no operator refers to this graph")
    for name in names:
        if _reaches(name, name, used, set()):
            findings.error("recursion", name, "the graph contains itself")
    return findings.found


def _repeated(names: Sequence[str]) -> list[tuple[str, int]]:
    return sorted((name, count) for name, count in Counter(names).items() if count > 1)


def _reaches(name: str, target: str, used: dict[str, set[str]], seen: set[str]) -> bool:
    for sub in used.get(name, ()):
        if sub == target:
            return True
        if sub not in seen:
            seen.add(sub)
            if _reaches(sub, target, used, seen):
                return True
    return False


def check_graph(findings: Findings, graph: AirGraph, model: AirModel) -> None:
    """One graph as a whole."""
    twice = _repeated([node.name for node in graph.nodes])
    for name, count in twice:
        findings.error("node-name", name, f"{count} nodes have this name, and the last one wins")
    for node in graph.nodes:
        if not node.name:
            findings.error("node-name", "", f"a {node.type} has no name")
    if not twice:
        _order(findings, graph)
    _inputs(findings, graph, root=graph is model.graphs[0])
    _outputs(findings, graph)
    for node in graph.nodes:
        if node.type in ("Const", "Constant"):
            _constant(findings, node)
        elif node.type == "FileConstant":
            try:
                file_constant(node, model.folder)
            except ModelImportError as error:
                findings.error("file-constant", node.name, error.what)
        _sub_graphs(findings, node, model)


def _order(findings: Findings, graph: AirGraph) -> None:
    known = {node.name for node in graph.nodes}
    whole = all(
        name in known
        for node in graph.nodes
        for name in (*node.controls, *(source[0] for source in node.inputs if source is not None))
    )
    if not whole:
        return  # told edge by edge
    try:
        ordered(graph)
    except ModelImportError as error:
        findings.error("cycle", "", error.what + ": " + ", ".join(error.details[:5]))


def _inputs(findings: Findings, graph: AirGraph, *, root: bool) -> None:
    datas = [node for node in graph.nodes if node.type in ("Data", "RefData")]
    indexes = []
    for node in datas:
        index = node.attrs.get("index", node.attrs.get("_parent_node_index"))
        if not isinstance(index, int):
            findings.error("data-index", node.name, "it has no index")
            return
        indexes.append(index)
        if node.input_descs and node.output_descs:
            x, y = node.input_descs[0], node.output_descs[0]
            if (x.dtype, x.shape) != (y.dtype, y.shape):
                findings.error("data-descriptors", node.name, "its descriptors x and y differ")
        if not root and not isinstance(node.attrs.get("_parent_node_index"), int):
            findings.error("parent-index", node.name, "a Data of a sub graph needs _parent_node_index")
    if root and sorted(indexes) != list(range(len(indexes))):
        findings.error("data-index", "", f"the indexes of its Data are {sorted(indexes)}",
                       f"number them 0 to {len(indexes) - 1}")  # fmt: skip


def _outputs(findings: Findings, graph: AirGraph) -> None:
    ends = [node for node in graph.nodes if node.type == "NetOutput"]
    if len(ends) > 1:
        findings.error("outputs", "", f"it has {len(ends)} NetOutput nodes")
    elif ends and not any(source is not None for source in ends[0].inputs):
        findings.error("outputs", ends[0].name, "its NetOutput has no inputs")
    elif not ends and not graph.outputs:
        findings.error("outputs", "", "it has no output, so that nothing would be computed", "add a NetOutput")
    known = {node.name: len(node.output_descs) for node in graph.nodes}
    for name, index in graph.outputs:
        if name not in known or not 0 <= index < known[name]:
            findings.error("output-name", "", f"its output {name}:{index} does not exist")


def _constant(findings: Findings, node: AirNode) -> None:
    value = node.attrs.get("value")
    if value is None or not hasattr(value, "desc"):
        if "location" not in node.attrs:
            findings.error("constant", node.name, "it has no tensor in its attribute value")
        return
    dtype = BY_PROTO.get(value.desc.dtype)
    shape = tuple(value.desc.shape.dim)
    if dtype is None or any(size < 0 for size in shape):
        findings.error("constant", node.name, f"its tensor has type {value.desc.dtype} and shape {list(shape)}")
        return
    if dtype.kind == "string":
        return
    needed = dtype.nbytes(math.prod(shape))
    if len(value.data) != needed and "location" not in node.attrs:
        findings.error(
            "constant-bytes", node.name, f"it holds {len(value.data)} bytes, {dtype}{list(shape)} is {needed}"
        )
    if node.output_descs and tuple(node.output_descs[0].shape) != shape:
        findings.error(
            "constant-shape",
            node.name,
            f"it is described as {list(node.output_descs[0].shape)}, it holds {list(shape)}",
        )
    if node.output_descs and node.output_descs[0].dtype != value.desc.dtype:
        findings.error("constant-type", node.name, "its descriptor and its tensor have different element types")


def _sub_graphs(findings: Findings, node: AirNode, model: AirModel) -> None:
    names = {graph.name: graph for graph in model.graphs}
    for name in node.graphs:
        if name not in names:
            findings.error("sub-graph", node.name, f"the sub graph {name} does not exist")
    declared = prototype(node.type)
    if declared is None:
        return
    wanted = sum(kind == "r" for _, kind in declared.graphs)
    if len(node.graphs) < wanted:
        findings.error("sub-graph", node.name, f"{node.type} has {len(node.graphs)} sub graphs, it needs {wanted}")
    taken = len(node.inputs)
    for name in node.graphs:
        for inner in names[name].nodes if name in names else ():
            index = inner.attrs.get("_parent_node_index")
            if inner.type == "Data" and isinstance(index, int) and not 0 <= index < taken:
                findings.error("parent-index", node.name, f"{inner.name} of {name} reads input {index} of {taken}")
