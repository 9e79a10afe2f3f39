"""Everything that is not supported in a model, as one error."""

from __future__ import annotations

from collections.abc import Sequence

from ge_core.errors import UnsupportedError
from ge_core.plugins.unsupported import Unsupported, unsupported_error


def report(found: Sequence[Unsupported], model: str) -> UnsupportedError:
    """One error that names every operator or form with its count and its places."""
    return unsupported_error(found, model, "ONNX", "ge_frontend_onnx.registry.converts")


def unsayable(found: Sequence[Unsupported], graph: str, opset: int) -> UnsupportedError:
    """One error that names everything of a graph that an opset has no form for."""
    details = report(found, graph).details
    return UnsupportedError(
        f"the graph {graph} cannot be written for opset {opset}",
        details=details,
        fix="ask for a newer opset, which has more operators and element types, or replace what is named",
    )
