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
from tests.frontends.onnx.onnx_backend import TOLERANCE, GeTest, refusal

_PART = 250
_BAR = 1800

# Cases that end in an error of ours behind the importer, with the reason. A repaired one must leave the list.
KNOWN = {
    **dict.fromkeys(
        ("test_affine_grid_2d_expanded", "test_affine_grid_2d_align_corners_expanded",
         "test_affine_grid_3d_align_corners_expanded"),
        "the pass `shapes` needs the rank of a branch's result that has none",
    ),
    **dict.fromkeys(("test_loop13_seq", "test_loop16_seq_none"), "a size of a sequence's element has no definition"),
    **dict.fromkeys(
        ("test_identity_opt", "test_optional_get_element_optional_tensor", "test_optional_has_element_tensor_input",
         "test_optional_get_element_optional_sequence", "test_optional_has_element_optional_input",
         "test_optional_has_element_empty_optional_input"),
        "a call takes no optionals",
    ),
    **dict.fromkeys(("test_sequence_map_extract_shapes", "test_sequence_map_extract_shapes_expanded"),
                    "sizes of a sequence's elements are not bound at a call"),
}  # fmt: skip


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
                [_plain(o) for o in outputs], got, max(case.rtol, TOLERANCE.get(case.name, 0.0)), case.atol
            )
    except (GeError, AssertionError) as error:
        return f"{case.name}: {type(error).__name__}: {str(error)[:200]}"
    return None


def test_node_cases_on_the_reference_target() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = [case for case in load_model_tests(kind="node") if refusal(case.name) is None]
        chosen = cases if os.environ.get("GE_NODE_CASES") == "all" else random.Random(0).sample(cases, _PART)
        failures = {case.name: found for case in chosen if (found := failure(case)) is not None}
    assert not [text for name, text in failures.items() if name not in KNOWN]
    assert not [name for name in (case.name for case in chosen) if name in KNOWN and name not in failures]
    assert len(cases) - len(KNOWN) >= _BAR
