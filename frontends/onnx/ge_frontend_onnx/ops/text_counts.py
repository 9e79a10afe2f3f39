"""TfIdfVectorizer on integers: how often each n-gram of a pool stands in a row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import Results, converts

_FLOAT32, _INT64 = DType.of("float32"), DType.of("int64")
_END = np.iinfo(np.int64).max


@converts("TfIdfVectorizer")
def tf_idf_vectorizer(c: Call) -> Results:
    """TfIdfVectorizer(T X) -> (T1 Y); max_gram_length, max_skip_count, min_gram_length, mode, ngram_counts,
    ngram_indexes, pool_int64s, pool_strings, weights

    Elements of an n-gram stand 1 to max_skip_count + 1 places apart; single elements are counted once.
    """
    if c.attr("pool_strings"):
        raise c.unsupported("a pool of strings")
    shortest, longest = int(c.needed("min_gram_length")), int(c.needed("max_gram_length"))
    mode, skips = c.needed("mode"), int(c.needed("max_skip_count"))
    if not 1 <= shortest <= longest or skips < 0 or mode not in ("TF", "IDF", "TFIDF"):
        raise c.error(f"counts n-grams of {shortest} to {longest} with {skips} skips, mode {mode!r}")
    b, x = c.b, c.cast(c.input(0), _INT64)
    flat = c.rank(x) == 1
    rows = c.unsqueeze(x, 0) if flat else x
    counts, places = [], []
    for n, grams, indexes in _pool(c):
        if shortest <= n <= longest and len(grams):
            counts.append(_counted(c, rows, grams, range(1, (skips if n > 1 else 0) + 2)))
            places.extend(indexes)
    width = max(c.needed("ngram_indexes"), default=-1) + 1
    y = _placed(c, rows, counts, places, width)
    weights = c.attr("weights")
    if mode != "TF":
        if mode == "IDF":
            y = b.Cast(b.Greater(y, 0.0), to=_FLOAT32)
        if weights:
            if len(weights) < width:
                raise c.error(f"has {len(weights)} weights for {width} results")
            y = b.Mul(y, b.constant(np.array(weights[:width], np.float32)))
    return b.Squeeze(y, b.ints(0)) if flat else y


def _pool(c: Call) -> list[tuple[int, np.ndarray, list[int]]]:
    """For each length n: the n-grams as rows, and the places of their counts in the result."""
    pool, starts, indexes = c.needed("pool_int64s"), c.needed("ngram_counts"), list(c.needed("ngram_indexes"))
    ends = [*starts[1:], len(pool)]
    found, used = [], 0
    for n, (start, end) in enumerate(zip(starts, ends, strict=True), 1):
        if not 0 <= start <= end <= len(pool) or (end - start) % n:
            raise c.error(f"the n-grams of length {n} stand at {start} to {end} of a pool of {len(pool)}")
        grams = np.array(pool[start:end], np.int64).reshape(-1, n)
        found.append((n, grams, indexes[used : used + len(grams)]))
        used += len(grams)
    if used != len(indexes) or min(indexes, default=0) < 0:
        raise c.error(f"has {len(indexes)} indexes for {used} n-grams")
    return found


def _counted(c: Call, rows: Value, grams: np.ndarray, distances: Sequence[int]) -> Value:
    """`[rows, n-grams]`: how often each n-gram stands in a row at these distances of its elements."""
    b, n = c.b, grams.shape[1]
    total: Value | None = None
    for distance in distances:
        hits: Value | None = None
        for k in range(n):
            end = -(n - 1 - k) * distance or _END
            part = b.Slice(rows, b.ints(k * distance), b.ints(end), b.ints(1))
            hit = b.Equal(c.unsqueeze(part, 2), b.constant(grams[:, k].copy()))
            hits = hit if hits is None else b.And(hits, hit)
        assert hits is not None
        count = b.ReduceSum(b.Cast(hits, to=_FLOAT32), b.ints(1), keepdims=0)
        total = count if total is None else b.Add(total, count)
    assert total is not None
    return total


def _placed(c: Call, rows: Value, counts: Sequence[Value], places: Sequence[int], width: int) -> Value:
    """`[rows, width]`: the counts at their places, 0 elsewhere."""
    b = c.b
    zero = b.ConstantOfShape(b.Concat([c.size(rows, 0), b.ints(1)], axis=0), value=np.zeros(1, np.float32))
    if len(set(places)) != len(places):
        raise c.unsupported("two n-grams with one place in the result")
    source = np.full(width, len(places), np.int64)
    source[list(places)] = np.arange(len(places))
    value: Value = b.Gather(b.Concat([*counts, zero], axis=1), b.constant(source), axis=1)
    return value
