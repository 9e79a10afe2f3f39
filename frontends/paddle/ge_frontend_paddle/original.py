"""Runs the model in Paddle itself, to compare with."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import paddle

from ge_core.errors import ModelImportError

from .files import locate
from .tensors import to_numpy


def run_original(model: object, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
    """What the model returns in inference: gradients off, layers in eval mode (restored afterwards).

    Raises:
        ModelImportError: the model is nothing that Paddle can call.
    """
    if isinstance(model, (str, os.PathLike)):
        return _run_files(model, args, kwargs)
    if not callable(model):
        raise ModelImportError(f"Paddle cannot call an object of type {type(model).__qualname__}")
    layers = [model, *model.sublayers()] if isinstance(model, paddle.nn.Layer) else []
    training = [layer for layer in layers if layer.training]
    try:
        for layer in training:
            layer.training = False
        with paddle.no_grad():
            return model(*(_tensor(a) for a in args), **{key: _tensor(a) for key, a in kwargs.items()})
    finally:
        for layer in training:
            layer.training = True


def _tensor(value: object) -> object:
    return paddle.to_tensor(value) if isinstance(value, np.ndarray) else value


def _run_files(path: str | os.PathLike[str], args: Sequence[object], kwargs: Mapping[str, object]) -> object:
    program, parameters = locate(path)
    config = paddle.inference.Config(str(program), str(parameters or ""))
    config.disable_glog_info()
    config.disable_mkldnn()  # it does not take all operators of a program
    predictor = paddle.inference.create_predictor(config)
    names = predictor.get_input_names()
    given = dict(zip(names, args, strict=False)) | dict(kwargs)
    for name in names:
        predictor.get_input_handle(name).copy_from_cpu(_array(given[name]))
    predictor.run()
    results = [predictor.get_output_handle(name).copy_to_cpu() for name in predictor.get_output_names()]
    return results[0] if len(results) == 1 else tuple(results)


def _array(value: Any) -> np.ndarray:
    array = to_numpy(value)
    return np.ascontiguousarray(np.asarray(value) if array is None else array)
