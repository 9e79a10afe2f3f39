"""Runs the model in MindSpore itself, to compare with."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import mindspore

from ge_core.errors import ModelImportError

from .cells import evaluating


def run_original(model: object, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
    """What the model returns in inference.

    Raises:
        ModelImportError: the model is nothing that MindSpore can call.
    """
    if isinstance(model, (str, os.PathLike)):
        cell: Any = mindspore.nn.GraphCell(mindspore.load(os.fspath(model)))
    elif isinstance(model, mindspore.nn.Cell):
        cell = model
    else:
        raise ModelImportError(f"MindSpore cannot call an object of type {type(model).__qualname__}")
    with evaluating(cell):
        result: object = cell(*args, **kwargs)
        return result
