"""What callers say about the sizes of inputs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ge_core import Dim as ListedDim
from ge_core import InputSpec
from ge_core.errors import InputError
from ge_core.ir import dims
from ge_core.ir.dims import Dim
from ge_core.ir.graph import Graph
from ge_core.plugins.asked_shapes import AskedSizes, asked_shapes, is_dynamic

NAMES = ("x", "y")


class Hint:
    """Prints as torch's Dim.AUTO, Dim.DYNAMIC and Dim.STATIC do."""

    def __init__(self, word: str) -> None:
        self.word = word

    def __str__(self) -> str:
        return f"_DimHintType.{self.word}"


def named(name: str, low: int, high: Any) -> Any:
    return SimpleNamespace(__name__=name, min=low, max=high)


def test_entries_by_name_by_position_and_by_axis() -> None:
    assert asked_shapes(None, NAMES) == {}
    assert asked_shapes({"y": {1: "n"}, "x": None}, NAMES) == {"y": {1: "n"}}
    assert asked_shapes(([None, "n"], {0: 3}), NAMES) == {"x": {0: None, 1: "n"}, "y": {0: 3}}


@pytest.mark.parametrize("entry", [{"z": {0: "n"}}, "n", ({}, {}, {}), {"x": "n"}, {"x": {"0": "n"}}])
def test_entries_of_other_forms_are_refused(entry: object) -> None:
    with pytest.raises(InputError):
        asked_shapes(entry, NAMES)


def test_names_in_specs_count_where_nothing_else_is_said() -> None:
    size = dims.symbol("m", 1, 8)
    examples = {"x": InputSpec(("n", 3, size)), "y": InputSpec((2, None))}
    assert asked_shapes(None, NAMES, examples) == {"x": {0: "n", 2: size}}
    assert asked_shapes({"x": {0: "k", 2: None}}, NAMES, examples) == {"x": {0: "k", 2: size}}


def test_equal_names_are_equal_sizes_with_the_first_bounds() -> None:
    sizes = AskedSizes(Graph("main"))
    first = sizes.of(None, named("n", 2, 9), "here", "x_0")
    assert isinstance(first, Dim) and dims.bounds(first) == (2, 9)
    assert sizes.of(None, "n", "there", "y_0") == first == sizes.said(dims.symbol("n"), "there", "y_0")
    assert dims.bounds(sizes.of(None, named("m", 0, 1 << 62), "here", "x_0")) == (0, None)
    assert str(sizes.of(None, None, "here", "x 0")) == "x_0" != str(sizes.of(None, Hint("DYNAMIC"), "here", "x 0"))
    assert str(sizes.fresh("0")) == "d_0" and str(sizes.fresh("max")) == "d_max" and str(sizes.fresh("?")) == "d"


def test_a_size_that_the_model_fixes_stays() -> None:
    sizes = AskedSizes(Graph("main"))
    for said in (None, True, 3, Hint("AUTO"), Hint("STATIC")):
        assert sizes.of(3, said, "here", "x_0") == 3
    for said in (4, "n", named("n", 0, None), Hint("DYNAMIC")):
        with pytest.raises(InputError, match="here is asked to be .*, and the model fixes it at 3"):
            sizes.of(3, said, "here", "x_0")
    assert sizes.of(None, 4, "here", "x_0") == 4


@pytest.mark.parametrize("said", [-1, 1.5, "not a name", ["n"], dims.symbol("n") * 2])
def test_what_is_no_size_is_refused(said: object) -> None:
    with pytest.raises(InputError, match="here is asked to be"):
        AskedSizes(Graph("main")).of(None, said, "here", "x_0")


def test_what_makes_a_size_dynamic() -> None:
    assert all(is_dynamic(said) for said in ("n", Hint("AUTO"), Hint("DYNAMIC"), named("n", 0, 4)))
    assert not any(is_dynamic(said) for said in (None, 3, True, Hint("STATIC")))


def test_a_dim_with_values_is_its_name() -> None:
    spec = InputSpec((ListedDim("n", (1, 2)), 3))
    assert asked_shapes(None, NAMES, {"x": spec}) == {"x": {0: "n"}}
    sizes = AskedSizes(Graph())
    assert sizes.said(ListedDim("n", (1, 2)), "x", "x") is sizes.said("n", "y", "y")
