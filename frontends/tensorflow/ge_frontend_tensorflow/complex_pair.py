"""Complex tensors between their operators.

The graph has no complex numbers. A complex tensor is carried as a real one with a last axis of two, real and
imaginary part, as `view_as_real` gives it; the operators that take or give complex numbers say so when they are
registered, and all others are refused.
"""

from __future__ import annotations

from dataclasses import dataclass

from ge_core.ir.graph import Value


@dataclass(frozen=True)
class ComplexPair:
    """A complex tensor; `parts` has the shape of the tensor and a last axis of 2."""

    parts: Value
