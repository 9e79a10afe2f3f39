"""Calling conventions: arguments by position and by keyword, defaults, constants, and their errors."""

from __future__ import annotations

import json

import pytest

from ge_core.errors import InputError, OfflineModelError
from ge_core.signature import Signature
from ge_core.structure import Fields, Items, Slot


class Tensor:
    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


X, Y, Z = Tensor("X"), Tensor("Y"), Tensor("Z")


def signature(*args: object, parameters: tuple[str, ...] = (), **kwargs: object) -> Signature:
    return Signature.of_call(
        args,
        kwargs,
        {"logits": X, "hidden": (Y, None)},
        is_tensor=lambda value: isinstance(value, Tensor),
        parameters=parameters,
    )


def test_names_come_from_the_place():
    made = signature(X, [Y, 3], mask={"a": Z}, parameters=("ids", "states"))
    assert made.input_names == ("ids", "states_0", "mask_a")
    assert made.output_names == ("output_logits", "output_hidden_0")
    assert signature(X).input_names == ("args_0",)


def test_arguments_come_by_position_or_keyword():
    made = signature(X, Y, mask=Z, parameters=("ids", "states", "mask"))
    for args, kwargs in [
        ((X, Y), {"mask": Z}),
        ((X,), {"mask": Z, "states": Y}),
        ((), {"mask": Z, "states": Y, "ids": X}),
        ((X, Y, Z), {}),
    ]:
        assert made.flatten(args, kwargs) == [X, Y, Z]


def test_what_is_all_constant_may_be_left_out():
    made = signature(X, None, flag=True, parameters=("ids", "mask", "flag"))
    assert made.flatten((X,), {}) == [X]
    assert made.flatten((X, None), {"flag": True, "anything": None}) == [X]
    with pytest.raises(InputError, match="flag was True when the model was compiled; this call gives False"):
        made.flatten((X,), {"flag": False})


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {"mask": Z}, "the argument 'ids' is missing"),
        ((X,), {}, "the argument 'mask' is missing"),
        ((X,), {"mask": Z, "ids": Y}, "'ids' is given twice"),
        ((X, Z), {"mask": Z}, "'mask' is given twice"),
        ((X, Z, Y), {}, "the call gives 3 positional arguments"),
        ((X,), {"mask": Z, "colour": Y}, "'colour' was not given when the model was compiled"),
        ((X,), {"mask": [Z, Y]}, None),
    ],
)
def test_a_call_that_does_not_fit_is_refused(args, kwargs, message):
    made = signature(X, mask=Z, parameters=("ids", "mask"))
    if message is None:  # a slot takes anything; whether it is a tensor is the caller's to check
        assert made.flatten(args, kwargs) == [X, [Z, Y]]
        return
    with pytest.raises(InputError, match=message):
        made.flatten(args, kwargs)


def test_outputs_come_back_in_their_structure():
    assert signature(X).unflatten([1, 2]) == {"logits": 1, "hidden": (2, None)}
    assert Signature.flat(["a"], ["b"]).unflatten([1]) == 1
    assert Signature.flat(["a"], ["b", "c"]).unflatten([1, 2]) == (1, 2)


def test_a_flat_signature_takes_names():
    flat = Signature.flat(["a", "b.1"], ["c"])
    assert flat.flatten((X,), {"b.1": Y}) == [X, Y]


def test_json_keeps_it():
    made = signature(X, [Y, 2.5], mask={"a": Z}, parameters=("ids", "states"))
    assert Signature.from_json(json.loads(json.dumps(made.to_json()))) == made


def test_slots_must_be_the_inputs():
    with pytest.raises(InputError, match="each of the 2 inputs once"):
        Signature(("a", "b"), (), Items("tuple", (Slot(0),)), Fields("dict", (), ()), Items("tuple", ()))
    with pytest.raises(InputError, match="returns an output that is not there"):
        Signature((), ("c",), Items("tuple", ()), Fields("dict", (), ()), Slot(1))


@pytest.mark.parametrize("key", ["input_names", "output_names", "args", "kwargs", "outputs", "parameters"])
@pytest.mark.parametrize("value", [None, 3, ["x", 3], {"slot": 0}, {"slot": 7}, "absent"])
def test_damaged_json_is_refused(key, value):
    data = signature(X, mask=Y, parameters=("ids",)).to_json()
    assert isinstance(data, dict)
    data[key] = value
    if value == "absent":
        del data[key]
    if (key, value) == ("outputs", {"slot": 0}):
        assert Signature.from_json(data).outputs == Slot(0)
        return
    with pytest.raises(OfflineModelError, match="damaged"):
        Signature.from_json(data)


def test_json_that_is_no_table_is_refused():
    with pytest.raises(OfflineModelError):
        Signature.from_json([1])
