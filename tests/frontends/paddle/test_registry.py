"""The table of operators against Paddle's own definitions of them."""

from __future__ import annotations

import inspect

import pytest

from ge_frontend_paddle.program import writes
from ge_frontend_paddle.registry import conversions, find, pd


def test_a_conversion_documents_each_of_its_operators() -> None:
    wrong = []
    for name, conversion in conversions().items():
        documented = " ".join((conversion.function.__doc__ or "").split())
        if not name.startswith("legacy_") and f"{name}(" not in documented.replace("_(", "("):
            wrong.append(name)
    assert not wrong


def test_a_conversion_takes_what_its_documentation_names() -> None:
    for name, conversion in conversions().items():
        documented = " ".join((conversion.function.__doc__ or "").split())
        parameters = list(inspect.signature(conversion.function).parameters.values())[1:]
        missing = [
            p.name for p in parameters
            if p.kind is p.KEYWORD_ONLY and p.default is p.empty and p.name.rstrip("_") not in documented
        ]  # fmt: skip
        assert name.startswith("legacy_") or not missing, (name, missing)


def test_an_in_place_form_is_the_functional_one() -> None:
    assert find("relu_") is find("relu") is not None
    assert find("no_such_operator_") is None


def test_what_an_operator_writes_in_place() -> None:
    assert writes("relu_") == {0: 0}
    assert writes("assign_out_") == {0: 1}
    assert writes("batch_norm_") == {} == writes("relu") == writes("cf.yield")


def test_names_are_checked_when_they_are_registered() -> None:
    with pytest.raises(ValueError, match="no operator name"):
        pd("pd_op.relu")
    with pytest.raises(ValueError, match="converted twice"):
        pd("relu")(lambda c: None)
