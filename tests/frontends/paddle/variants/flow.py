"""Variants of control flow and of tensor arrays."""

# ruff: noqa: E501  a line for each form of an operator

from __future__ import annotations

from typing import Any

import numpy as np
import paddle
from paddle.static import nn as static

from tests.frontends.paddle.variants.data import f32, f64, i64, v

X = f32(2, 3)


def _branch(x: Any) -> Any:
    return static.cond(paddle.mean(x) > 0, lambda: x * 2, lambda: x - 1)


def _two(x: Any, n: Any) -> Any:
    return static.cond(n > 2, lambda: (x + 1, n * 2), lambda: (x * 3, n - 5))


def _nested(x: Any) -> Any:
    return static.cond(
        paddle.sum(x) > 0, lambda: static.cond(paddle.max(x) > 1, lambda: x, lambda: -x), lambda: paddle.tanh(x)
    )


def _count(x: Any, n: Any) -> Any:
    i = paddle.zeros([], "int64")
    return static.while_loop(lambda i, y: i < n, lambda i, y: [i + 1, paddle.tanh(y) + 1], [i, x])


def _until(x: Any) -> Any:
    return static.while_loop(lambda y: paddle.sum(y) < 50, lambda y: [y * 2 + 1], [x])


def _branch_inside(x: Any, n: Any) -> Any:
    i = paddle.zeros([], "int64")

    def body(i: Any, y: Any) -> list[Any]:
        return [i + 1, static.cond(paddle.sum(y) > 1, lambda: y - 1, lambda: y + 2)]

    return static.while_loop(lambda i, y: i < n, body, [i, x])


def _place(k: int) -> Any:
    return paddle.full([1], k, "int64")


def _array(*items: Any) -> Any:
    array = paddle.tensor.create_array("float32")
    for k, item in enumerate(items):
        array = paddle.tensor.array_write(item, _place(k), array)
    return array


def _to_tensor(array: Any, axis: int, stack: bool) -> Any:
    return paddle.tensor.manipulation.tensor_array_to_tensor(array, axis, use_stack=stack)


_READS = [
    v(lambda x: paddle.tensor.array_read(_array(x, x * 2), _place(1)), X),
    v(lambda x: paddle.tensor.array_read(_array(x), _place(0)) + 1, f32(4)),
    v(lambda x: paddle.tensor.array_read(_array(x, -x, x + 1), _place(2)), f32(2, 2, 2)),
]
_LENGTHS = [
    v(lambda x: paddle.tensor.array_length(_array(x, x * 2)), X),
    v(lambda x: paddle.tensor.array_length(_array(x)), X),
    v(lambda x: paddle.tensor.array_length(_array(x, x, x)), f32(4)),
]
_STACKS = [
    v(lambda x: _to_tensor(_array(x, x * 2), 0, True), X),
    v(lambda x: _to_tensor(_array(x, x * 2), 1, False), X),
    v(lambda x, y: _to_tensor(_array(x, y), 0, False), X, f32(2, 3, seed=1)),
    v(lambda x: _to_tensor(_array(x, x + 1), 1, True), X),
]

FLOW = {
    "if": [v(_branch, X), v(_branch, -np.abs(X)), v(_two, X, np.array(3)), v(_two, X, np.array(1)), v(_nested, f64(3))],
    "while": [v(_count, X, np.array(3)), v(_count, f32(4), np.array(0)), v(_until, np.abs(X)),
              v(_branch_inside, X, np.array(4))],
    "create_array": _READS,
    "array_write_": _READS,
    "array_read": _READS,
    "array_length": _LENGTHS,
    "array_to_tensor": _STACKS,
    "data": [v(lambda x: paddle.abs(x), a) for a in (X, i64(3), f64())],
    "fetch": [v(lambda x: (paddle.abs(x), -x), a) for a in (X, i64(3), f64())],
}  # fmt: skip

TABLES = (FLOW,)
