"""Every operator with values: the same data as docs/coverage_tensorflow.md."""

from __future__ import annotations

import pytest

from ge_frontend_tensorflow.registry import operators

from .agreement import check_variant
from .variants import VARIANTS

# Operators that stand for others' tests, or that no graph of today's TensorFlow can hold: nodes of optimised graphs,
# resources that are made where a file is read.
_ELSEWHERE = {
    "Copy", "CopyHost", "HostConst", "VarHandleOp", "VariableV2", "Variable", "IsVariableInitialized", "_FusedConv2D",
    "_FusedMatMul", "DisableCopyOnRead", "FakeParam", "ResourceCountUpTo", "QuantizeAndDequantize", "DeviceIndex",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_values_agree_with_tensorflow(name):
    assert len(VARIANTS[name]) >= 3
    for variant in VARIANTS[name]:
        check_variant(name, variant)


def test_every_operator_is_tried():
    assert sorted(operators().keys() - VARIANTS.keys() - _ELSEWHERE) == []
