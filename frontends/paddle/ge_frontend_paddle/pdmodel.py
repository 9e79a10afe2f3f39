"""Reads legacy programs (`.pdmodel`), whose operators and attributes have other names, into the form of new ones.

A variable keeps one number through the program: an operator that writes it again gives the number a new value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ge_core.errors import ModelImportError, UnsupportedError
from ge_core.ir.dtype import DType
from ge_core.om.message_table import Message
from ge_core.plugins.unsupported import Unsupported

from .element_types import BY_NUMBER
from .legacy import TABLE, Entry, Source, has_no_effect
from .program import ABSENT, Array, Block, Input, Kind, Operator, Program, Result, Tensor, Vector
from .program_desc import parse_program
from .scan import report

_MAX_DEPTH = 64
_MAX_RANK = 64
_TENSOR_ARRAY = 13
_FEEDS = (9, 10)  # variable types of the lists that feed and fetch
_ATTRIBUTE_FIELDS = {
    0: "i", 1: "f", 2: "s", 3: "ints", 4: "floats", 5: "strings", 6: "b", 7: "bools", 8: "block_idx", 9: "l",
    10: "blocks_idx", 11: "longs", 12: "float64s", 13: "var_name", 14: "vars_name", 15: "float64", 16: "scalar",
    17: "scalars",
}  # fmt: skip
_SCALAR_FIELDS = {1: "b", 2: "i", 3: "r"}


def read_pdmodel(data: bytes, name: str) -> Program:
    """The program of a file's bytes.

    Raises:
        ModelImportError: the bytes are no program, or a damaged one.
        UnsupportedError: with all operators that are not known.
    """
    return _Reader(parse_program(data, name), name).program()


class Variables:
    """Numbers and types of a program's variables, by name; an inner block sees the outer ones."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.kinds: dict[int, Kind] = {}

    def number(self, name: str) -> int:
        """The number of a variable; a new one on its first use."""
        return self.numbers.setdefault(name, len(self.numbers) + 1)

    def unnamed(self) -> int:
        """The number of a value that no variable holds."""
        return self.number(f"\0{len(self.numbers)}")


