"""ATC's precision modes: which operators run in which type.

| mode | float32 operators |
|---|---|
| must_keep_origin_dtype, origin | stay; a chip whose cube unit takes no float32 refuses products |
| force_fp16, fp16 | float16 |
| force_fp32, cube_fp16in_fp32out | products read float16 and give float32, all others stay |
| allow_fp32_to_fp16 | products in float16, all others stay |
| allow_mix_precision, allow_mix_precision_fp16, mixed_float16 | by the kernels' precision_reduce flag: true float16, |
| | false float32, unset as the operand |
| allow_fp32_to_bf16, allow_mix_precision_bf16, mixed_bfloat16 | the same with bfloat16 |

The dtypes are chosen here and stand in the file, so that ATC is run with must_keep_origin_dtype.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from ge_ascend.chips import Chip
from ge_ascend.prototypes import prototype
from ge_core.errors import OptionError
from ge_core.ir.dtype import DType, bfloat16, float16, float32
from ge_core.ir.graph import Node

Rule = Literal["keep", "force", "cube", "allow", "mixed"]

MODES: dict[str, tuple[Rule, DType | None]] = {
    "must_keep_origin_dtype": ("keep", None), "origin": ("keep", None),
    "force_fp16": ("force", float16), "fp16": ("force", float16),
    "force_fp32": ("cube", float16), "cube_fp16in_fp32out": ("cube", float16),
    "allow_fp32_to_fp16": ("allow", float16), "allow_fp32_to_bf16": ("allow", bfloat16),
    "allow_mix_precision": ("mixed", float16), "allow_mix_precision_fp16": ("mixed", float16),
    "mixed_float16": ("mixed", float16),
    "allow_mix_precision_bf16": ("mixed", bfloat16), "mixed_bfloat16": ("mixed", bfloat16),
}  # fmt: skip

CUBE = frozenset({"Conv", "ConvTranspose", "MatMul", "Gemm", "Attention", "DeformConv", "LSTM", "GRU", "RNN"})
"""Operators of the IR that run on the cube unit."""

_KERNEL = {
    "Softmax": "SoftmaxV2", "LogSoftmax": "LogSoftmaxV2", "LayerNormalization": "LayerNormV4", "Div": "RealDiv",
    "RMSNormalization": "RmsNorm", "GroupNormalization": "GroupNormV2", "BatchNormalization": "BNInfer",
    "InstanceNormalization": "InstanceNorm", "ge.Rsqrt": "Rsqrt", "CumSum": "Cumsum", "Gelu": "Gelu",
    "ReduceL2": "LpNormV2", "ReduceL1": "LpNormV2", "ge.Expm1": "Expm1", "ge.Log1p": "Log1p", "Where": "SelectV2",
    "Max": "Maximum", "Min": "Minimum", "Clip": "ClipByValue", "Concat": "ConcatV2", "Slice": "StridedSlice",
    "Gather": "GatherV2", "Expand": "BroadcastTo", "Pad": "PadV3",
}  # fmt: skip
"""The kernel whose flag decides for an operator of the IR that has another name."""


@dataclass(frozen=True)
class Policy:
    """A precision mode on a chip."""

    mode: str
    rule: Rule
    low: DType | None

    def operand(self, node: Node, low_neighbour: bool) -> DType:
        """The type in which a node takes its float32 operands.

        Args:
            low_neighbour: whether an operand that is no constant is in the lower type already.
        """
        if self.low is None or self.rule == "keep":
            return float32
        if self.rule == "force":
            return self.low
        if node.op in CUBE:
            return self.low
        if self.rule in ("cube", "allow"):
            return float32
        found = prototype(_KERNEL.get(node.op, node.op))
        reduce = None if found is None else found.reduce
        if reduce is None:
            return self.low if low_neighbour else float32
        return self.low if reduce else float32

    @property
    def wide_products(self) -> bool:
        """Whether products of half-precision operands give float32."""
        return self.rule == "cube"

    @property
    def border(self) -> DType:
        """The type of float32 values that enter and leave regions."""
        return self.low if self.rule == "force" and self.low is not None else float32


def policy_of(mode: str | None, chip: Chip) -> Policy:
    """The policy of a mode; by default float16 where the cube unit takes no float32, else nothing is changed.

    Raises:
        OptionError: no such mode, or the chip lacks its type.
    """
    name = mode or ("must_keep_origin_dtype" if chip.float32_cube else "force_fp16")
    if name in ("mixed_hif8", "cube_hif8"):
        raise OptionError(f"precision_mode={name!r} needs hifloat8, which {chip.name} has not", expected=_known(chip))
    if name not in MODES:
        near = get_close_matches(name, MODES, n=1)
        raise OptionError(
            f"precision_mode={name!r}", expected=_known(chip), fix=f"did you mean {near[0]!r}?" if near else None
        )
    rule, low = MODES[name]
    if low == bfloat16 and not chip.bfloat16:
        raise OptionError(
            f"precision_mode={name!r} needs bfloat16, which {chip.name} has not",
            expected=_known(chip),
            fix=f"precision_mode={name.replace('bf16', 'fp16').replace('bfloat16', 'float16')!r}",
        )
    return Policy(name, rule, low)


def _known(chip: Chip) -> str:
    return ", ".join(name for name, (_, low) in MODES.items() if chip.bfloat16 or low != bfloat16)
