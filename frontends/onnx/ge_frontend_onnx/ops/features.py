"""Columns of features: categories, missing values, and several inputs side by side (ai.onnx.ml)."""

from __future__ import annotations

import numpy as np

from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import Results, converts

_FLOAT32, _INT64 = DType.of("float32"), DType.of("int64")


@converts("OneHotEncoder", domain="ai.onnx.ml")
def one_hot_encoder(c: Call) -> Results:
    """OneHotEncoder(T X) -> (float Y); cats_int64s, cats_strings, zeros: 1 at the category of each element"""
    b, x = c.b, c.input(0)
    if c.attr("cats_strings"):
        raise c.unsupported("categories that are strings")
    categories = np.array(c.needed("cats_int64s"), np.int64)
    if not c.attr("zeros", 1):
        raise c.unsupported("an error for unknown categories (zeros = 0)", "encode unknown categories as zeros")
    hit = b.Equal(c.unsqueeze(c.cast(x, _INT64), -1), b.constant(categories))
    return b.Cast(hit, to="float32")


@converts("Imputer", domain="ai.onnx.ml")
def imputer(c: Call) -> Results:
    """Imputer(T X) -> (T Y); imputed_value_*, replaced_value_*: other values for those that mean "missing" """
    b, x = c.b, c.input(0)
    kind = "floats" if x.dtype.is_float else "int64s"
    values = np.array(c.needed(f"imputed_value_{kind}")).astype(x.dtype.numpy)
    old = c.attr(f"replaced_value_{kind[:-1]}", 0)
    size = x.shape[-1] if c.rank(x) else 1
    if len(values) != 1 and isinstance(size, int) and len(values) != size:
        raise c.error(f"has {len(values)} values for {size} columns")
    missing = b.IsNaN(x) if x.dtype.is_float and np.isnan(old) else b.Equal(x, c.scalar(old, x.dtype))
    return b.Where(missing, b.constant(values), x)


@converts("FeatureVectorizer", domain="ai.onnx.ml")
def feature_vectorizer(c: Call) -> Results:
    """FeatureVectorizer(T1 X, ...) -> (float Y); inputdimensions: the columns that each input takes, side by side"""
    widths = c.needed("inputdimensions")
    if len(widths) != len(c.inputs):
        raise c.error(f"has {len(c.inputs)} inputs and {len(widths)} inputdimensions")
    parts = [_columns(c, c.input(i), int(width)) for i, width in enumerate(widths)]
    return parts[0] if len(parts) == 1 else c.b.Concat(parts, axis=1)


def _columns(c: Call, x: Value, width: int) -> Value:
    """`[rows, width]`: what is missing is 0, what is too much is left out."""
    if c.rank(x) != 2:  # of a vector some make a row, others a column
        raise c.unsupported(f"an input of rank {c.rank(x)}")
    x = c.cast(x, _FLOAT32)
    have = x.shape[1]
    if not isinstance(have, int):
        raise c.unsupported("an input whose number of columns is not fixed")
    if have < width:
        added: Value = c.b.Pad(x, c.b.ints(0, 0, 0, width - have))
        return added
    return c.slice(x, 1, 0, width) if have > width else x