class _Reader:
    def __init__(self, desc: Message, name: str) -> None:
        self._desc, self._name = desc, name
        self._variables = Variables()
        self._inputs: list[Input] = []
        self._fetched: list[tuple[int, str, int]] = []
        self._stored: dict[str, Tensor] = {}
        self._unknown: list[Unsupported] = []
        # variables that only a branch defines: its condition and its block
        self._branches: dict[int, tuple[int, Block]] = {}
        self._choices: dict[tuple[int, int], Operator] = {}
        self._defined: set[int] = set()

    def damaged(self, what: str) -> ModelImportError:
        return ModelImportError(f"{self._name} is damaged: {what}")

    def program(self) -> Program:
        block = self._block(0, 0)
        if self._unknown:
            raise report(self._unknown, self._name)
        outputs = [(name, number) for _, name, number in sorted(self._fetched)]
        return Program(self._name, block, self._inputs, outputs, self._stored, exact_shapes=False)

    def text(self, raw: bytes) -> str:
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise self.damaged(f"a name is {raw[:30]!r}") from error

    def _block(self, index: int, depth: int) -> Block:
        if depth > _MAX_DEPTH or not 0 <= index < len(self._desc.blocks):
            raise self.damaged(f"block {index} lies {depth} deep in others, or is not there")
        desc = self._desc.blocks[index]
        made = Block()
        for var in desc.vars:
            self._declare(var, made)
        for op in desc.ops:
            self._operator(op, made, depth)
        return made

    def _declare(self, var: Message, block: Block) -> None:
        name = self.text(var.name)
        number = self._variables.number(name)
        kind = self._kind(var.type)
        self._variables.kinds[number] = kind
        if var.persistable and var.type.type not in _FEEDS and isinstance(kind, Tensor):
            self._stored[name] = kind
            self._defined.add(number)
            block.operators.append(Operator("builtin.parameter", (), [Result(number, kind)], {"name": name}))

    def _kind(self, desc: Message) -> Kind:
        if desc.type == _TENSOR_ARRAY:
            return Array(BY_NUMBER.get(desc.tensor_array.tensor.data_type))
        if not desc.HasField("dense_tensor"):
            return None
        tensor = desc.dense_tensor.tensor
        if len(tensor.dims) > _MAX_RANK:
            raise self.damaged(f"a tensor has {len(tensor.dims)} axes")
        return Tensor(BY_NUMBER.get(tensor.data_type), tuple(max(int(d), -1) for d in tensor.dims))

    def _operator(self, op: Message, block: Block, depth: int) -> None:
        kind = self.text(op.type)
        inputs = {self.text(v.parameter): [self.text(a) for a in v.arguments] for v in op.inputs}
        outputs = {self.text(v.parameter): [self.text(a) for a in v.arguments] for v in op.outputs}
        attributes = {self.text(a.name): self._attribute(a) for a in op.attrs}
        if kind == "feed":
            self._feed(attributes, outputs)
        elif kind == "fetch":
            (name,) = self._arguments(inputs, "X")
            self._fetched.append((int(attributes.get("col", 0)), name, self._variables.number(name)))
        elif kind == "while":
            self._while(inputs, attributes, block, depth)
        elif kind == "conditional_block":
            self._conditional(inputs, outputs, attributes, block, depth)
        elif kind == "select_input":
            self._select(inputs, outputs, block)
        elif kind in TABLE:
            translation = Translation(self._variables, block, inputs, outputs, attributes, self._name)
            translation.run(kind, TABLE[kind])
            self._defined.update(self._variables.number(name) for names in outputs.values() for name in names)
        else:
            stack = attributes.get("op_callstack") or ()
            place = next((line.strip() for line in reversed(list(stack)) if "File" in line), "in the model")
            self._unknown.append(Unsupported(kind, place))

    def _arguments(self, table: dict[str, list[str]], name: str) -> list[str]:
        found = table.get(name, [])
        if not found:
            raise self.damaged(f"an operator has no {name}")
        return found

    def _attribute(self, attr: Message) -> Any:
        field = _ATTRIBUTE_FIELDS.get(attr.type)
        if field is None:
            return None
        value = getattr(attr, field)
        if isinstance(value, bytes):
            return self.text(value)
        if isinstance(value, (int, float, bool)):
            return value
        if field == "scalar":
            return self._scalar(value)
        if field == "scalars":
            return [self._scalar(v) for v in value]
        return [self.text(v) if isinstance(v, bytes) else v for v in value]

    def _scalar(self, value: Message) -> Any:
        field = _SCALAR_FIELDS.get(value.type)
        if field is None:
            raise self.damaged(f"a number is of kind {value.type}")
        return getattr(value, field)

    def _feed(self, attributes: dict[str, Any], outputs: dict[str, list[str]]) -> None:
        (name,) = self._arguments(outputs, "Out")
        number = self._variables.number(name)
        kind = self._variables.kinds.get(number)
        if not isinstance(kind, Tensor):
            raise self.damaged(f"the input {name[:60]!r} has no type")
        self._defined.add(number)
        place = int(attributes.get("col", 0))
        self._inputs.insert(min(max(place, 0), len(self._inputs)), Input(name, number, kind))

    def _while(self, inputs: dict[str, list[str]], attributes: dict[str, Any], block: Block, depth: int) -> None:
        (condition,) = self._arguments(inputs, "Condition")
        body = self._block(int(attributes.get("sub_block", -1)), depth + 1)
        number = self._variables.number(condition)
        body.operators.append(Operator("cf.yield", [number], (), {}))
        block.operators.append(Operator("while", [number], (), {}, [body]))

    def _conditional(
        self,
        inputs: dict[str, list[str]],
        outputs: dict[str, list[str]],
        attributes: dict[str, Any],
        block: Block,
        depth: int,
    ) -> None:
        """A block that runs when a condition holds; `select_input` picks from what two of them define."""
        (condition,) = self._arguments(inputs, "Cond")
        given = [self._variables.number(name) for name in outputs.get("Out", [])]
        new = [number for number in given if number not in self._defined]
        body = self._block(int(attributes.get("sub_block", -1)), depth + 1)
        number = self._variables.number(condition)
        if new and len(new) == len(given):
            self._branches |= dict.fromkeys(new, (number, body))
            return
        body.operators.append(Operator("cf.yield", [], (), {}))
        other = Block([Operator("cf.yield", [], (), {})])
        block.operators.append(Operator("if", [number], (), {}, [body, other]))

    def _select(self, inputs: dict[str, list[str]], outputs: dict[str, list[str]], block: Block) -> None:
        """One of two variables, by a condition: an `if` whose blocks are those that define them."""
        names = self._arguments(inputs, "X")
        (result,) = self._arguments(outputs, "Out")
        if len(names) != 2:
            raise self.damaged(f"a choice has {len(names)} alternatives")
        no, yes = (self._variables.number(name) for name in names)
        if yes not in self._branches:
            raise self.damaged(f"a choice has the alternative {names[1][:60]!r}, which no branch defines")
        condition, body = self._branches[yes]
        other = self._branches[no][1] if no in self._branches else Block()
        key = (id(body), id(other) if no in self._branches else 0)
        if key not in self._choices:
            blocks = [Block([*part.operators, Operator("cf.yield", [], (), {})]) for part in (body, other)]
            self._choices[key] = Operator("if", [condition], [], {}, blocks)
            block.operators.append(self._choices[key])
        choice = self._choices[key]
        number = self._variables.number(result)
        self._defined.add(number)
        choice.results = [*choice.results, Result(number, self._variables.kinds.get(number))]
        for part, value in zip(choice.blocks, (yes, no), strict=True):
            part.operators[-1].operands = [*part.operators[-1].operands, value]


