"""Everything that is not supported in a model, as one error."""

from __future__ import annotations

from collections.abc import Sequence

from ge_core.errors import UnsupportedError
from ge_core.plugins.unsupported import Unsupported, unsupported_error


def report(found: Sequence[Unsupported], model: str) -> UnsupportedError:
    """One error that names every operator or form with its count and its places."""
    return unsupported_error(found, model, "ONNX", "ge_frontend_onnx.registry.converts")
