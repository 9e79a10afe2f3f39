"""The table of operators against torch's schemas."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any

import pytest
import torch

from ge_frontend_torch import recurrent
from ge_frontend_torch.registry import argument_names, aten, find, operators


def schema(name: str) -> Any:
    """torch's schema of an operator of the table."""
    recurrent._library()
    namespace, _, rest = name.rpartition("::")
    if namespace == "transformers":
        import_module("transformers.integrations.moe")
    base, overload = rest.rsplit(".", 1)
    return getattr(getattr(getattr(torch.ops, namespace or "aten"), base), overload)._schema


def test_every_schema_argument_is_taken_or_ignored() -> None:
    for name, operator in operators().items():
        argument_names(schema(name), operator)


def test_in_place_forms_fit_the_functional_ones() -> None:
    checked = 0
    for name, operator in operators().items():
        base, overload = name.rsplit(".", 1)
        packet = getattr(torch.ops.aten, f"{base}_", None) if "::" not in name else None
        if packet is not None and overload in packet.overloads():
            argument_names(getattr(packet, overload)._schema, operator)
            checked += 1
    assert checked > 100


def test_every_required_parameter_is_in_the_schema() -> None:
    missing = []
    for name, operator in operators().items():
        given = {"x" if a.name == "self" else a.name for a in schema(name).arguments}
        parameters = list(inspect.signature(operator.function).parameters.values())[1:]
        missing += [(name, p.name) for p in parameters if p.default is p.empty and p.name not in given]
    assert not missing


def test_docstring_is_the_schema() -> None:
    wrong = []
    for name, operator in operators().items():
        documented = " ".join((operator.function.__doc__ or "").split())
        if str(schema(name)).split("::", 1)[1] not in documented:
            wrong.append(name)
    assert not wrong


def test_in_place_form_is_the_functional_one() -> None:
    assert find("relu_.default") is find("relu.default") is not None
    assert find("add_.Tensor") is find("add.Tensor")
    assert find("__nothing__.default") is None


def test_names_are_checked_when_they_are_registered() -> None:
    with pytest.raises(ValueError, match="no operator name"):
        aten("relu")
    with pytest.raises(ValueError, match="converted twice"):
        aten("relu.default")(lambda c: None)
