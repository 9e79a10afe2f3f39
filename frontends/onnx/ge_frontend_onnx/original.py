"""Runs the model in ONNX's own reference evaluator, to compare with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator

from ge_core.errors import InputError

from .tensors import to_numpy


def run_original(model: object, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
    """What the model computes: the one output, or a tuple of several.

    Args:
        model: a ModelProto or a path.
        args: the inputs in the model's order.
        kwargs: inputs by name.

    Raises:
        InputError: more arguments than the model has inputs, or a name that it does not have.
    """
    evaluator = ReferenceEvaluator(model if isinstance(model, ModelProto) else str(model))
    names = list(evaluator.input_names)
    unknown = set(kwargs) - set(names)
    if len(args) > len(names) or unknown:
        raise InputError(
            f"the call gives {len(args)} positional inputs and {sorted(kwargs)} by name",
            expected=f"the inputs {', '.join(names)}",
        )
    given = dict(zip(names, args, strict=False)) | dict(kwargs)
    results = evaluator.run(None, {name: _array(value) for name, value in given.items()})
    return results[0] if len(results) == 1 else tuple(results)


def _array(value: object) -> np.ndarray:
    array = to_numpy(value)
    return np.asarray(value) if array is None else array
