"""How a call's arguments become the graph's inputs, and the graph's outputs the caller's structure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ge_core.errors import InputError, OfflineModelError
from ge_core.structure import (
    Constant,
    Fields,
    Items,
    Json,
    Slot,
    Tree,
    describe,
    flatten,
    from_json,
    slots,
    to_json,
    unflatten,
)


@dataclass(frozen=True)
class Signature:
    """The calling convention of an imported model.

    Args:
        input_names: names of the graph's inputs, by slot; states are not among them.
        output_names: names of the graph's outputs, by slot.
        args: the positional arguments, a tuple; its slots number the graph's inputs.
        kwargs: the keyword arguments, a dict; its slots number the graph's inputs.
        outputs: what the model returns; its slots number the graph's outputs.
        parameters: the names under which positional arguments may also be passed by keyword, in order;
            may be shorter than `args`.

    Raises:
        InputError: args and kwargs do not use each input once, or outputs name one that is not there.
    """

    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    args: Items
    kwargs: Fields
    outputs: Tree
    parameters: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        used = sorted([*slots(self.args), *slots(self.kwargs)])
        if used != list(range(len(self.input_names))):
            raise InputError(
                f"the signature uses the input slots {used}",
                expected=f"each of the {len(self.input_names)} inputs once",
            )
        if any(not 0 <= index < len(self.output_names) for index in slots(self.outputs)):
            raise InputError(
                "the signature returns an output that is not there",
                expected=f"slots below {len(self.output_names)}",
            )

    @classmethod
    def flat(cls, input_names: Sequence[str], output_names: Sequence[str]) -> Signature:
        """The signature of a model without structure, such as a file: its inputs in order, or by name.

        One output comes back alone, several as a tuple.
        """
        results = tuple(Slot(index) for index in range(len(output_names)))
        return cls(
            input_names=tuple(input_names),
            output_names=tuple(output_names),
            args=Items("tuple", tuple(Slot(index) for index in range(len(input_names)))),
            kwargs=Fields("dict", (), ()),
            outputs=results[0] if len(results) == 1 else Items("tuple", results),
            parameters=tuple(input_names),
        )

    @classmethod
    def of_call(
        cls,
        args: Sequence[object],
        kwargs: Mapping[str, object],
        outputs: object,
        *,
        is_tensor: Callable[[object], bool],
        parameters: Sequence[str] = (),
    ) -> Signature:
        """The signature of an example call and its result; slots are named by their place in it."""
        args_tree, positional = describe(tuple(args), is_tensor)
        kwargs_tree, keyword = describe(dict(kwargs), is_tensor, first=len(positional))
        outputs_tree, results = describe(outputs, is_tensor)
        assert isinstance(args_tree, Items) and isinstance(kwargs_tree, Fields)
        names = _argument_names(args_tree, kwargs_tree, tuple(parameters))
        return cls(
            input_names=tuple(names[index] for index in range(len(positional) + len(keyword))),
            output_names=tuple(_place_names(outputs_tree, "output")[index] for index in range(len(results))),
            args=args_tree,
            kwargs=kwargs_tree,
            outputs=outputs_tree,
            parameters=tuple(parameters),
        )

    def flatten(self, args: Sequence[object], kwargs: Mapping[str, object]) -> list[object]:
        """The call's tensors in the order of the graph's inputs.

        Positional arguments may come by keyword and the other way round, when `parameters` names them. An
        argument that is all constants may be left out.

        Raises:
            InputError: an argument is missing, unknown, given twice, of another structure, or a constant that
                differs from the one burnt in.
        """
        found: dict[int, object] = {}
        by_name = dict(kwargs)
        if len(args) > len(self.args.items):
            by_name.update(self._extra_positional(args, by_name))
        for place, tree in enumerate(self.args.items):
            name = self.parameters[place] if place < len(self.parameters) else None
            if place < len(args):
                if name is not None and name in by_name:
                    raise InputError(f"the argument {name!r} is given twice, by position and by keyword")
                flatten(tree, args[place], name or f"args[{place}]", found)
            elif name is not None and name in by_name:
                flatten(tree, by_name.pop(name), name, found)
            elif _has_slots(tree):
                raise self._missing(name or f"args[{place}]")
        for key, tree in zip(self.kwargs.names, self.kwargs.items, strict=True):
            if key in by_name:
                flatten(tree, by_name.pop(str(key)), str(key), found)
            elif _has_slots(tree):
                raise self._missing(str(key))
        unknown = [name for name, value in by_name.items() if value is not None]
        if unknown:
            raise InputError(
                f"the argument {unknown[0]!r} was not given when the model was compiled",
                expected=self._accepted(),
                fix="compile again with an example of it, or leave it out",
            )
        return [found[index] for index in range(len(self.input_names))]

    def unflatten(self, outputs: Sequence[object]) -> object:
        """The graph's outputs in the structure that the model returns."""
        return unflatten(self.outputs, outputs)

    def to_json(self) -> Json:
        """The signature as JSON data, for the offline model."""
        return {
            "input_names": list(self.input_names),
            "output_names": list(self.output_names),
            "args": to_json(self.args),
            "kwargs": to_json(self.kwargs),
            "outputs": to_json(self.outputs),
            "parameters": list(self.parameters),
        }

    @classmethod
    def from_json(cls, data: Json) -> Signature:
        """The signature from its JSON data, which may come from a hostile file.

        Raises:
            OfflineModelError: the data is no signature.
        """
        if not isinstance(data, dict):
            raise OfflineModelError("the stored signature is damaged: it is no table")
        input_names = _texts(data, "input_names")
        output_names = _texts(data, "output_names")
        args = from_json(data.get("args"), len(input_names))
        kwargs = from_json(data.get("kwargs"), len(input_names))
        outputs = from_json(data.get("outputs"), len(output_names))
        if not isinstance(args, Items) or not isinstance(kwargs, Fields):
            raise OfflineModelError("the stored signature is damaged: its arguments are no tuple and dict")
        try:
            return cls(input_names, output_names, args, kwargs, outputs, _texts(data, "parameters"))
        except InputError as error:
            raise OfflineModelError(f"the stored signature is damaged: {error.what}") from error

    def _extra_positional(self, args: Sequence[object], by_name: Mapping[str, object]) -> dict[str, object]:
        """Positional arguments past `args`, by the names of parameters that were keywords at compile."""
        extra = args[len(self.args.items) :]
        names = self.parameters[len(self.args.items) : len(args)]
        if len(names) < len(extra):
            raise InputError(
                f"the call gives {len(args)} positional arguments",
                expected=f"at most {max(len(self.args.items), len(self.parameters))}: {self._accepted()}",
            )
        twice = [name for name in names if name in by_name]
        if twice:
            raise InputError(f"the argument {twice[0]!r} is given twice, by position and by keyword")
        return dict(zip(names, extra, strict=True))

    def _missing(self, name: str) -> InputError:
        return InputError(f"the argument {name!r} is missing", expected=self._accepted())

    def _accepted(self) -> str:
        names = [
            self.parameters[place] if place < len(self.parameters) else f"args[{place}]"
            for place in range(len(self.args.items))
        ]
        return f"the arguments {', '.join([*names, *(str(key) for key in self.kwargs.names)]) or '(none)'}"


def _argument_names(args: Items, kwargs: Fields, parameters: tuple[str, ...]) -> dict[int, str]:
    names: dict[int, str] = {}
    for place, tree in enumerate(args.items):
        names |= _place_names(tree, parameters[place] if place < len(parameters) else f"args_{place}")
    for key, tree in zip(kwargs.names, kwargs.items, strict=True):
        names |= _place_names(tree, str(key))
    return names


def _place_names(tree: Tree, prefix: str) -> dict[int, str]:
    if isinstance(tree, Slot):
        return {tree.index: prefix}
    if isinstance(tree, Constant):
        return {}
    keys = range(len(tree.items)) if isinstance(tree, Items) else tree.names
    names: dict[int, str] = {}
    for key, item in zip(keys, tree.items, strict=True):
        names |= _place_names(item, f"{prefix}_{key}")
    return names


def _has_slots(tree: Tree) -> bool:
    return next(slots(tree), None) is not None


def _texts(data: Mapping[str, Json], key: str) -> tuple[str, ...]:
    rows = data.get(key)
    if not isinstance(rows, list) or not all(isinstance(row, str) for row in rows):
        raise OfflineModelError(f"the stored signature is damaged: {key} is no list of names")
    return tuple(str(row) for row in rows)
