"""Operators that no certain CANN operators stand for, with the reason and what to do instead."""

from __future__ import annotations

from ge_ascend.lower.call import LowerCall
from ge_ascend.lower.registry import lowering
from ge_ascend.net import Out

_NUMBERS = "its numbers are left open, so that no target could agree with another", "use ge.Random with a seed"
_SEQUENCE = "sequences live on the host", "return the tensors one by one, or stack them"

REASONS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(
        ("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli",
         "Multinomial"), _NUMBERS,
    ),
    **dict.fromkeys(
        ("SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength",
         "SequenceMap", "SplitToSequence", "ConcatFromSequence"), _SEQUENCE,
    ),
    "ge.Lgamma": ("CANN has no logarithm of the gamma function", "compute it before the model"),
    "ge.Digamma": ("CANN has no digamma function", "compute it before the model"),
}  # fmt: skip


@lowering(*REASONS)
def refused(c: LowerCall) -> list[Out]:
    reason, fix = REASONS[c.node.op]
    raise c.refuse(reason, fix)
