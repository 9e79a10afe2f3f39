"""Every operator with values: the same data as docs/coverage_tensorflow.md."""

from __future__ import annotations

import pytest

from ge_frontend_tensorflow.registry import operators

from .agreement import check_variant
from .variants import VARIANTS

# Nodes of optimised graphs, and variables that are made where a file is read: tested in test_files.py.
_ELSEWHERE = {"VarHandleOp", "VariableV2", "_FusedConv2D", "_FusedMatMul"}


@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_values_agree_with_tensorflow(name):
    assert len(VARIANTS[name]) >= 3
    for variant in VARIANTS[name]:
        check_variant(name, variant)


def test_every_operator_is_tried():
    own = {name for name in operators() if not name.startswith("_Tflite")}  # those have tests of their own
    assert sorted(own - VARIANTS.keys() - _ELSEWHERE) == []
