"""Runs the model in PyTorch itself, to compare with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import numpy as np
import torch

from ge_core.errors import ModelImportError

from .tensors import from_numpy


def run_original(model: object, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
    """What the model returns in inference: gradients off, modules in eval mode (restored afterwards).

    Arrays among the arguments become tensors, as they do for the compiled model.

    Raises:
        ModelImportError: the model is nothing that torch can call.
    """
    if isinstance(model, torch.export.ExportedProgram):
        model = model.module()
    elif isinstance(model, str):
        model = torch.export.load(model).module()
    if not callable(model):
        raise ModelImportError(f"torch cannot call an object of type {type(model).__qualname__}")
    call = cast("Callable[..., object]", model)
    training = [m for m in model.modules() if m.training] if isinstance(model, torch.nn.Module) else []
    try:
        for module in training:  # not eval(), which exported modules refuse
            module.training = False
        with torch.inference_mode():
            given, named = torch.utils._pytree.tree_map(_tensor, (list(args), dict(kwargs)))
            return call(*given, **named)
    finally:
        for module in training:
            module.training = True


def _tensor(value: object) -> object:
    return from_numpy(np.asarray(value), None) if isinstance(value, (np.ndarray, np.generic)) else value
