"""Variables, lists of tensors, calls, branches and loops, in functions that use them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from .form import Variant, f, i, within

R = tf.raw_ops


def _variable(function: Callable[[Any, Any], Any], initial: Any, *args: Any, open_sizes: bool = False) -> Variant:
    """A function of a variable and its inputs; gives what it returns and what the variable holds afterwards."""
    variable = tf.Variable(initial)

    def call(*inputs: Any) -> Any:
        found = function(variable, *inputs)
        return [*(found if isinstance(found, list) else [found]), variable.read_value()]

    call.variables = [variable]  # type: ignore[attr-defined]
    return within(call, *args, open_sizes=open_sizes)


BASE = f(4, 3, seed=9)
ROW, ROWS = np.array([1, 3], np.int32), f(2, 3, seed=5)


def _assigns(name: str) -> list[Variant]:
    return [
        _variable(lambda w, x: (getattr(w, name)(x), x + 1.0)[1], BASE, f(4, 3)),
        _variable(lambda w, x: (getattr(w, name)(x), getattr(w, name)(x * 2), w * x)[2], BASE[0], f(3)),
        _variable(lambda w, x: (getattr(w, name)(tf.reduce_sum(x, 0)), x)[1], BASE[0], f(2, 3), open_sizes=True),
    ]


def _scatters(op: str) -> list[Variant]:
    def call(w: Any, x: Any) -> Any:
        getattr(R, f"ResourceScatter{op}")(resource=w.handle, indices=ROW, updates=x)
        return x + 1.0

    return [
        _variable(call, BASE, ROWS),
        _variable(call, BASE[:, 0].copy(), ROWS[:, 0].copy()),
        _variable(call, BASE * 2, ROWS, open_sizes=False),
    ]


def _scatters_nd(op: str) -> list[Variant]:
    def call(w: Any, x: Any) -> Any:
        getattr(R, f"ResourceScatterNd{op}")(ref=w.handle, indices=[[1], [3]], updates=x)
        return x + 1.0

    return [
        _variable(call, BASE, ROWS),
        _variable(call, BASE[:, 0].copy(), ROWS[:, 0].copy()),
        _variable(call, BASE * 2, ROWS),
    ]


def _list(function: Callable[[Any], Any], *shapes: tuple[int, ...]) -> list[Variant]:
    return [within(function, f(*shape), open_sizes=number == 1) for number, shape in enumerate(shapes)]


THREE = ((4, 3), (2, 5), (1, 2))


def _of(x: Any) -> Any:
    return R.TensorListFromTensor(tensor=x, element_shape=tf.shape(x)[1:])


def _stack(handle: Any, shape: Any = (), count: int = -1) -> Any:
    return R.TensorListStack(
        input_handle=handle,
        element_shape=tf.constant(-1) if shape == () else shape,
        element_dtype=tf.float32,
        num_elements=count,
    )


def _reserve(n: Any) -> Any:
    return R.TensorListReserve(element_shape=tf.constant(-1), num_elements=n, element_dtype=tf.float32)


def _filled(x: Any) -> Any:
    handle = _reserve(3)
    for n in range(3):
        handle = R.TensorListSetItem(input_handle=handle, index=n, item=x * float(n + 1))
    return _stack(handle)


def _pushed(x: Any) -> Any:
    handle = R.EmptyTensorList(element_shape=tf.shape(x), max_num_elements=-1, element_dtype=tf.float32)
    for n in range(3):
        handle = R.TensorListPushBack(input_handle=handle, tensor=x * float(n + 1))
    return handle


def _loop_list(x: Any) -> Any:
    rows = tf.TensorArray(tf.float32, size=tf.shape(x)[0], element_shape=x.shape[1:])
    return tf.while_loop(lambda n, r: n < tf.shape(x)[0], lambda n, r: (n + 1, r.write(n, x[n] * 2)), (0, rows))[
        1
    ].stack()


def _branch(x: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) > 0, lambda: x + 1.0, lambda: x * 2.0)


def _nested(x: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) > 0, lambda: tf.cond(x[0, 0] > 0, lambda: x, lambda: -x), lambda: x * 2.0)


def _early(x: Any) -> Any:
    return tf.while_loop(
        lambda n, y: (n < 10) & (tf.reduce_sum(tf.abs(y)) < 30.0), lambda n, y: (n + 1, y * 1.5), (0, x)
    )


def _nested_loop(x: Any) -> Any:
    inner = lambda y: tf.while_loop(lambda n, z: n < 2, lambda n, z: (n + 1, z + x), (0, y))[1]  # noqa: E731
    return tf.while_loop(lambda n, y: n < 3, lambda n, y: (n + 1, inner(y) * 0.5), (0, x))[1]


def _switch(x: Any, n: Any) -> Any:
    return tf.switch_case(n, [lambda: x, lambda: x * 2.0, lambda: -x])


@tf.function
def _inner(x: Any) -> Any:
    return tf.nn.relu(x) + 1.0


def _update(x: Any, y: Any, begin: Any, end: Any, strides: Any) -> Any:
    return R.TensorStridedSliceUpdate(input=x, begin=begin, end=end, strides=strides, value=y)


def _raw(op: str, x: Any, **functions: Any) -> Any:
    made = {key: tf.function(g).get_concrete_function(tf.TensorSpec(x.shape, x.dtype)) for key, g in functions.items()}
    return getattr(R, op), made


def _stateless_if(x: Any) -> Any:
    op, made = _raw("StatelessIf", x, then_branch=lambda y: y + 1.0, else_branch=lambda y: y * 2.0)
    return op(cond=tf.reduce_sum(x) > 0, input=[x], Tout=[tf.float32], **made)


def _for(x: Any, start: int, limit: int, delta: int) -> Any:
    body = tf.function(lambda n, y: y * 0.5 + tf.cast(n, tf.float32)).get_concrete_function(
        tf.TensorSpec([], tf.int32), tf.TensorSpec(x.shape, x.dtype)
    )
    return R.For(start=start, limit=limit, delta=delta, input=[x], body=body)


_CONTROL = THREE
RESOURCES: dict[str, list[Variant]] = {
    "ReadVariableOp": [
        _variable(lambda w, x: w * x, BASE, f(4, 3)),
        _variable(lambda w, x: w + x, BASE[0], f(2, 3), open_sizes=True),
        _variable(lambda w, x: w + x, np.float32(2), f(3)),
    ],
    "AssignVariableOp": _assigns("assign"),
    "AssignAddVariableOp": _assigns("assign_add"),
    "AssignSubVariableOp": _assigns("assign_sub"),
    "VariableShape": [
        _variable(lambda w, x: R.VariableShape(input=w.handle) + x, s, i(1)) for s in (BASE, BASE[0], BASE[:1])
    ],
    "VarIsInitializedOp": [
        _variable(lambda w, x: R.VarIsInitializedOp(resource=w.handle) & (x > 0), s, f(2))
        for s in (BASE, BASE[0], BASE[:1])
    ],
    "ResourceCountUpTo": [
        _variable(
            lambda w, x, n=n: R.ResourceCountUpTo(resource=w.handle, limit=n, T=w.dtype) + tf.cast(x, w.dtype), s, i(2)
        )
        for n, s in ((5, np.int32(0)), (5, np.int64(4)), (100, np.int32(7)))
    ],
    "DeviceIndex": [
        within(lambda x, n=n: R.DeviceIndex(device_names=n) + x, i(2))
        for n in (["GPU", "CPU"], ["CPU"], ["CPU", "GPU"])
    ],
    "ResourceGather": [
        _variable(lambda w, n: tf.gather(w, n), BASE, ROW),
        _variable(lambda w, n: tf.gather(w, n), BASE, i(2, 2, low=0, high=4), open_sizes=True),
        _variable(lambda w, n: tf.gather(w, n), BASE[:, 0].copy(), ROW),
    ],
    "ResourceGatherNd": [
        _variable(lambda w, n: tf.gather_nd(w, n), BASE, i(*s, low=0, high=3)) for s in ((2, 2), (3, 1), (1, 2, 2))
    ],
    "ResourceStridedSliceAssign": [
        _variable(lambda w, x: (w[1:3].assign(x), x)[1], BASE, ROWS),
        _variable(lambda w, x: (w[:, 1].assign(x), x)[1], BASE, f(4)),
        _variable(lambda w, x: (w[::2, ::-1].assign(x), x)[1], BASE, ROWS),
    ],
    "TensorStridedSliceUpdate": [
        within(lambda x, y: _update(x, y, [1, 0], [3, 3], [1, 1]), BASE, ROWS),
        within(lambda x, y: _update(x, y, [0, 1], [4, 2], [1, 1]), BASE, f(4, 1)),
        within(lambda x, y: _update(x, y, [0, 0], [4, 3], [2, 1]), BASE, ROWS),
    ],
    "TensorListFromTensor": _list(lambda x: _stack(_of(x)), *THREE),
    "TensorListReserve": _list(_filled, *THREE),
    "TensorListSetItem": [*_list(_filled, *THREE), *_list(_loop_list, *THREE)],
    "TensorListStack": _list(_filled, *THREE),
    "EmptyTensorList": _list(lambda x: _stack(_pushed(x)), *THREE),
    "TensorListPushBack": _list(lambda x: _stack(_pushed(x)), *THREE),
    "TensorListPopBack": _list(
        lambda x: R.TensorListPopBack(input_handle=_pushed(x), element_shape=tf.shape(x), element_dtype=tf.float32)[1],
        *THREE,
    ),
    "TensorListLength": _list(lambda x: R.TensorListLength(input_handle=_of(x)), *THREE),
    "TensorListElementShape": _list(
        lambda x: R.TensorListElementShape(input_handle=_of(x), shape_type=tf.int32), *THREE
    ),
    "TensorListGetItem": _list(
        lambda x: R.TensorListGetItem(
            input_handle=_of(x), index=0, element_shape=tf.shape(x)[1:], element_dtype=tf.float32
        ),
        *THREE,
    ),
    "TensorListGather": _list(
        lambda x: R.TensorListGather(
            input_handle=_of(x), indices=[0, 0], element_shape=tf.shape(x)[1:], element_dtype=tf.float32
        ),
        *THREE,
    ),
    "TensorListResize": [
        within(lambda x, n=n: _stack(R.TensorListResize(input_handle=_of(x), size=n)), f(4, 3), open_sizes=n == 2)
        for n in (2, 4, 6)
    ],
    "TensorListScatter": _list(
        lambda x: _stack(R.TensorListScatter(tensor=x, indices=[2, 0], element_shape=tf.shape(x)[1:])),
        (2, 3),
        (2, 5),
        (2, 1),
    ),
    "TensorListScatterV2": _list(
        lambda x: _stack(
            R.TensorListScatterV2(tensor=x, indices=[2, 0], element_shape=tf.shape(x)[1:], num_elements=3)
        ),
        (2, 3),
        (2, 5),
        (2, 1),
    ),
    "TensorListScatterIntoExistingList": _list(
        lambda x: _stack(R.TensorListScatterIntoExistingList(input_handle=_of(x), tensor=x[:1] * 2, indices=[1])),
        (2, 3),
        (3, 5),
        (2, 1),
    ),
    "TensorListConcat": [
        within(
            lambda x: list(
                R.TensorListConcat(input_handle=_of(x), element_dtype=tf.float32, element_shape=x.shape[1:])
            ),
            f(*s),
        )
        for s in ((2, 3), (2, 3, 4), (1, 2))
    ],
    "TensorListConcatV2": _list(
        lambda x: list(
            R.TensorListConcatV2(
                input_handle=_of(x),
                element_shape=tf.shape(x)[1:],
                leading_dims=tf.constant([], tf.int64),
                element_dtype=tf.float32,
            )
        ),
        (2, 3),
        (2, 3, 4),
        (1, 2),
    ),
    "TensorListConcatLists": _list(
        lambda x: _stack(R.TensorListConcatLists(input_a=_of(x), input_b=_of(x * 2), element_dtype=tf.float32)), *THREE
    ),
    "TensorListSplit": [
        within(
            lambda x, n=n: _stack(R.TensorListSplit(tensor=x, element_shape=[-1, 3], lengths=tf.constant(n, tf.int64))),
            f(4, 3),
        )
        for n in ([2, 2], [1, 1, 1, 1], [4])
    ],
    "If": _list(_branch, *_CONTROL) + _list(_nested, *_CONTROL),
    "StatelessIf": _list(_stateless_if, *_CONTROL),
    "While": _list(_early, *_CONTROL) + _list(_nested_loop, *_CONTROL) + _list(_loop_list, *_CONTROL),
    "StatelessWhile": _list(_early, *_CONTROL) + _list(_nested_loop, *_CONTROL),
    "StatelessCase": [within(_switch, f(2, 3), np.int32(n)) for n in (0, 1, 2, 5, -1)],
    "Case": [
        _variable(lambda w, x, n: tf.switch_case(n, [lambda: w * x, lambda: x * 2.0]), BASE[0], f(2, 3), np.int32(n))
        for n in (0, 1, 7)
    ]
    + [
        _variable(
            lambda w, x, n: tf.switch_case(n, [lambda: (w.assign(x), x)[1], lambda: x * 2.0]),
            BASE[0],
            f(3),
            np.int32(n),
        )
        for n in (0, 1)
    ],
    "For": [within(lambda x, n=n: _for(x, *n), f(2, 3)) for n in ((0, 3, 1), (5, 1, -2), (2, 2, 1))],
    "PartitionedCall": _list(lambda x: _inner(x) * 2, *_CONTROL),
    "StatefulPartitionedCall": [
        _variable(lambda w, x: tf.function(lambda y: (w.assign_add(y), w * y)[1])(x), BASE[0], f(3)),
        _variable(lambda w, x: tf.function(lambda y: w * y)(x), BASE[0], f(2, 3), open_sizes=True),
        _variable(lambda w, x: tf.function(lambda y: (w.assign(y), y)[1])(x) + w, BASE[0], f(3)),
    ],
}
RESOURCES |= {f"ResourceScatter{op}": _scatters(op) for op in ("Add", "Sub", "Mul", "Div", "Min", "Max", "Update")}
RESOURCES |= {f"ResourceScatterNd{op}": _scatters_nd(op) for op in ("Update", "Add", "Sub", "Min", "Max")}
