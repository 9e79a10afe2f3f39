"""The table of conversions: only operators that exist, each with its schema in words, each version in order."""

from __future__ import annotations

from pathlib import Path

import onnx.defs
import pytest
from onnx.backend.test.loader import load_model_tests
from onnxruntime.capi import onnxruntime_pybind11_state as onnx_runtime

from ge_core.ops.schema import OPSET, onnx_names
from ge_frontend_onnx.call import Call
from ge_frontend_onnx.registry import DOMAINS, REFUSED, before, changes, converted, converts, direct, find


def _known() -> set[tuple[str, str]]:
    """Operators of ONNX and of ONNX Runtime, by domain and name."""
    schemas = onnx.defs.get_all_schemas_with_history()
    theirs = onnx_runtime.get_all_operator_schema()
    return {(s.domain, s.name) for s in schemas} | {(s.domain, s.name) for s in theirs}


def test_only_operators_that_exist_are_converted() -> None:
    unknown = set(converted()) - _known() - {("com.microsoft", "SimplifiedLayerNormalization")}
    assert not unknown
    assert not set(REFUSED) - _known()


def test_every_operator_of_the_newest_opset_is_converted_or_refused() -> None:
    for op in onnx_names():
        assert (find("", op, OPSET) is None) == (("", op) in REFUSED), op


def test_every_conversion_says_the_operators_schema() -> None:
    for domain, op in converted():
        function = find(domain, op, DOMAINS[domain])
        assert function is not None and function.__doc__ and "(" in function.__doc__, op


def test_the_nearest_change_above_the_models_opset_counts() -> None:
    assert changes("Resize") == (11, 13, 18)
    forms = [find("", "Resize", opset) for opset in (10, 12, 17, 18)]
    assert len(set(forms)) == 4 and forms[-1] is direct


def test_an_operator_is_converted_once() -> None:
    def other(c: Call) -> list[None]:
        return []

    with pytest.raises(ValueError, match="FusedConv is converted twice"):
        converts("FusedConv", domain="com.microsoft")(other)
    with pytest.raises(ValueError, match="Clip before 11 is converted twice"):
        before(11, "Clip")(other)


def test_unknown_operators_are_not_found() -> None:
    assert find("own", "Relu", 1) is None
    assert find("com.microsoft", "Relu", 1) is None
    assert find("", "Wobble", OPSET) is None


def test_every_conversion_of_another_domain_is_tested() -> None:
    """By a test that names the operator, or by ONNX's own cases."""
    texts = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_m*.py"))
    cases = {node.op_type for case in load_model_tests(kind="node") for node in case.model.graph.node if node.domain}
    missing = [op for domain, op in converted() if domain and f'"{op}"' not in texts and op not in cases]
    assert missing == []
