"""A target that only plans: it fuses what a native target with common fused kernels fuses, and computes nothing.

A contraction, attention, norm or pooling takes what follows it element by element into its epilogue, a residual
included, and may write over an operand that the epilogue reads at the place it writes. A reshape or a transpose behind
a kernel is another way of writing its result. So the memory plans of large models can be measured on any machine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ge_core.backend import Artifact, Group, Implementation, Options, Problem, Refusal, TargetInfo, operands
from ge_core.errors import BackendError
from ge_core.ir import dims
from ge_core.ir.dtype import DTYPES
from ge_core.ir.graph import Graph, Node, Value, source_of
from ge_core.ir.types import TensorType
from ge_core.ops.pointwise import POINTWISE
from ge_core.plan.lifetimes import CONTROL

NAME = "fusing"
ELEMENTWISE = frozenset(POINTWISE) | {"BatchNormalization", "Cast", "SwiGLU"}
CONTRACTIONS = frozenset({"MatMul", "MatMulInteger", "Gemm", "Conv", "ConvInteger", "ConvTranspose", "Attention"})
NORMS = frozenset({"LayerNormalization", "RMSNormalization", "GroupNormalization", "InstanceNormalization", "Softmax"})
POOLS = frozenset({"MaxPool", "AveragePool", "GlobalAveragePool", "ReduceMean", "ReduceSum", "Resize"})
KERNELS = CONTRACTIONS | NORMS | POOLS | {"BatchNormalization", "Gather"}
"""Operators that take what follows them into their epilogue."""
INDEX_MAPS = frozenset({"Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten"})
"""What a kernel does by writing its result elsewhere."""
OVER_THEIR_INPUT = frozenset({"RotaryEmbedding", "Softmax"})
"""Kernels that read all of a row before they write it."""


class FusingTarget:
    """Plans without kernels."""

    kind: Literal["planned"] = "planned"

    def targets(self) -> Sequence[TargetInfo]:
        return [TargetInfo(name=NAME, description="plans only", dtypes=frozenset(DTYPES))]

    def check(self, graph: Graph, target: str, options: Options) -> list[Problem]:
        return []

    def passes(self, target: str, options: Options) -> Sequence[Any]:
        return []

    def may_join(self, group: Group, node: Node) -> bool | Refusal:
        last = group.nodes[-1]
        if group.nodes[0].op not in KERNELS | ELEMENTWISE:
            return Refusal("no-epilogue", f"{group.nodes[0].op} has no epilogue")
        if len(last.outputs) != 1 or last.output.use_count != 1 or last.output not in node.inputs:
            return Refusal("read-elsewhere", "something else reads the result before")
        if node.op in INDEX_MAPS:
            return True
        if node.op not in ELEMENTWISE:
            return Refusal("not-pointwise", f"{node.op} does not work element by element")
        if node.output.tensor.shape != last.output.tensor.shape:
            return Refusal("other-shape", "the results have different shapes")
        return True

    def implementations(self, node: Node, target: str, options: Options) -> Sequence[Implementation]:
        if node.op in CONTROL:
            return ()
        return [Implementation(name=node.op, in_place=tuple(_in_place(node)))]

    def build(self, entries: Mapping[str, Any], target: str, options: Options) -> Artifact:
        raise BackendError("the fusing target only plans")

    def load(self, artifact: Artifact, options: Options) -> Any:
        raise BackendError("the fusing target only plans")


def _in_place(node: Node) -> list[tuple[int, int]]:
    """Operands that the node reads element by element where it writes its only result."""
    if len(node.outputs) != 1:
        return []
    if node.op in OVER_THEIR_INPUT:
        return [(0, 0)]
    found = []
    for i, operand in enumerate(operands(node)):
        if operand is None or source_of(operand).constant is not None or not _same_form(operand, node.output):
            continue
        if node.op == "ge.Fused":
            inside = node.regions["body"].params[i] if i < len(node.inputs) else None
            moved = any(n.op == "Transpose" for n in node.regions["body"].nodes)
            allowed = inside is not None and not moved and all(_is_elementwise(use.user) for use in inside.uses)
        else:
            allowed = node.op in ELEMENTWISE
        if allowed:
            found.append((i, 0))
    return found


def _is_elementwise(user: object) -> bool:
    return isinstance(user, Node) and user.op in ELEMENTWISE


def _same_form(a: Value, b: Value) -> bool:
    """Whether two values have equally many elements of one size, in shapes that need no broadcast."""
    if not isinstance(a.type, TensorType) or not isinstance(b.type, TensorType):
        return False
    if a.type.shape is None or b.type.shape is None or a.type.dtype.bits != b.type.dtype.bits:
        return False
    return dims.equal(a.type.elements, b.type.elements) is True
