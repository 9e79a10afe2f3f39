"""Reference kernels of sequences, which are lists, and of optionals, whose missing value is None."""

from __future__ import annotations

from typing import Any

import numpy as np

from ge_core.errors import ExecutionError, IndexRangeError
from ge_core.ops.registry import kernel
from ge_core.reference.call import Call

Items = list[Any]


def _position(call: Call, position: np.ndarray | None, default: int, count: int) -> int:
    """A non-negative position below `count`.

    Raises:
        IndexRangeError: it is out of range.
    """
    at = default if position is None else int(position.reshape(()))
    if not -count <= at < count:
        raise call.error(IndexRangeError, f"position {at}, expected {-count} to {count - 1}")
    return at + count if at < 0 else at


@kernel("SequenceEmpty")
def sequence_empty(call: Call) -> Items:
    return []


@kernel("SequenceConstruct")
def sequence_construct(call: Call, *inputs: np.ndarray) -> Items:
    return list(inputs)


@kernel("SequenceInsert")
def sequence_insert(call: Call, items: Items, tensor: np.ndarray, position: np.ndarray | None = None) -> Items:
    at = len(items) if position is None else int(position.reshape(()))
    if not -len(items) <= at <= len(items):
        raise call.error(IndexRangeError, f"position {at}, expected {-len(items)} to {len(items)}")
    at = at + len(items) if at < 0 else at
    return [*items[:at], tensor, *items[at:]]


@kernel("SequenceErase")
def sequence_erase(call: Call, items: Items, position: np.ndarray | None = None) -> Items:
    at = _position(call, position, -1, len(items))
    return items[:at] + items[at + 1 :]


@kernel("SequenceLength")
def sequence_length(call: Call, items: Items) -> np.ndarray:
    return np.array(len(items), np.int64)


@kernel("SequenceAt")
def sequence_at(call: Call, items: Items, position: np.ndarray) -> Any:
    return items[_position(call, position, 0, len(items))]


@kernel("SplitToSequence")
def split_to_sequence(call: Call, x: np.ndarray, split: np.ndarray | None = None) -> Items:
    axis = call.attr("axis") % x.ndim
    total = x.shape[axis]
    if split is None and not call.attr("keepdims"):
        return [np.take(x, i, axis=axis) for i in range(total)]
    if split is not None and split.ndim == 1:
        sizes = [int(n) for n in split]
        if sum(sizes) != total or min(sizes, default=0) < 0:
            raise ValueError(f"parts of {sizes} do not make up an axis of {total}")
    else:
        step = 1 if split is None else int(split.reshape(()))
        if step < 1:
            raise ValueError(f"parts of {step} elements")
        sizes = [min(step, total - start) for start in range(0, total, step)]
    ends = np.cumsum(sizes, dtype=np.int64)
    return list(np.split(x, ends[:-1], axis=axis)) if sizes else []


@kernel("ConcatFromSequence")
def concat_from_sequence(call: Call, items: Items) -> np.ndarray:
    if not items:
        raise call.error(ExecutionError, "the sequence is empty, expected at least one tensor")
    axis = call.attr("axis")
    return np.stack(items, axis=axis) if call.attr("new_axis") else np.concatenate(items, axis=axis)


@kernel("SequenceMap")
def sequence_map(call: Call, items: Items, *others: Any) -> tuple[Items, ...]:
    for other in others:
        if isinstance(other, list) and len(other) != len(items):
            raise ValueError(f"sequences of {len(items)} and {len(other)} elements")
    outputs: list[Items] = [[] for _ in range(call.num_outputs)]
    for i, item in enumerate(items):
        results = call.run("body", item, *(o[i] if isinstance(o, list) else o for o in others))
        for collected, result in zip(outputs, results, strict=True):
            collected.append(result)
    return tuple(outputs)


@kernel("Optional")
def optional(call: Call, value: Any = None) -> Any:
    return value


@kernel("OptionalHasElement")
def optional_has_element(call: Call, value: Any = None) -> np.ndarray:
    return np.array(value is not None)


@kernel("OptionalGetElement")
def optional_get_element(call: Call, value: Any) -> Any:
    if value is None:
        raise call.error(ExecutionError, "the optional holds nothing")
    return value
