"""Sizes that take listed values only: a batch of 1, 2, 4 or 8.

`Dim("batch", values=(1, 2, 4, 8))` is a name for `dynamic_shapes` and `InputSpec` that carries its values. They become
the core option `dims`, by which every target refuses calls with other sizes, and gears for the targets that plan or
compile for listed sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ge_core.errors import InputError, OptionError
from ge_core.input_spec import InputSpec
from ge_core.ir.types import Type
from ge_core.plan.bind import bindings

Listed = Mapping[str, tuple[int, ...]]
"""Values by name, ascending."""


class Dim(str):
    """The name of a size, with the values that it may take.

    Args:
        name: letters, digits and underscores.
        values: whole numbers of at least 1.

    Raises:
        InputError: no name, or no such values.
    """

    values: tuple[int, ...]

    def __new__(cls, name: str, values: Iterable[int]) -> Dim:
        if not name.isidentifier():
            raise InputError(f"{name!r} is no name of a size", expected="letters, digits and underscores")
        made = super().__new__(cls, name)
        made.values = read_values(name, values)
        return made

    def __repr__(self) -> str:
        return f"Dim({str(self)!r}, values={self.values})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Dim, (str(self), self.values)


def read_values(name: str, given: object) -> tuple[int, ...]:
    """The values of a size, ascending and each once.

    Raises:
        InputError: something else than whole numbers of at least 1.
    """
    found = list(given) if isinstance(given, Iterable) and not isinstance(given, (str, bytes)) else []
    if not found or not all(isinstance(n, int) and not isinstance(n, bool) and n >= 1 for n in found):
        raise InputError(f"the values of the size {name} are {given!r}", expected="whole numbers of at least 1")
    return tuple(sorted(set(found)))


def listed_in(*said: object) -> dict[str, tuple[int, ...]]:
    """The values that the `Dim`s in dynamic shapes and in specs among examples carry.

    Raises:
        InputError: two `Dim`s of one name have different values.
    """
    found: dict[str, tuple[int, ...]] = {}
    for one in said:
        for dim in _dims(one):
            if found.setdefault(str(dim), dim.values) != dim.values:
                raise InputError(f"the size {dim!s} has the values {list(found[dim])} and {list(dim.values)}",
                                 expected="one list for each name")  # fmt: skip
    return found


def _dims(said: object) -> Iterable[Dim]:
    if isinstance(said, Dim):
        yield said
    elif isinstance(said, InputSpec):
        yield from _dims(said.shape)
    elif isinstance(said, Mapping):
        for item in said.values():
            yield from _dims(item)
    elif isinstance(said, (list, tuple)):
        for item in said:
            yield from _dims(item)


def with_listed(options: Mapping[str, Any], found: Iterable[Listed]) -> Mapping[str, Any]:
    """Options with the values of `Dim`s in `dims`, and those of `dims` as gears.

    Raises:
        OptionError: `dims` is no table of names and values, or `gears` or another `Dim` says otherwise.
    """
    dims: dict[str, tuple[int, ...]] = {}
    for table in (read_dims(options.get("dims")), *found):
        for name, values in table.items():
            if dims.setdefault(name, values) != values:
                raise OptionError(
                    f"the size {name} has the values {list(dims[name])} and {list(values)}", expected="one list"
                )
    if not dims:
        return options
    gears = options.get("gears")
    if gears is None:
        gears = {}
    if not isinstance(gears, Mapping):
        return options  # who reads the gears tells what is wrong
    for name in gears.keys() & dims.keys():
        if read_dims({name: gears[name]})[name] != dims[name]:
            raise OptionError(
                f"the gears of {name} are {gears[name]!r}, its values {list(dims[name])}",
                fix=f"leave {name} out of gears: a size with listed values has a gear for each",
            )
    listed = {name: list(values) for name, values in sorted(dims.items())}
    return {**options, "dims": listed, "gears": {**gears, **listed}}


def read_dims(given: object) -> dict[str, tuple[int, ...]]:
    """The option `dims`.

    Raises:
        OptionError: no table of names and values.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise OptionError(f"dims={given!r}", expected="a table of names and values, such as {'batch': [1, 8]}")
    try:
        return {str(name): read_values(str(name), values) for name, values in given.items()}
    except InputError as error:
        raise OptionError(error.what, expected=error.expected) from error


class ListedSizes:
    """Which sizes of an entry's inputs have listed values.

    Args:
        names, types: of the inputs.
    """

    def __init__(self, names: Sequence[str], types: Sequence[Type], listed: Listed) -> None:
        self._names = names
        bound, _ = bindings([_Input(name, type) for name, type in zip(names, types, strict=True)])
        self._rules = [(b, frozenset(listed[b.symbol.name])) for b in bound if b.symbol.name in listed]

    def __bool__(self) -> bool:
        return bool(self._rules)

    def check(self, arrays: Sequence[Any]) -> None:
        """Refuse a size that has none of its values.

        Raises:
            InputError: names input, dim and values.
        """
        for binding, values in self._rules:
            size = arrays[binding.index].shape[binding.axis]
            value, rest = divmod(size - binding.shift, binding.factor)
            if rest or value not in values:
                factor = "" if binding.factor == 1 else f"{binding.factor}*"
                shift = f"+{binding.shift}" if binding.shift else ""
                raise InputError(
                    f"input {self._names[binding.index]!r} has size {size} in dim {binding.axis}",
                    expected=f"{factor}{binding.symbol.name}{shift}, where {binding.symbol.name} is one of "
                    + ", ".join(map(str, sorted(values))),
                    fix="pass one of these sizes, or compile the model with other values",
                )


class _Input(NamedTuple):
    """An input as `bindings` takes it."""

    name: str
    type: Type
