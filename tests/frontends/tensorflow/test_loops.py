"""Loops and lists in forms that no single operator's test has: early exits, writes under conditions, growing lists."""

from __future__ import annotations

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers as L

import ge_core
from ge_core.ir.traverse import walk
from ge_core.passes import optimise
from ge_core.reference.interpret import interpret

from .agreement import assert_close, check

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


def loops(graph):
    return [node.op for node in walk(graph) if node.op in ("Loop", "Scan")]


RECURRENT = {
    "LSTM": lambda: [L.LSTM(4, return_sequences=True), L.LSTM(3)],
    "GRU": lambda: [L.GRU(4, go_backwards=True, return_sequences=True), L.GRU(3, reset_after=False)],
    "SimpleRNN": lambda: [L.SimpleRNN(4)],
    "Bidirectional": lambda: [
        L.Masking(),
        L.Bidirectional(L.LSTM(4, return_sequences=True)),
        L.Bidirectional(L.GRU(3)),
    ],
}


@pytest.mark.parametrize(("name", "kinds"), [("LSTM", 2), ("GRU", 2), ("SimpleRNN", 1), ("Bidirectional", 4)])
def test_recurrent_layers_scan_their_steps(name, kinds):
    model = keras.Sequential([L.Input((None, 2)), *RECURRENT[name]()])
    graph = ge_core.import_model(model, [tf.TensorSpec([None, None, 2], tf.float32)])
    compiled = ge_core.compile(graph, target="cpu")
    assert loops(compiled.graph) == ["Scan"] * kinds
    assert not compiled.report.host_steps
    assert "ScatterND" not in {node.op for node in walk(compiled.graph)}  # the last step alone is kept as it is
    for shape in ((2, 5, 2), (1, 1, 2), (3, 6, 2)):
        x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
        x[:, shape[1] // 2 + 1 :] = 0  # masked, where a layer masks
        assert_close(np.asarray(compiled(x)), model(x).numpy())


def test_maps_and_scans_become_scans_and_take_no_rows_too():
    def function(x):
        doubled = tf.map_fn(lambda r: r * 2.0 + tf.reduce_max(r), x)
        return doubled, tf.scan(lambda a, r: a * 0.5 + r, tf.reverse(x, [0]), tf.ones([3]))

    concrete = tf.function(function).get_concrete_function(tf.TensorSpec([None, 3], tf.float32))
    graph = ge_core.import_model(concrete).graph
    optimise(graph)
    assert loops(graph) == ["Scan"] * 2
    for rows in (4, 1, 0):
        for got, want in zip(interpret(graph, [X[:rows]], {})[0], concrete(tf.constant(X[:rows])), strict=True):
            assert_close(np.asarray(got), want.numpy())


def test_a_loop_that_ends_early_or_starts_late_stays_a_loop():
    def late(x):
        total = tf.zeros([3])
        for i in tf.range(1, tf.shape(x)[0]):
            total += x[i]
        return total

    def early(x):
        total = tf.zeros([3])
        for row in x:
            total += row
            if tf.reduce_sum(total) > 5.0:
                break
        return total

    for function in (late, early):
        imported = check(graphs(function), X, open_sizes=True)
        optimise(imported.graph)
        assert loops(imported.graph) == ["Loop"]
