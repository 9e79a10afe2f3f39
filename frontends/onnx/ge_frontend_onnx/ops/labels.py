"""Tables and thresholds of ai.onnx.ml."""

from __future__ import annotations

from typing import Any

import numpy as np

from ge_core.ir.constant import Constant
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import Results, converts

_DEFAULTS: dict[str, Any] = {"int64s": np.int64(-1), "floats": np.float32(-0.0)}


@converts("ArrayFeatureExtractor", domain="ai.onnx.ml")
def array_feature_extractor(c: Call) -> Results:
    """ArrayFeatureExtractor(T X, int64 Y) -> (T Z): the columns that Y names; a vector gives one row"""
    x, wanted = c.input(0), c.reshape(c.input(1), (-1,))
    if c.rank(x) == 1:
        x = c.unsqueeze(x, 0)
    return c.b.Gather(x, wanted, axis=-1)


@converts("Binarizer", domain="ai.onnx.ml")
def binarizer(c: Call) -> Results:
    """Binarizer(T X) -> (T Y); threshold: 1 above it, else 0"""
    x = c.input(0)
    return c.b.Cast(c.b.Greater(x, c.scalar(c.attr("threshold", 0.0), x.dtype)), to=x.dtype)


@converts("LabelEncoder", domain="ai.onnx.ml")
def label_encoder(c: Call) -> Results:
    """LabelEncoder(T1 X) -> (T2 Y); default_*, keys_*, values_*: the value of a key, else the default"""
    if c.opset < 2:
        raise c.unsupported("a table of strings")
    x = c.input(0)
    keys, _ = _table(c, "keys")
    values, kind = _table(c, "values")
    if len(keys) != len(values):
        raise c.error(f"has {len(keys)} keys and {len(values)} values")
    if keys.dtype != x.dtype.numpy:
        raise c.error(f"has keys of type {keys.dtype} for an input of type {x.dtype}")
    default = _default(c, kind, values.dtype)
    if c.opset >= 4:  # the last of equal keys counts, before 4 the first
        keys, values = keys[::-1], values[::-1]
    return looked_up(c, x, keys, values, default)


def _table(c: Call, name: str) -> tuple[np.ndarray, str]:
    """The keys or values and the kind of their attribute."""
    for kind, numpy_type in (("int64s", np.int64), ("floats", np.float32)):
        if f"{name}_{kind}" in c.attrs:
            return np.array(c.attrs[f"{name}_{kind}"], numpy_type), kind
    if f"{name}_strings" in c.attrs:
        raise c.unsupported("a table of strings")
    found = c.needed(f"{name}_tensor")
    if not isinstance(found, Constant):
        raise c.error(f"the attribute {name}_tensor is no tensor")
    return found.array().reshape(-1), "tensor"


def _default(c: Call, kind: str, dtype: np.dtype) -> np.ndarray:
    given = c.attr({"int64s": "default_int64", "floats": "default_float", "tensor": "default_tensor"}[kind])
    if isinstance(given, Constant):
        return given.array().reshape(())
    if given is None:
        given = _DEFAULTS.get(kind, np.int64(-1) if dtype.kind == "i" else np.float32(-0.0))
    return np.asarray(given).astype(dtype).reshape(())


def looked_up(c: Call, x: Value, keys: np.ndarray, values: np.ndarray, default: np.ndarray) -> Value:
    """The value of each element's key by binary search; the first of equal keys counts, and NaN finds NaN."""
    b = c.b
    nan = np.flatnonzero(keys != keys)
    order = np.argsort(keys, kind="stable")[: len(keys) - len(nan)]
    ordered, index = np.unique(keys[order], return_index=True)
    fallback = b.constant(default)
    y: Value = fallback
    if len(ordered):
        place = b.Min(b.ge.SearchSorted(b.constant(ordered), x), b.constant(np.int64(len(ordered) - 1)))
        found = b.Equal(b.Gather(b.constant(ordered), place), x)
        y = b.Where(found, b.Gather(b.constant(values[order][index].copy()), place), fallback)
    if len(nan):
        y = b.Where(b.IsNaN(x), b.constant(values[nan[0]].reshape(())), y)
    if not len(keys):
        y = b.Expand(fallback, c.shape_of(x))
    return y
