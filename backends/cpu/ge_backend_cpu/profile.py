"""What a profiled step did: operations, bytes, and how near it came to what the machine can do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from ge_backend_cpu.table import NativeStep
from ge_core.backend import operands
from ge_core.ir import dims
from ge_core.ir.graph import Node, Value
from ge_core.ir.types import TensorType
from ge_core.plan.plan import CopyStep, ExecutionPlan
from ge_core.plan.profile import StepTime, step_time

if TYPE_CHECKING:
    from ge_backend_cpu.figures import Machine

Env = Mapping[str, int]


@dataclass(frozen=True)
class KernelTime(StepTime):
    """One native step of a call.

    Attributes:
        flops: multiplications, additions and other operations on elements.
        bytes: of operands and results.
        threads: that worked on it.
        share: of the time that the machine's best would take: its multiply-adds or its memory, whichever is slower.
    """

    flops: int = 0
    bytes: int = 0
    threads: int = 1
    share: float = 0.0

    @property
    def gflops(self) -> float:
        """Billions of operations per second."""
        return self.flops / self.seconds / 1e9 if self.seconds else 0.0

    @property
    def gigabytes(self) -> float:
        """Billions of bytes per second."""
        return self.bytes / self.seconds / 1e9 if self.seconds else 0.0


def kernel_time(plan: ExecutionPlan, step: NativeStep, seconds: float, threads: int, env: Env) -> KernelTime:
    """What is told of a native step that took so long."""
    told = step_time(plan, step, seconds)
    if isinstance(step, CopyStep):
        nbytes = sum(_bytes(plan.values[v].type, env) for v in (step.source, step.target))
        flops = 0
    else:
        node = plan.node(step.node)
        nbytes = sum(_bytes(v.type, env) for v in (*operands(node), *node.outputs) if v is not None)
        flops = flops_of(node, env)
    from ge_backend_cpu.probe import machine

    best = _least_seconds(machine(), flops, nbytes, threads)
    return KernelTime(
        told.name, told.kind, told.operator, seconds, told.loc,
        flops, nbytes, threads, best / seconds if seconds else 0.0,
    )  # fmt: skip


def _least_seconds(best: Machine, flops: int, nbytes: int, threads: int) -> float:
    """What the machine would need for so many operations and bytes; memory does not get faster by threads."""
    return max(flops / best.flops / threads, nbytes / (best.near * threads if nbytes < 1 << 20 else best.far))


def flops_of(node: Node, env: Env) -> int:
    """Operations of a node: those of its parts, two for each multiply-add of a contraction, else one per element."""
    if node.op == "ge.Fused":
        return sum(flops_of(inner, env) for inner in node.regions["body"].nodes)
    count = _CONTRACTIONS.get(node.op)
    if count is not None:
        return count(node, env)
    return sum(prod(_shape(v, env)) for v in node.outputs if isinstance(v.type, TensorType))


def _shape(value: Value | None, env: Env) -> tuple[int, ...]:
    """A value's shape, 1 for sizes that only the run knows."""
    if value is None or not isinstance(value.type, TensorType) or value.type.shape is None:
        return ()
    return tuple(dims.evaluate(d, {**{s.name: 1 for s in dims.symbols(d)}, **env}) for d in value.type.shape)


def _bytes(type: object, env: Env) -> int:
    if not isinstance(type, TensorType) or type.shape is None:
        return 0
    return type.dtype.nbytes(
        prod(dims.evaluate(d, {**{s.name: 1 for s in dims.symbols(d)}, **env}) for d in type.shape)
    )


def _convolution(node: Node, env: Env) -> int:
    """Each output element: the channels of its group times the window."""
    return 2 * prod(_shape(node.outputs[0], env)) * prod(_shape(node.input(_weight(node)), env)[1:])


def _weight(node: Node) -> int:
    return 3 if node.op == "QLinearConv" else 1


def _transposed(node: Node, env: Env) -> int:
    """Each input element meets all weights of its channel."""
    return 2 * prod(_shape(node.input(0), env)) * prod(_shape(node.input(1), env)[1:])


def _product(node: Node, env: Env) -> int:
    a = _shape(node.input(0), env)
    depth = a[0] if node.attrs.get("transA") else a[-1] if a else 1
    return 2 * prod(_shape(node.outputs[0], env)) * depth


def _attention(node: Node, env: Env) -> int:
    """Scores and their product with the values."""
    queries, keys = _shape(node.input(0), env), _shape(node.input(1), env)
    return 4 * prod(queries) * keys[-2]


def _recurrent(node: Node, env: Env) -> int:
    """Input and recurrent weights, for each step and row of the batch."""
    steps, batch = _shape(node.input(0), env)[:2]
    return 2 * steps * batch * sum(prod(_shape(node.input(i), env)) for i in (1, 2))


_CONTRACTIONS: dict[str, Callable[[Node, Env], int]] = {
    **dict.fromkeys(("Conv", "ConvInteger", "QLinearConv"), _convolution),
    "ConvTranspose": _transposed,
    **dict.fromkeys(("MatMul", "Gemm", "MatMulInteger"), _product),
    "Attention": _attention,
    **dict.fromkeys(("LSTM", "GRU", "RNN", "ge.LSTM"), _recurrent),
}
