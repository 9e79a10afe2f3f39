"""The table of primitives."""

from __future__ import annotations

import pytest

from ge_frontend_mindspore.registry import find, operators, primitive
from tools.coverage_mindspore import PAGE, WANTED, held, listed


def test_each_function_says_what_it_converts():
    undocumented = [o.name for o in operators().values() if not (o.function.__doc__ or "").strip()]
    assert not undocumented


def test_a_name_is_converted_once():
    with pytest.raises(ValueError, match="Softmax is converted twice: by"):
        primitive("Softmax")(lambda c, x: x)


def test_views_and_writes_are_known():
    assert find("TransposeView").view and find("Assign").writes
    assert find("NoSuchThing") is None


def test_the_page_of_primitives_is_up_to_date():
    wanted = {name: count for name, count in held().items() if count >= WANTED}
    assert listed(PAGE.read_text(encoding="utf-8")) == wanted
