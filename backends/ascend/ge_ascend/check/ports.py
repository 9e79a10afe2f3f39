"""Ports: names and order by the prototype, and the lists `_ir_*` with which a file may repeat them."""

from __future__ import annotations

from collections.abc import Sequence

from ge_ascend.air.importer import input_ports
from ge_ascend.air.model import AirNode
from ge_ascend.check.findings import Findings
from ge_ascend.prototypes import Port, Prototype


def check_ports(findings: Findings, node: AirNode, declared: Prototype) -> None:
    """Required ports come in order, dynamic ones are numbered without a gap, nothing is left over."""
    slots = max(len(node.inputs), len(node.input_descs))
    named = [name for name in node.input_ports if name]
    if named and len(named) == slots:
        _walk(findings, node, named, declared.inputs, "input")
    elif not any(p.kind == "d" for p in declared.inputs) and slots > len(declared.inputs):
        findings.error("extra-input", node.name, f"{node.type} has {slots} inputs, it takes {len(declared.inputs)}")
    outputs = len(node.output_descs)
    required = sum(p.kind == "r" for p in declared.outputs)
    if outputs < required:
        findings.error(
            "missing-output", node.name, f"{node.type} has {outputs} output descriptors, it gives {required}"
        )
    if not any(p.kind == "d" for p in declared.outputs) and outputs > len(declared.outputs):
        findings.error("extra-output", node.name, f"{node.type} has {outputs} outputs, it gives {required}")
    _required(findings, node, declared)
    _ir_lists(findings, node, declared)


def _walk(findings: Findings, node: AirNode, names: Sequence[str], ports: Sequence[Port], side: str) -> None:
    at = 0
    for port in ports:
        if port.kind == "d":
            count = 0
            while at < len(names) and names[at] == f"{port.name}{count}":
                at, count = at + 1, count + 1
            if at < len(names) and names[at].rstrip("0123456789") == port.name and names[at] != port.name:
                findings.error(
                    "dynamic-gap", node.name, f"the {side} {names[at]} follows {count} of {port.name}",
                    f"number them {port.name}0, {port.name}1, ... without a gap",
                )  # fmt: skip
                return
        elif at < len(names) and names[at] == port.name:
            at += 1
        elif port.kind == "r":
            got = names[at] if at < len(names) else "nothing"
            findings.error("port-order", node.name, f"{node.type} has {got} where its {side} {port.name} belongs")
            return
    if at < len(names):
        findings.error("unknown-port", node.name, f"{node.type} has no {side} {names[at]} at this place")


def _required(findings: Findings, node: AirNode, declared: Prototype) -> None:
    """Required inputs are connected; Data and its like are fed by the caller."""
    if node.type in ("Data", "RefData", "Variable"):
        return
    fed = {port for port, source in zip(input_ports(node, declared), node.inputs, strict=False) if source is not None}
    for port in declared.inputs:
        if port.kind == "r" and port.name not in fed:
            findings.error("unconnected", node.name, f"the required input {port.name} of {node.type} is not connected")


def _ir_lists(findings: Findings, node: AirNode, declared: Prototype) -> None:
    """`_ir_*` lists must be the prototype's, or a prefix of them: anything else the compiler refuses."""
    names = node.attrs.get("_ir_attr_names")
    own = list(declared.attributes)
    if isinstance(names, list) and names != own[: len(names)] and names[: len(own)] != own:
        findings.error("ir-attributes", node.name, f"_ir_attr_names {names[:6]} is not a prefix of {own[:6]}",
                       "leave the _ir_ attributes out")  # fmt: skip
    keys = node.attrs.get("_ir_inputs_key")
    ports = [p.name for p in declared.inputs]
    if isinstance(keys, list) and keys != ports[: len(keys)] and keys[: len(ports)] != ports:
        findings.error("ir-inputs", node.name, f"_ir_inputs_key {keys[:6]} is not a prefix of {ports[:6]}",
                       "leave the _ir_ attributes out")  # fmt: skip
