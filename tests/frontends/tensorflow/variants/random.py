"""Random numbers: compared by their distribution, since the numbers are others than TensorFlow's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from .form import Variant, f


def _alike(ours: list[np.ndarray], theirs: list[np.ndarray]) -> None:
    """Element type, shape, range, mean and spread are the same within five standard errors."""
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype == b.dtype and a.shape == b.shape
        if not a.size:
            continue
        x, y = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
        error = 5 * max(y.std(), 1e-9) * np.sqrt(2 / x.size)
        assert abs(x.mean() - y.mean()) <= error, (x.mean(), y.mean(), error)
        assert abs(x.std() - y.std()) <= error, (x.std(), y.std(), error)
        assert x.std() > 0 or y.std() == 0


def _permuted(ours: list[np.ndarray], theirs: list[np.ndarray]) -> None:
    np.testing.assert_array_equal(np.sort(ours[0], axis=0), np.sort(theirs[0], axis=0))


def _drawn(function: Callable[..., Any], *args: Any, check: Any = _alike, open_sizes: bool = False) -> Variant:
    return Variant(args, {}, open_sizes, check=check, function=function)


SEED = np.array([1, 2], np.int32)
S = tf.random
R = tf.raw_ops


def _shapes(draw: Callable[[Any], Any]) -> list[Variant]:
    """A fixed shape, an empty one, and one that is read from an input."""
    return [
        _drawn(lambda x: (draw([40, 50]), x)[0], f(1)),
        _drawn(lambda x: (draw([0, 3]), x)[0], f(1)),
        _drawn(lambda x: draw(tf.shape(x)), f(30, 20), open_sizes=True),
    ]


def _seeded(draw: Callable[[Any, Any], Any]) -> list[Variant]:
    return [
        _drawn(lambda s: draw([40, 50], s), SEED),
        _drawn(lambda s: draw([0, 3], s), SEED),
        _drawn(lambda x, s: draw(tf.shape(x), s), f(30, 20), SEED),
    ]


def _key(s: Any) -> tuple[Any, Any]:
    found = R.StatelessRandomGetKeyCounter(seed=s)
    return found.key, found.counter


def _v2(draw: Callable[..., Any]) -> list[Variant]:
    return _seeded(lambda shape, s: draw(shape, *_key(s), 1))


RANDOM: dict[str, list[Variant]] = {
    "RandomUniform": _shapes(lambda n: S.uniform(n)),
    "RandomStandardNormal": _shapes(lambda n: S.normal(n)),
    "TruncatedNormal": _shapes(lambda n: S.truncated_normal(n)),
    "RandomUniformInt": _shapes(lambda n: S.uniform(n, -5, 20, tf.int32)),
    "StatelessRandomUniform": _seeded(lambda n, s: R.StatelessRandomUniform(shape=n, seed=s)),
    "StatelessRandomNormal": _seeded(lambda n, s: R.StatelessRandomNormal(shape=n, seed=s)),
    "StatelessTruncatedNormal": _seeded(lambda n, s: R.StatelessTruncatedNormal(shape=n, seed=s)),
    "StatelessRandomUniformInt": _seeded(
        lambda n, s: R.StatelessRandomUniformInt(shape=n, seed=s, minval=-5, maxval=20)
    ),
    "StatelessRandomUniformV2": _v2(lambda n, k, c, a: R.StatelessRandomUniformV2(shape=n, key=k, counter=c, alg=a)),
    "StatelessRandomNormalV2": _v2(lambda n, k, c, a: R.StatelessRandomNormalV2(shape=n, key=k, counter=c, alg=a)),
    "StatelessTruncatedNormalV2": _v2(
        lambda n, k, c, a: R.StatelessTruncatedNormalV2(shape=n, key=k, counter=c, alg=a)
    ),
    "StatelessRandomUniformIntV2": _v2(
        lambda n, k, c, a: R.StatelessRandomUniformIntV2(shape=n, key=k, counter=c, alg=a, minval=-5, maxval=20)
    ),
    "StatelessRandomGetKeyCounter": _v2(
        lambda n, k, c, a: R.StatelessRandomUniformV2(shape=n, key=k, counter=c, alg=a)
    ),
    "StatelessRandomUniformFullInt": _seeded(
        lambda n, s: R.StatelessRandomUniformFullInt(shape=n, seed=s, dtype=tf.int32)
    ),
    "StatelessRandomUniformFullIntV2": _v2(
        lambda n, k, c, a: R.StatelessRandomUniformFullIntV2(shape=n, key=k, counter=c, alg=a, dtype=tf.uint32)
    ),
    "StatelessRandomGetAlg": [
        _drawn(
            lambda x, n=n: (
                R.StatelessRandomUniformV2(
                    shape=n, key=_key([1, 2])[0], counter=_key([1, 2])[1], alg=R.StatelessRandomGetAlg()
                )
                + x * 0
            ),
            f(1),
        )
        for n in ([40, 50], [0], [700])
    ],
    "StatelessRandomGetKeyCounterAlg": _seeded(
        lambda n, s: R.StatelessRandomUniformV2(shape=n, **R.StatelessRandomGetKeyCounterAlg(seed=s)._asdict())
    ),
    "RandomShuffle": [
        _drawn(lambda x: S.shuffle(x), f(20), check=_permuted),
        _drawn(lambda x: S.shuffle(x), f(5, 1), check=_permuted, open_sizes=True),
        _drawn(lambda x: S.shuffle(x), f(1), check=_permuted),
    ],
    "StatelessShuffle": [
        _drawn(
            lambda x, s: R.StatelessShuffle(value=x, key=_key(s)[0], counter=_key(s)[1], alg=1),
            f(*n),
            SEED,
            check=_permuted,
        )
        for n in ((20,), (5, 1), (1,))
    ],
    "Multinomial": [
        _drawn(lambda x: S.categorical(x, 400), f(2, 3)),
        _drawn(lambda x: S.categorical(x, 400, tf.int32), f(1, 5)),
        _drawn(lambda x: S.categorical(x, 0), f(2, 3)),
    ],
    "StatelessMultinomial": [
        _drawn(lambda x, s: S.stateless_categorical(x, 400, s), f(2, 3), SEED),
        _drawn(lambda x, s: S.stateless_categorical(x, 400, s, tf.int32), f(1, 5), SEED),
        _drawn(lambda x, s: S.stateless_categorical(x, 0, s), f(2, 3), SEED),
    ],
}
