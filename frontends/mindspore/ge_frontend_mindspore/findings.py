"""What cannot be converted, in one error for the whole model."""

from __future__ import annotations

from collections.abc import Sequence

from ge_core.errors import UnsupportedError
from ge_core.ir.location import Location
from ge_core.plugins.unsupported import Unsupported, unsupported_error


def place(loc: Location) -> str:
    """`in layers.3`."""
    return f"in {loc.module or 'the model'}"


def report(found: Sequence[Unsupported], model: str) -> UnsupportedError:
    """One error that names every primitive or form with its count and its places."""
    return unsupported_error(found, model, "MindSpore", "ge_frontend_mindspore.registry.primitive")
