"""The core passes: canonical forms, folding, simplification, recognition, and the manager that runs them."""

from ge_core.passes.base import ALL_SWITCHES, SWITCHES, Limits, Pass, PassContext
from ge_core.passes.manager import PassManager
from ge_core.passes.pipeline import optimise
from ge_core.passes.report import PassReport

__all__ = ["ALL_SWITCHES", "SWITCHES", "Limits", "Pass", "PassContext", "PassManager", "PassReport", "optimise"]
