"""What can be known of a `while` before it is converted: how it counts, and how it grows tensor arrays."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from .program import Block, Operator, walk

# A number of the loop (or `length_of` one of its arrays) plus a constant.
Place = tuple[int, int]

_COPIES = ("assign", "cast", "share_data")


@dataclass
class ArrayUse:
    """How a round uses one array: places of reads and writes in order.

    Attributes:
        events: the operator (by identity), whether it writes, and its index as a number of the loop plus a constant.
        plain: whether all uses are of this form.
    """

    events: list[tuple[int, bool, Place]] = field(default_factory=list)
    plain: bool = True

    @property
    def writes(self) -> int:
        """How many elements the round has written."""
        return sum(is_write for _, is_write, _ in self.events)


def length_of(array: int) -> int:
    """The number that stands for an array's length at the start of a round; values have positive ones."""
    return -array


@dataclass
class LoopForm:
    """What the body of a loop does with its numbers.

    Attributes:
        steps: by how much a number grows in each round.
        arrays: how the body uses each array that it writes.
        bound: when the loop goes on while a number that grows by 1 is below a value: that number and the value's.
    """

    steps: dict[int, int] = field(default_factory=dict)
    arrays: dict[int, ArrayUse] = field(default_factory=dict)
    bound: Place | None = None
    constants: dict[int, int] = field(default_factory=dict)


def written_numbers(block: Block) -> list[int]:
    """Numbers that operators of a block (and of its inner blocks) define, in order, each once."""
    found: dict[int, None] = {}
    for op in walk(block):
        for result in op.results:
            found[result.number] = None
    return list(found)


def analyse(block: Block, carried: Mapping[int, int], arrays: Collection[int]) -> LoopForm:
    """Follow the body of a loop once.

    Args:
        carried: the numbers that rounds hand on, as the body reads them, and the place among the yielded values of
            the next one (-1 for a number that the body writes in place).
        arrays: the numbers of arrays that the body writes.
    """
    form = LoopForm(arrays={number: ArrayUse() for number in arrays})
    places: dict[int, Place] = {number: (number, 0) for number in carried}
    compared: dict[int, tuple[Place, int]] = {}
    yielded: list[int] = []
    for op in block.operators:
        if op.name == "cf.yield":
            yielded = list(op.operands)
            break
        _follow(op, form, places, compared, set(arrays))
    for number, place in carried.items():
        end = places.get(number if place < 0 else yielded[place] if place < len(yielded) else -1)
        if end is not None and end[0] == number:
            form.steps[number] = end[1]
    if yielded and yielded[0] in compared:
        (counter, ahead), limit = compared[yielded[0]]
        if ahead == form.steps.get(counter) == 1 and limit not in carried:
            form.bound = (counter, limit)
    return form


def _follow(
    op: Operator, form: LoopForm, places: dict[int, Place], compared: dict[int, tuple[Place, int]], arrays: set[int]
) -> None:
    if op.blocks and any(number in arrays for inner in walk_operands(op) for number in inner):
        for number in arrays & {n for inner in walk_operands(op) for n in inner}:
            form.arrays[number].plain = False
    used = [number for number in op.operands if number in arrays]
    if used:
        _use_array(op, form, places)
    source = places.get(op.operands[0]) if op.operands else None
    new: Place | None = None
    test: tuple[Place, int] | None = None
    if op.name in ("increment", "increment_") and source is not None:
        new = (source[0], source[1] + int(op.attributes.get("value", 1)))
    elif op.name == "array_length" and op.operands[0] in arrays:
        new = (length_of(op.operands[0]), form.arrays[op.operands[0]].writes)
    elif op.name in _COPIES and source is not None:
        new = source
    elif op.name == "scale" and source is not None and form.constants.get(op.operands[1]) == 1:
        bias = op.attributes.get("bias", 0)
        new = (source[0], source[1] + int(bias)) if bias == int(bias) else None
    elif op.name == "add" and source is not None and op.operands[1] in form.constants:
        new = (source[0], source[1] + form.constants[op.operands[1]])
    elif op.name == "less_than" and source is not None:
        test = (source, op.operands[1])
    elif op.name in ("assign_out_", "assign", "cast") and op.operands[0] in compared:
        test = compared[op.operands[0]]
    for result in op.results:
        places.pop(result.number, None)
        compared.pop(result.number, None)
        form.constants.pop(result.number, None)
        if new is not None:
            places[result.number] = new
        if test is not None:
            compared[result.number] = test
        value = op.attributes.get("value")
        if op.name == "full" and isinstance(value, (int, float)) and value == int(value):
            form.constants[result.number] = int(value)


def walk_operands(op: Operator) -> list[list[int]]:
    """Operands of all operators in the inner blocks of one."""
    return [list(inner.operands) for block in op.blocks for inner in walk(block)]


def _use_array(op: Operator, form: LoopForm, places: Mapping[int, Place]) -> None:
    number = op.operands[0]
    use = form.arrays.get(number)
    index = places.get(op.operands[-1])
    if use is not None and op.name in ("array_read", "array_write_") and index is not None:
        use.events.append((id(op), op.name == "array_write_", index))
        return
    if use is not None and op.name == "array_length":
        return
    for other in op.operands:
        if other in form.arrays:
            form.arrays[other].plain = False
