"""The chips: what a lowering must know of each."""

from __future__ import annotations

from dataclasses import dataclass

from ge_core.ir.dtype import DType


@dataclass(frozen=True)
class Chip:
    """One target.

    Attributes:
        name: the target's name.
        soc: what ATC calls it, by default.
        family: the word that open operator definitions use.
        bfloat16: whether its kernels take bfloat16.
        float32_cube: whether its cube unit takes float32.
        kernels: whether the list of 910B kernels describes it.
    """

    name: str
    soc: str
    family: str
    bfloat16: bool
    float32_cube: bool
    kernels: bool

    def takes(self, dtype: DType) -> bool:
        """Whether any kernel of the chip takes an element type."""
        return self.bfloat16 or dtype.name != "bfloat16"


CHIPS: dict[str, Chip] = {
    chip.name: chip
    for chip in (
        Chip("ascend910a", "Ascend910A", "ascend910", False, False, False),
        Chip("ascend910b", "Ascend910B3", "ascend910b", True, True, True),
        Chip("ascend910_93", "Ascend910_9391", "ascend910_93", True, True, True),
        Chip("ascend310p", "Ascend310P3", "ascend310p", False, False, False),
    )
}
