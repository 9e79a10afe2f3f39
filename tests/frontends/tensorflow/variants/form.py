"""One way to call an operator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Fixed:
    """An argument that is a constant of the model."""

    value: Any


@dataclass
class Variant:
    """The arguments and attributes of one call of an operator.

    Attributes:
        args: arrays (inputs of the model), `Fixed` ones, lists of them for an argument of several tensors.
        attrs: attributes by name.
        open_sizes: whether the sizes of the inputs are not known at import.
        tolerance: instead of the one for the result's element type, relative to its scale, with a reason.
        check: instead of comparing values: takes our results and TensorFlow's.
        function: instead of calling the operator itself: a function of the inputs that uses it.
    """

    args: tuple[Any, ...]
    attrs: dict[str, Any] = field(default_factory=dict)
    open_sizes: bool = False
    tolerance: float | None = None
    check: Callable[[list[np.ndarray], list[np.ndarray]], None] | None = None
    function: Callable[..., Any] | None = None


def v(*args: Any, tolerance: float | None = None, **attrs: Any) -> Variant:
    """A call with sizes that are known."""
    return Variant(args, attrs, tolerance=tolerance)


def open_(*args: Any, tolerance: float | None = None, **attrs: Any) -> Variant:
    """A call with sizes that are not known at import."""
    return Variant(args, attrs, True, tolerance)


def within(function: Callable[..., Any], *args: Any, open_sizes: bool = False) -> Variant:
    """A call of a function that uses the operator."""
    return Variant(args, {}, open_sizes, function=function)


def k(value: Any, dtype: Any = None) -> Fixed:
    """A constant: int32 for integers, float32 for floats."""
    array = np.asarray(value, dtype)
    if dtype is None and array.dtype == np.int64:
        array = array.astype(np.int32)
    if dtype is None and array.dtype == np.float64:
        array = array.astype(np.float32)
    return Fixed(array)


def f(*shape: int, dtype: Any = np.float32, seed: int = 0, scale: float = 1.0, low: float | None = None) -> np.ndarray:
    """Normal numbers, or uniform ones from `low` to `low + scale`."""
    random = np.random.default_rng([seed, *shape])
    found = random.standard_normal(shape) * scale if low is None else low + random.random(shape) * scale
    return np.asarray(found).astype(dtype)


def i(*shape: int, low: int = -9, high: int = 10, dtype: Any = np.int32, seed: int = 0) -> np.ndarray:
    """Integers from `low` to below `high`."""
    return np.asarray(np.random.default_rng([seed, *shape]).integers(low, high, shape)).astype(dtype)


def b(*shape: int, seed: int = 0) -> np.ndarray:
    """Bools."""
    return i(*shape, low=0, high=2, seed=seed).astype(bool)


SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-30], np.float32)
"""Values at which functions differ."""
