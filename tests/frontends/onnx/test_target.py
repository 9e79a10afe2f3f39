"""ONNX's node cases through the whole of ge: imported, optimised, planned and run on the reference target.

A part of them, drawn with a fixed seed; GE_NODE_CASES=all runs every one.
"""

from __future__ import annotations

import os
import random
import warnings
from typing import Any

import numpy as np
from onnx import TensorProto, numpy_helper
from onnx.backend.test.loader import load_model_tests

import ge_core
from ge_core.errors import GeError
from tests.frontends.onnx.onnx_backend import ABSOLUTE, TOLERANCE, GeTest, refusal

_PART = 250
_BAR = 1800


def _plain(value: Any) -> Any:
    value = numpy_helper.to_array(value) if isinstance(value, TensorProto) else value
    return value if isinstance(value, list) or value is None else np.asarray(value)


def failure(case: Any, target: str = "reference") -> str | None:
    """What goes wrong with a case, None when it passes."""
    try:
        compiled = ge_core.compile(case.model, target=target)
        for inputs, outputs in case.data_sets:
            got = compiled(*map(_plain, inputs))
            got = got if isinstance(got, tuple) else (got,)
            GeTest.assert_similar_outputs(
                [_plain(o) for o in outputs],
                got,
                max(case.rtol, TOLERANCE.get(case.name, 0.0)),
                max(case.atol, ABSOLUTE.get(case.name, 0.0)),
            )
    except (GeError, AssertionError) as error:
        return f"{case.name}: {type(error).__name__}: {str(error)[:200]}"
    return None


def test_node_cases_on_the_reference_target() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = [case for case in load_model_tests(kind="node") if refusal(case.name) is None]
        chosen = cases if os.environ.get("GE_NODE_CASES") == "all" else random.Random(0).sample(cases, _PART)
        failures = [found for case in chosen if (found := failure(case)) is not None]
    assert not failures
    assert len(cases) >= _BAR
