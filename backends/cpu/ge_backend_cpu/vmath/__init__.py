"""Vector mathematics: every primitive of the pointwise rows, for any element type and width, without a library."""

from ge_backend_cpu.vmath.casts import bit_cast, cast, rounded
from ge_backend_cpu.vmath.primitives import TESTS, Primitives, kit

__all__ = ["TESTS", "Primitives", "bit_cast", "cast", "kit", "rounded"]
