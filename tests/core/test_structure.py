"""Nested structures as data: flat and back, through JSON, and against hostile JSON."""

from __future__ import annotations

import json
import math
import sys
from collections import OrderedDict, namedtuple
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ge_core.errors import InputError, OfflineModelError
from ge_core.structure import Constant, Fields, Items, Slot, describe, flatten, from_json, slots, to_json, unflatten


class Tensor:
    """Stands for any framework's tensor."""


def is_tensor(value: object) -> bool:
    return isinstance(value, Tensor)


@dataclass
class Output:
    logits: object
    loss: object = None


@dataclass
class MappingOutput(OrderedDict):
    """As Hugging Face's outputs: a dataclass and a dict without its None fields."""

    logits: object = None
    cache: object = None

    def __post_init__(self) -> None:
        for name in ("logits", "cache"):
            if getattr(self, name) is not None:
                self[name] = getattr(self, name)


Pair = namedtuple("Pair", ["left", "right"])


def through_json(tree, count):
    return from_json(json.loads(json.dumps(to_json(tree), sort_keys=True)), count)


leaves = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.builds(Tensor))
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=3) | st.integers(), inner, max_size=3),
        st.builds(Output, inner, inner),
        st.builds(Pair, inner, inner),
    ),
    max_leaves=12,
)


def same(a: object, b: object) -> bool:
    if isinstance(a, float):
        return isinstance(b, float) and (a == b or (math.isnan(a) and math.isnan(b)))
    if isinstance(a, Output):
        return isinstance(b, Output) and same(a.logits, b.logits) and same(a.loss, b.loss)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    return type(a) is type(b) and (isinstance(a, Tensor) and a is b or a == b)


@given(values)
def test_flat_and_back_through_json(value):
    tree, tensors = describe(value, is_tensor)
    assert list(slots(tree)) == list(range(len(tensors)))
    assert through_json(tree, len(tensors)) == tree or "nan" in repr(tree)
    assert same(value, unflatten(through_json(tree, len(tensors)), tensors))
    found: dict[int, object] = {}
    flatten(tree, value, "x", found)
    assert [found[index] for index in range(len(tensors))] == tensors


def test_a_dataclass_that_is_a_mapping_leaves_its_none_fields_out():
    tensor = Tensor()
    tree, tensors = describe(MappingOutput(logits=tensor), is_tensor)
    assert tree == Fields("dataclass", ("logits",), (Slot(0),), f"{__name__}:MappingOutput")
    assert tensors == [tensor]
    back = unflatten(tree, tensors)
    assert isinstance(back, MappingOutput | dict) and list(back.items()) == [("logits", tensor)]


def test_a_class_that_is_not_there_becomes_a_dict_and_nothing_is_imported():
    tree = Fields("dataclass", ("logits",), (Slot(0),), "colorsys_not_imported:Output")
    assert unflatten(tree, [1]) == {"logits": 1}
    assert "wave" not in sys.modules
    assert unflatten(Fields("dataclass", ("logits",), (Slot(0),), "wave:Wave_read"), [1]) == {"logits": 1}
    assert "wave" not in sys.modules


def test_only_a_dataclass_with_these_fields_is_built():
    for path in ("os:system", "builtins:dict", "subprocess:Popen", f"{__name__}:Tensor"):
        assert unflatten(Fields("dataclass", ("command",), (Slot(0),), path), ["x"]) == {"command": "x"}
    assert unflatten(Fields("dataclass", ("other",), (Slot(0),), f"{__name__}:Output"), [1]) == {"other": 1}


def test_a_named_tuple_without_its_class_comes_back_as_a_fresh_one():
    back = unflatten(Fields("namedtuple", ("left", "right"), (Slot(0), Slot(1)), "gone.away:Pair"), [1, 2])
    assert back == (1, 2) and back.right == 2 and type(back).__name__ == "Pair"


def test_constants_are_compared_by_type_and_value():
    assert Constant(1).equals(1)
    assert not Constant(1).equals(True)
    assert not Constant(1).equals(1.0)
    assert Constant(math.nan).equals(math.nan)
    assert Constant.of(range(3)).equals(range(3))
    assert not Constant.of(range(3)).equals("range(0, 3)")


@pytest.mark.parametrize(
    ("compiled_with", "called_with", "message"),
    [
        ([Tensor(), 3], [Tensor(), 4], "x\\[1\\] was 3 when the model was compiled; this call gives 4"),
        ([Tensor()], [Tensor(), Tensor()], "x has another structure"),
        ([Tensor()], (Tensor(),), None),
        ({"a": Tensor()}, {"b": Tensor()}, "'a' missing; 'b' not expected"),
        ({"a": Tensor()}, {"a": None}, None),
        ({"a": Tensor(), "b": None}, {"a": Tensor()}, None),
        ({"a": [Tensor()]}, {"a": Tensor()}, "x\\['a'\\] has another structure"),
        ({"a": {"b": True}}, {"a": {"b": 1}}, "x\\['a'\\]\\['b'\\] was True"),
    ],
)
def test_another_structure_is_refused_with_its_place(compiled_with, called_with, message):
    tree, _ = describe(compiled_with, is_tensor)
    if message is None:
        flatten(tree, called_with, "x", {})
        return
    with pytest.raises(InputError, match=message):
        flatten(tree, called_with, "x", {})


def test_odd_keys_and_depth_are_refused():
    with pytest.raises(InputError, match="a dict has the key"):
        describe({(1, 2): Tensor()}, is_tensor)
    deep: object = Tensor()
    for _ in range(100):
        deep = [deep]
    with pytest.raises(InputError, match="deeper than 64"):
        describe(deep, is_tensor)


DEEP = {"slot": 0}
for _ in range(100):
    DEEP = {"list": [DEEP]}


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        {},
        {"slot": 1},
        {"slot": -1},
        {"slot": True},
        {"slot": "0"},
        {"slot": 0, "list": []},
        {"list": 3},
        {"list": [3]},
        {"shape": []},
        {"float": "wide"},
        {"constant": []},
        {"dict": [{"slot": 0}], "names": []},
        {"dict": [{"slot": 0}, {"slot": 0}], "names": ["a", "a"]},
        {"dict": [{"slot": 0}], "names": [None]},
        {"dict": [{"slot": 0}], "names": [True]},
        {"dict": [{"slot": 0}]},
        {"namedtuple": [{"slot": 0}], "names": ["class"], "class": "m:C"},
        {"namedtuple": [{"slot": 0}], "names": ["_x"], "class": "m:C"},
        {"namedtuple": [{"slot": 0}], "names": ["x"], "class": "m:C D"},
        {"dataclass": [{"slot": 0}], "names": ["x"], "class": 3},
        {"dataclass": [{"slot": 0}], "names": ["x"]},
        DEEP,
    ],
)
def test_hostile_json_is_refused(data):
    with pytest.raises(OfflineModelError, match="damaged"):
        from_json(data, 1)


def test_items_and_fields_are_told_apart_in_json():
    tree = Items("tuple", (Items("list", ()), Fields("dict", (1, "1"), (Slot(0), Constant(math.inf)))))
    assert through_json(tree, 1) == tree
