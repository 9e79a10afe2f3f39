"""From graphs of the IR to CANN operators: one decorated function per operator, by family."""

from ge_ascend.lower.engine import Lowered, Lowering, lower
from ge_ascend.lower.registry import LOWERINGS, lowering, lowering_of

__all__ = ["LOWERINGS", "Lowered", "Lowering", "lower", "lowering", "lowering_of"]
