"""The table of operators against torch's schemas."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch
from ge_frontend_torch import recurrent
from ge_frontend_torch.registry import IGNORED, aten, find, operators

NAMES = sorted(operators())


def schema(name: str) -> Any:
    """torch's schema of an operator of the table."""
    recurrent._library()
    namespace, _, rest = name.rpartition("::")
    base, overload = rest.rsplit(".", 1)
    return getattr(getattr(getattr(torch.ops, namespace or "aten"), base), overload)._schema


@pytest.mark.parametrize("name", NAMES)
def test_every_schema_argument_is_taken_or_ignored(name: str) -> None:
    operator = operators()[name]
    for argument in schema(name).arguments:
        taken = "x" if argument.name == "self" else argument.name
        assert taken in operator.parameters | IGNORED | operator.ignores, f"{name} drops {taken}"


@pytest.mark.parametrize("name", NAMES)
def test_every_required_parameter_is_in_the_schema(name: str) -> None:
    function = operators()[name].function
    given = {"x" if a.name == "self" else a.name for a in schema(name).arguments}
    needed = [
        p.name for p in list(inspect.signature(function).parameters.values())[1:] if p.default is p.empty
    ]
    assert set(needed) <= given


@pytest.mark.parametrize("name", NAMES)
def test_docstring_is_the_schema(name: str) -> None:
    text = str(schema(name)).split("::", 1)[1]
    documented = " ".join((operators()[name].function.__doc__ or "").split())
    assert text in documented


def test_in_place_form_is_the_functional_one() -> None:
    assert find("relu_.default") is find("relu.default") is not None
    assert find("add_.Tensor") is find("add.Tensor")
    assert find("__nothing__.default") is None


def test_names_are_checked_when_they_are_registered() -> None:
    with pytest.raises(ValueError, match="no operator name"):
        aten("relu")
    with pytest.raises(ValueError, match="converted twice"):
        aten("relu.default")(lambda c: None)
