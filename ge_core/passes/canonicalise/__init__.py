"""One form for what operators can say in several.

Exact bit for bit, except where a Gemm becomes MatMul and Add (the product may be summed in another order).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ge_core.passes.canonicalise.arithmetic import ARITHMETIC_RULES
from ge_core.passes.canonicalise.attributes import ATTRIBUTE_RULES
from ge_core.passes.canonicalise.casts import CAST_RULES
from ge_core.passes.canonicalise.control import InlineConstantBranches
from ge_core.passes.canonicalise.forms import FORM_RULES
from ge_core.passes.canonicalise.shape_arithmetic import ShapeArithmetic
from ge_core.passes.rewrite import RewritePass, Rule

__all__ = ["Canonicalise", "InlineConstantBranches", "ShapeArithmetic"]


@dataclass(frozen=True)
class Canonicalise(RewritePass):
    """Enters regions."""

    @property
    def rules(self) -> Sequence[Rule]:
        return (*FORM_RULES, *CAST_RULES, *ARITHMETIC_RULES, *ATTRIBUTE_RULES)
