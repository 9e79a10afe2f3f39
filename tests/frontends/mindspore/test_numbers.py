"""Where MindSpore's CPU kernels are wrong, mostly about NaN, our results are right."""

from __future__ import annotations

import numpy as np
import pytest
from mindspore import Tensor

from ge_core.reference.interpret import interpret
from ge_frontend_mindspore.importer import import_model
from tests.frontends.mindspore.agreement import Variant, cell_of

NAN, INF = float("nan"), float("inf")
CASES = [
    ("Softmax", "-1", "x", [[[1.0, NAN, 2.0]]], [[NAN, NAN, NAN]]),
    ("Sign", "", "x", [[NAN, -2.0]], [NAN, -1.0]),
    ("Maximum", "", "x, y", [[NAN, 1.0], [2.0, NAN]], [NAN, NAN]),
    ("Minimum", "", "x, y", [[NAN, 1.0], [2.0, NAN]], [NAN, NAN]),
    ("Div", "", "x, y", [[NAN, 1.0], [0.0, 0.0]], [NAN, INF]),
    ("StridedSlice", "0, 0, 0, 1, 0", "x, (0, 1), (1, 3), (1, 1)", [[[1, 2], [3, 4], [5, 6]]], [[[3, 4], [5, 6]]]),
]


@pytest.mark.parametrize(("op", "init", "call", "inputs", "right"), CASES, ids=[c[0] for c in CASES])
def test_our_results_are_right(op, init, call, inputs, right):
    arrays = tuple(np.array(a, np.float32) for a in inputs)
    cell, given = cell_of([Variant(op, init, call, arrays)])
    imported = import_model(cell, [Tensor(a) for a in given])
    with np.errstate(all="ignore"):
        outputs, _ = interpret(imported.graph, given)
    np.testing.assert_array_equal(outputs[0], np.array(right, np.float32))
