"""The table of conversions."""

from __future__ import annotations

import pytest

from ge_frontend_tensorflow.operator_table import described
from ge_frontend_tensorflow.registry import find, operators, tf_op


def test_each_docstring_is_the_signature():
    for name, operator in operators().items():
        known = described(name)
        assert known is not None, name
        assert f"{name}(" in (operator.function.__doc__ or ""), name


def test_a_name_is_taken_once_and_well_formed():
    with pytest.raises(ValueError, match="AddV2 is converted twice"):
        tf_op("AddV2")(lambda c, x, y: x)
    with pytest.raises(ValueError, match="is no operator name"):
        tf_op("add v2")


def test_unknown_operators_are_not_found():
    assert find("NoSuchOperator") is None and described("NoSuchOperator") is None
