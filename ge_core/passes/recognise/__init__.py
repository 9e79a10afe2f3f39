"""Recognition of composites in the open-coded forms in which frameworks hand them over."""

from __future__ import annotations

from ge_core.passes.base import Pass

RECOGNISERS: tuple[Pass, ...] = ()

__all__ = ["RECOGNISERS"]
