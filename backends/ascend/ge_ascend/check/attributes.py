"""Attributes: required ones are there, each stands in the field of its type, lists say what they hold."""

from __future__ import annotations

from ge_ascend.air.model import AirNode
from ge_ascend.check.findings import Findings
from ge_ascend.prototypes import Prototype

FIELD = {
    "Int": "i", "Float": "f", "Bool": "b", "String": "s", "Type": "dt", "ListInt": "list.i", "ListFloat": "list.f",
    "ListBool": "list.b", "ListString": "list.s", "ListType": "list.dt", "ListListInt": "list_list_int",
    "Tensor": "t", "int": "i",
}  # fmt: skip
"""The AttrDef field that an attribute of each type is stored in."""


def check_attributes(findings: Findings, node: AirNode, declared: Prototype) -> None:
    """The attributes of one node."""
    for name, what in node.broken.items():
        findings.error("attribute", node.name, f"the attribute {name} is {what}")
    for spec in declared.attributes.values():
        if spec.name not in node.kinds:
            if spec.required and spec.name not in node.broken:
                findings.error("missing-attribute", node.name, f"{node.type} needs the attribute {spec.name}")
            continue
        wanted, got = FIELD.get(spec.type), node.kinds[spec.name]
        if wanted is None or got == wanted or (got == "list" and wanted.startswith("list")):
            continue
        findings.error(
            "attribute-field", node.name,
            f"the attribute {spec.name} stands in the field {got}, as {spec.type} it belongs in {wanted}",
        )  # fmt: skip
    if declared.kernel_only:
        return
    for name in node.attrs:
        if name not in declared.attributes and not name.startswith("_") and name not in _COMMON:
            findings.warning("unknown-attribute", node.name, f"{node.type} has no attribute {name}")


_COMMON = frozenset({"index", "value", "location", "offset", "length", "OpName", "allowzero"})
"""Attributes that GE's own parsers put beside the declared ones."""
