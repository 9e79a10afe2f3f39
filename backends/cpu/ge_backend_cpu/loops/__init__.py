"""Loop nests: everything that is no dense contraction, fused, for any shape, element type and layout."""

from ge_backend_cpu.loops.generate import emit_loops

__all__ = ["emit_loops"]
