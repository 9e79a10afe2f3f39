"""Functions of many TensorFlow operators, control flow and variables, for the list of models."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def image_operators() -> Any:
    """Operators on images."""
    resize, old = tf.image.resize, tf.compat.v1.image.resize_bilinear

    def f(x: Any) -> list[Any]:
        return [
            resize(x, [20, 30]), resize(x, [20, 30], "nearest"), resize(x, [20, 30], "bicubic"),
            resize(x, [20, 30], "area"), resize(x, [7, 7], antialias=True), resize(x, [20, 30], "lanczos3"),
            old(x, [20, 20], align_corners=True), old(x, [20, 20]),
            tf.image.crop_and_resize(x, [[0.0, 0.0, 0.5, 0.5]], [0], [4, 4]), tf.image.rgb_to_grayscale(x),
            tf.image.flip_left_right(x), tf.image.central_crop(x, 0.5),
            tf.image.extract_patches(x, [1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], "SAME"),
            tf.nn.space_to_depth(x, 2), tf.nn.depth_to_space(tf.tile(x, [1, 1, 1, 4]), 2),
            tf.image.non_max_suppression(tf.ones([4, 4]), tf.ones([4]), 3),
            tf.image.combined_non_max_suppression(tf.ones([1, 4, 1, 4]), tf.ones([1, 4, 1]), 3, 3),
            tf.image.per_image_standardization(x), tf.image.adjust_brightness(x, 0.1), tf.image.rgb_to_hsv(x),
        ]  # fmt: skip

    return tf.function(f)


def math_operators() -> Any:
    """Operators of all kinds; random numbers are compared by what must hold for them, and the text is not returned."""

    def f(x: Any, i: Any) -> list[Any]:
        tf.strings.as_string(x)
        drawn = [tf.random.uniform([2]) < 1.0, tf.random.stateless_uniform([2], [1, 2]) < 1.0]
        return [
            tf.einsum("bij,bjk->bik", x, x), tf.cumsum(x, 1), tf.math.top_k(x, 2), tf.argsort(x), tf.sort(x),
            tf.gather_nd(x, i), tf.scatter_nd(i, tf.ones([2]), [4, 4, 4]),
            tf.tensor_scatter_nd_update(x, i, tf.ones([2])), tf.where(x > 0), tf.where(x > 0, x, -x),
            tf.one_hot(i, 4), tf.boolean_mask(x, x > 0), tf.unique(tf.reshape(x, [-1])), tf.split(x, 2, 1),
            tf.concat([x, x], 0), tf.stack([x, x]), tf.unstack(x, 4, 1),
            tf.pad(x, [[1, 1], [0, 0], [0, 0]], "REFLECT"), tf.roll(x, 1, 0), tf.reverse(x, [0]),
            tf.math.segment_sum(x, [0, 0, 1, 1]), tf.math.unsorted_segment_mean(x, [0, 0, 1, 1], 2),
            tf.linalg.band_part(x, 0, -1), tf.linalg.diag_part(x), tf.math.erf(x),
            tf.abs(tf.signal.stft(tf.reshape(x, [1, -1]), 16, 8)), tf.math.real(tf.signal.rfft(x)), tf.range(3),
            tf.reduce_logsumexp(x, 1), tf.math.l2_normalize(x, 1), tf.nn.lrn(x[None]),
            tf.clip_by_value(x, 0.0, 1.0), tf.math.floormod(x, 2.0), tf.searchsorted([[0.0, 1.0]], [[0.5]]),
            tf.broadcast_to(x[0], [3, 4, 4]), tf.sequence_mask([1, 2], 3), tf.nn.relu6(x), tf.nn.selu(x),
            tf.nn.swish(x), tf.nn.gelu(x, True), tf.nn.softplus(x), tf.nn.softsign(x), tf.nn.log_softmax(x),
            tf.quantization.fake_quant_with_min_max_args(x), drawn,
            tf.nn.ctc_greedy_decoder(tf.transpose(x, [1, 0, 2]), tf.fill([4], 4))[1],
            tf.nn.embedding_lookup(x, [0]), tf.linalg.matmul(x, x, transpose_b=True), tf.math.bincount([1, 2]),
            tf.math.cumprod(x, 1), tf.math.reduce_all(x > 0), tf.bitwise.bitwise_and([1], [3]),
            tf.meshgrid([1, 2], [3]),
        ]  # fmt: skip

    return tf.function(f)


def control() -> Any:
    """Loops with an early exit, branches, a list that grows, a switch, map and scan."""
    w = tf.Variable(tf.ones([4, 4]))

    def f(x: Any, n: Any) -> Any:
        i = tf.constant(0)
        y = x
        while i < n:
            y = tf.matmul(y, w)
            i += 1
            if tf.reduce_sum(y) > 100.0:
                break
        z = tf.nn.relu(y) if tf.reduce_mean(y) > 0 else -y
        rows = tf.TensorArray(tf.float32, 0, dynamic_size=True, element_shape=[None, 4])
        for k in tf.range(n):
            rows = rows.write(k, y)
        chosen = tf.switch_case(n % 3, [lambda: y, lambda: y * 2, lambda: y * 3])
        mapped = tf.map_fn(lambda a: a * 2, x)
        return z, rows.stack(), chosen, mapped, tf.scan(lambda a, b: a + b, x)

    function = tf.function(f)
    function.kept = w
    return function


def stateful() -> Any:
    """A function that adds to a variable."""
    w, v = tf.Variable(tf.ones([4, 4])), tf.Variable(tf.zeros([4]))

    def f(x: Any) -> Any:
        v.assign_add(tf.reduce_sum(x, 0))
        return tf.matmul(x, w) + v

    function = tf.function(f)
    function.kept = (w, v)
    return function


def table() -> Any:
    """A function of text: it looks words up in a table."""
    rows = tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2])
    words = tf.lookup.StaticHashTable(rows, -1)
    function = tf.function(lambda s: words.lookup(tf.strings.split(s).flat_values))
    function.kept = words
    return function


def counted_words() -> Any:
    """A function of numbers beside which another branch makes text that no output needs."""
    words = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["1", "2"], [1, 2]), -1)

    def f(x: Any) -> Any:
        words.lookup(tf.strings.as_string(tf.cast(x, tf.int32)))
        return tf.nn.relu(x) * 2

    function = tf.function(f)
    function.kept = words
    return function
