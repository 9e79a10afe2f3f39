"""Phase one of an import: every operator of the model that is not supported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ge_core.errors import ModelImportError
from ge_core.plugins.unsupported import Unsupported

from .attributes import subgraphs
from .frame import Frame, normal_domain
from .functions import Functions
from .registry import DOMAINS, REFUSED, find

OLDEST = 1


def check_opsets(opsets: Mapping[str, int], where: str) -> None:
    """Check the versions of the domains that a model or function imports.

    Raises:
        ModelImportError: a version is newer than what is known here.
    """
    for domain, version in opsets.items():
        newest = DOMAINS.get(domain)
        if newest is not None and not OLDEST <= version <= newest:
            raise ModelImportError(
                f"{where} imports version {version} of {domain or 'ai.onnx'}",
                expected=f"{OLDEST} to {newest}",
                fix="export the model with an older opset" if version > newest else None,
            )


def scan(nodes: Sequence[Any], frame: Frame, functions: Functions) -> list[Unsupported]:
    """One finding for each node that nothing converts, those of subgraphs and functions among them.

    Raises:
        ModelImportError: a node uses a domain of ONNX that the model does not import.
    """
    found = list(_scan(nodes, frame, functions))
    for key, proto in functions.items():
        name = f"{key[0]}::{key[1]}"
        check_opsets(functions.opsets(key), f"the function {name}")
        found.extend(_scan(proto.node, Frame(functions.opsets(key), f"{name}/"), functions))
    return found


def _scan(nodes: Sequence[Any], frame: Frame, functions: Functions) -> Iterator[Unsupported]:
    for node in nodes:
        for graph in subgraphs(node):
            yield from _scan(graph.node, frame, functions)
        if functions.find(node) is not None:
            continue
        domain = normal_domain(node.domain)
        if domain == "" and domain not in frame.opsets:
            raise ModelImportError(
                f"the model uses {node.op_type} and does not say of which version", where=frame.location(node)
            )
        if find(domain, node.op_type, frame.opset(domain)) is None:
            yield Unsupported(_unsupported(domain, node.op_type, frame.opset(domain)), str(frame.location(node)))


def _unsupported(domain: str, op: str, opset: int) -> str:
    name = f"{domain}::{op}" if domain else op
    reason = REFUSED.get((domain, op))
    return f"{name} (version {opset})" if reason is None else f"{name}: {reason}"