class Translation:
    """One legacy operator on its way to new ones.

    Args:
        block: gets the new operators.
        inputs, outputs: names of variables by the operator's parameters.
        name: the file's, for messages.
    """

    def __init__(
        self,
        variables: Variables,
        block: Block,
        inputs: dict[str, list[str]],
        outputs: dict[str, list[str]],
        attributes: dict[str, Any],
        name: str,
    ) -> None:
        self.variables, self.block, self.inputs, self.outputs = variables, block, inputs, outputs
        self.attributes, self._name = attributes, name

    def run(self, kind: str, entry: Entry) -> None:
        """Append what an entry of the table says.

        Raises:
            UnsupportedError: the operator has an attribute that the entry does not take.
        """
        used = set()
        operands = []
        for alternatives in entry.operands:
            number, attribute = self._operand(alternatives)
            used.add(attribute)
            used.update(source.name for source in alternatives)
            operands.append(number)
        attributes: dict[str, Any] = {}
        for theirs, new in entry.attributes.items():
            used.add(theirs)
            if theirs in self.attributes:
                attributes[new] = self._value(new, self.attributes[theirs])
        attributes |= entry.fixed
        for name, value in self.attributes.items():
            if name not in used and name not in entry.dropped and not has_no_effect(name, value):
                raise UnsupportedError(
                    f"{self._name}: {kind}: the attribute {name} = {str(value)[:60]!r} is not supported", where=kind
                )
        results, vectors = self._results(entry)
        stack = self.attributes.get("op_callstack") or ()
        self.block.operators.append(Operator(entry.name, operands, results, attributes, (), stack))
        for number, parts in vectors:
            self.block.operators.append(Operator("builtin.split", [number], parts, {}))

    def _operand(self, alternatives: Sequence[Source]) -> tuple[int, str]:
        """The number of the first alternative that is there, and the attribute that it came from."""
        for source in alternatives:
            if source.form == "attribute":
                if source.name in self.attributes:
                    return self.constant(self.attributes[source.name], source.dtype), source.name
                continue
            names = self.inputs.get(source.name, [])
            if not names:
                continue
            numbers = [self.variables.number(name) for name in names]
            if source.form == "list":
                return self._emit("builtin.combine", numbers, None, {}), ""
            return numbers[0], ""
        return ABSENT, ""

    def constant(self, value: Any, dtype: str = "") -> int:
        """The number of a new constant: integers as a vector, one number as a scalar."""
        if isinstance(value, list) and all(isinstance(v, int) for v in value):
            kind = DType.of(dtype or "int64")
            return self._emit("full_int_array", (), Tensor(kind, (len(value),)), {"value": value, "dtype": kind})
        if isinstance(value, list):
            kind = DType.of(dtype or "float32")
            settings = {"values": value, "shape": [len(value)], "dtype": kind}
            return self._emit("assign_value", (), Tensor(kind, (len(value),)), settings)
        if not isinstance(value, (bool, int, float)):
            raise ModelImportError(f"{self._name} is damaged: an attribute is {str(value)[:60]!r}")
        whole = DType.of(dtype or ("int64" if isinstance(value, int) else "float32"))
        return self._emit("full", (), Tensor(whole, ()), {"value": value, "shape": [], "dtype": whole})

    def _emit(self, name: str, operands: Sequence[int], kind: Kind, attributes: dict[str, Any]) -> int:
        number = self.variables.unnamed()
        self.block.operators.append(Operator(name, operands, [Result(number, kind)], attributes))
        return number

    def _value(self, name: str, value: Any) -> Any:
        """An attribute's value; element types are numbers in old programs."""
        if name in ("dtype", "out_dtype"):
            return BY_NUMBER.get(value) if isinstance(value, int) else None
        return value

    def _results(self, entry: Entry) -> tuple[list[Result], list[tuple[int, list[Result]]]]:
        """The operator's results, and those that are vectors with their parts."""
        results: list[Result] = []
        vectors: list[tuple[int, list[Result]]] = []
        for source in entry.results:
            parts = [self._result(name) for name in self.outputs.get(source.name, [])]
            if source.form == "list":
                kinds = tuple(part.kind if isinstance(part.kind, Tensor) else None for part in parts)
                number = self.variables.unnamed()
                results.append(Result(number, Vector(kinds)))
                vectors.append((number, parts))
            else:
                results.append(parts[0] if parts else Result(self.variables.unnamed(), None))
        return results, vectors

    def _result(self, name: str) -> Result:
        number = self.variables.number(name)
        return Result(number, self.variables.kinds.get(number))
