"""Runs the model in TensorFlow itself, to compare with."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from ge_core.errors import ModelImportError


def run_original(model: object, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
    """What the model returns in inference.

    Raises:
        ModelImportError: the model is nothing that TensorFlow can call.
    """
    import tensorflow as tf

    if isinstance(model, str):
        from .live import load_path

        model = load_path(model)
    keras: Any = sys.modules.get("keras")
    if keras is not None and isinstance(model, keras.Model):
        kwargs = {"training": False, **kwargs}
        given: Any = args[0] if len(args) == 1 else list(args)
        return cast("Callable[..., object]", model)(given, **kwargs)
    signatures = getattr(model, "signatures", None)
    if signatures and not callable(model):
        model = next(iter(signatures.values()))
    if not callable(model):
        raise ModelImportError(f"TensorFlow cannot call an object of type {type(model).__qualname__}")
    call = cast("Callable[..., object]", model)
    return call(*(tf.convert_to_tensor(a) if not isinstance(a, tf.Tensor) else a for a in args), **kwargs)
