"""The default order of the core passes.

| switch | turns on |
|---|---|
| fold | constant folding, algebraic and shape simplification |
| dce | removal of dead code, merging of equal nodes and constants |
| fusion | batch normalisation and factors into weights, recognition of composites |
| layout | transposes that sink and cancel |

The canonical form is always made, and sizes that must be equal become one: backends rely on it. The switches memory,
reorder and select belong to the passes of planned backends.
"""

from __future__ import annotations

from collections.abc import Collection

from ge_core.collector import paused
from ge_core.ir.graph import Graph
from ge_core.passes.algebraic import Algebraic
from ge_core.passes.base import Pass, PassContext
from ge_core.passes.batchnorm import FoldBatchNorm
from ge_core.passes.canonicalise import Canonicalise, InlineConstantBranches, ShapeArithmetic
from ge_core.passes.cse import CommonSubexpressions
from ge_core.passes.dce import DeadCode
from ge_core.passes.fold import ConstantFolding
from ge_core.passes.infer_types import InferTypes
from ge_core.passes.manager import PassManager
from ge_core.passes.precision import StoreWeightsInBytes, StoreWeightsInHalf
from ge_core.passes.ranks import DecideByRank
from ge_core.passes.recognise import RECOGNISERS
from ge_core.passes.scales import FoldScales
from ge_core.passes.scans import ScanLoops
from ge_core.passes.shapes import Shapes
from ge_core.passes.squeezes import SinkSqueezes
from ge_core.passes.transposes import MergeTransposes, SinkTransposes
from ge_core.passes.unify import UnifySizes


def default_passes(switches: Collection[str], precision: str = "balanced") -> PassManager:
    """The passes from an imported to an optimised graph."""
    fold, dce, fusion, layout = (s in switches for s in ("fold", "dce", "fusion", "layout"))
    simplify: list[Pass] = [ShapeArithmetic(), Canonicalise(), InlineConstantBranches()]
    if fold:
        simplify += [ConstantFolding(), Algebraic(), Shapes(), MergeTransposes()]
    if dce:
        simplify += [CommonSubexpressions(), DeadCode()]
    cleaning = PassManager(tuple(simplify), "simplify", fixpoint=True)
    # before anything is rewritten, since rewriting takes equal sizes for granted; of dead code nothing is required
    passes: list[Pass] = [InferTypes(), *([DeadCode()] if dce else []), UnifySizes(), cleaning]
    # a branch that is decided makes the conditions of others known
    passes += [PassManager((DecideByRank(), cleaning), "decide", fixpoint=True), SinkSqueezes(), UnifySizes()]
    # with sizes that are equal known to be so
    passes += [ScanLoops()]
    if fusion:
        passes += [*RECOGNISERS, FoldBatchNorm(), cleaning]
    if layout:
        passes += [SinkTransposes(), cleaning]
    if fusion:
        # transposes no longer stand between weights and their factors
        passes += [FoldScales(), cleaning]
    if precision == "speed":
        passes += [StoreWeightsInBytes(), StoreWeightsInHalf(), *([DeadCode()] if dce else [])]
    return PassManager(tuple(passes), "optimise")


def optimise(graph: Graph, switches: Collection[str] | None = None, ctx: PassContext | None = None) -> PassContext:
    """Optimise a graph in place; its stage becomes "optimised".

    Args:
        switches: which optimisations, out of `SWITCHES`; those of `ctx`, by default all.
        ctx: options and the report; a new one by default.

    Returns:
        The context, with the report.

    Raises:
        OptionError: an unknown switch.
        PassError: a pass failed.
    """
    if ctx is None:
        ctx = PassContext() if switches is None else PassContext(switches=frozenset(switches))
    elif switches is not None:
        ctx.switches = frozenset(switches)
        ctx.check()
    with paused():
        default_passes(ctx.switches, ctx.precision)(graph, ctx)
    graph.stage = "optimised"
    return ctx
