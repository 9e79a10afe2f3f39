"""Random words: CANN's operators for stateless numbers are TensorFlow's, whose cipher is also that of the IR."""

from __future__ import annotations

import numpy as np

from ge_ascend.meaning.call import Call, Result, meaning
from ge_core.ir.dtype import int64, uint32
from ge_core.ir.graph import Value, constant_of

PHILOX = 1
"""The number of the algorithm, as TensorFlow has it."""


@meaning("StatelessRandomUniformFullIntV2")
def words(c: Call) -> Result:
    """StatelessRandomUniformFullIntV2(shape, key, counter, alg; dtype): the words of Philox 4x32-10, in order.

    The key is the seed; of the counter's two numbers the first is where the blocks begin, the second must be 0.
    """
    if c.dtype_attr("dtype") != uint32:
        raise c.error("only words of 32 bits (DT_UINT32) are supported")
    algorithm = constant_of(c["alg"])
    if algorithm is None or int(algorithm.array().reshape(())) != PHILOX:
        raise c.error(f"only the algorithm Philox ({PHILOX}) is supported, as a constant")
    low, point = _low(c, c["counter"]), c.b.constant(np.zeros(0, np.int64))
    seed, offset = (c.b.Reshape(c.cast(v, int64), point) for v in (c["key"], low))
    shape = c.cast(c["shape"], int64)
    found: Value = c.b.ge.Random(
        shape, seed, offset, dtype=uint32, distribution="randint", low=0.0, high=float(1 << 32)
    )
    return found


def _low(c: Call, counter: Value) -> Value:
    """The lower number of a counter whose upper one is known to be 0."""
    constant, producer = constant_of(counter), counter.producer
    if constant is not None and constant.type.shape == (2,) and constant.array()[1] == 0:
        found: Value = c.b.constant(constant.array()[:1])
        return found
    if producer is not None and producer.op == "Concat" and len(producer.inputs) == 2:
        first, second = producer.inputs
        upper = None if second is None else constant_of(second)
        if first is not None and first.shape == (1,) and upper is not None and not upper.array().any():
            return first
    raise c.error("the upper half of the counter is not known to be 0")
