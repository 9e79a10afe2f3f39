"""Loops and lists in forms that no single operator's test has: early exits, writes under conditions, growing lists."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from ge_core.ir.traverse import walk

from .agreement import check

X = np.array([[1.0, -2.0, 3.0], [-4.0, 5.0, 6.0], [0.5, 0.25, -9.0], [2.0, 2.0, 2.0]], np.float32)


def graphs(function):
    """The function as AutoGraph writes it."""
    return tf.function(function, autograph=True)


def ops(imported, *names):
    return [node for node in walk(imported.graph) if node.op in names]


def test_a_list_that_is_written_under_a_condition():
    def function(x):
        rows = tf.TensorArray(tf.float32, size=4, element_shape=[3])
        for i in tf.range(4):
            if tf.reduce_sum(x[i]) > 0.0:  # noqa: SIM108  (AutoGraph makes a branch of it)
                rows = rows.write(i, x[i] * 2.0)
            else:
                rows = rows.write(i, -x[i])
        return rows.stack()

    check(graphs(function), X)


def test_a_list_that_grows_until_the_loop_breaks():
    def function(x):
        rows = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[3])
        total = tf.constant(0.0)
        i = tf.constant(0)
        while i < 4:
            total += tf.reduce_sum(tf.abs(x[i]))
            rows = rows.write(i, x[i] + total)
            i += 1
            if total > 15.0:
                break
        return rows.stack(), total

    check(graphs(function), X)


def test_a_list_that_is_read_and_written_in_one_loop():
    def function(x):
        rows = tf.TensorArray(tf.float32, size=4, element_shape=[3], clear_after_read=False).unstack(x)
        for i in tf.range(1, 4):
            rows = rows.write(i, rows.read(i) + rows.read(i - 1))
        return rows.stack()

    check(graphs(function), X)


def test_a_list_filled_in_part():
    def function(x):
        rows = tf.TensorArray(tf.float32, size=6, element_shape=[3])
        for i in tf.range(1, 4):
            rows = rows.write(i, x[i])
        return rows.stack()

    imported = check(graphs(function), X)
    assert len(ops(imported, "ScatterND")) == 0


def test_two_counters_and_a_limit_that_the_data_decide():
    def function(x, n):
        a, b, y = 0, 5, x
        while a < n and b < 100:
            y = y * 1.5 + tf.cast(a - b, tf.float32)
            a += 1
            b += 1
        return y, a, b

    for n in (0, 3):
        check(graphs(function), X, np.int32(n))


def test_map_and_scan_over_open_sizes():
    check(lambda x: (tf.map_fn(lambda r: r * 2.0 + tf.reduce_max(r), x), tf.scan(lambda a, r: a * 0.5 + r, x)), X,
          open_sizes=True)  # fmt: skip


def test_a_nest_of_loops_and_branches():
    def function(x):
        total = tf.zeros([3])
        for i in tf.range(3):
            for j in tf.range(i + 1):
                if x[i, 0] > x[j, 0]:
                    total += x[i]
                else:
                    total -= x[j] * 0.5
        return total

    check(graphs(function), X)


def test_a_value_whose_shape_a_round_changes():
    def function(x):
        y = x[:1]
        for i in tf.range(3):
            tf.autograph.experimental.set_loop_options(shape_invariants=[(y, tf.TensorShape([None, 3]))])
            y = tf.concat([y, x[i : i + 1]], 0)
        return y

    check(graphs(function), X)
