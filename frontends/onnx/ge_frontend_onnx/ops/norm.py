"""BatchNormalization over the statistics of the batch itself."""

from __future__ import annotations

from ge_core.ir.dtype import DType
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import Results, converts

_FLOAT32 = DType.of("float32")


@converts("BatchNormalization")
def batch_normalization(c: Call) -> Results:
    """BatchNormalization(T X, T1 scale, T1 B, T2 input_mean, T2 input_var) -> (T Y, T2 running_mean?, T2 running_var?);
    epsilon, momentum, training_mode
    """
    if not c.attr("training_mode", 0):
        if c.num_outputs > 1:
            raise c.error("gives statistics", expected="training_mode = 1")
        c.attrs.pop("training_mode", None)
        c.attrs.pop("momentum", None)
        return c.build("BatchNormalization", c.inputs, c.attrs)
    return batch_statistics(c, *(c.input(i) for i in range(5)))


def batch_statistics(c: Call, x: Value, scale: Value, bias: Value, mean: Value, var: Value) -> list[Value]:
    """Normalise by mean and population variance of the batch, and mix them into the running ones.

    y = (x - m) / sqrt(v + epsilon) * scale + bias; running = old * momentum + new * (1 - momentum)
    """
    b, momentum = c.b, c.attr("momentum", 0.9)
    axes = b.ints([0, *range(2, c.rank(x))])
    wide = x if x.dtype.bits >= 32 else b.Cast(x, to=_FLOAT32)
    centred = b.Sub(wide, b.ReduceMean(wide, axes, keepdims=1))
    m = b.ReduceMean(wide, axes, keepdims=0)
    v = b.ReduceMean(b.Mul(centred, centred), axes, keepdims=0)
    y = b.BatchNormalization(
        x, scale, bias, c.cast(m, mean.dtype), c.cast(v, var.dtype), epsilon=c.attr("epsilon", 1e-5)
    )
    return [y, _mixed(c, mean, m, momentum), _mixed(c, var, v, momentum)]


def _mixed(c: Call, old: Value, new: Value, momentum: float) -> Value:
    keep, take = c.scalar(momentum, old.dtype), c.scalar(1 - momentum, old.dtype)
    total: Value = c.b.Add(c.b.Mul(old, keep), c.b.Mul(c.cast(new, old.dtype), take))
    return total
