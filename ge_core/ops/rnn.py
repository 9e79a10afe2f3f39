"""Type rules of recurrent layers, and what their attributes say about directions and activations."""

from __future__ import annotations

from dataclasses import dataclass

from ge_core.ir.dims import Size
from ge_core.ir.types import TensorType
from ge_core.ops.constraints import float_dtype, require_choice, require_rank
from ge_core.ops.infer import Infer
from ge_core.ops.registry import type_rule
from ge_core.ops.windows import Attributes

# Activation functions by lower-case name: default alpha and beta, None where the function has none.
ACTIVATIONS: dict[str, tuple[float | None, float | None]] = {
    "relu": (None, None),
    "tanh": (None, None),
    "sigmoid": (None, None),
    "affine": (1.0, 0.0),
    "leakyrelu": (0.01, None),
    "thresholdedrelu": (1.0, None),
    "scaledtanh": (1.0, 1.0),
    "hardsigmoid": (0.2, 0.5),
    "elu": (1.0, None),
    "softsign": (None, None),
    "softplus": (None, None),
}

# Operator -> default activations of one direction.
_DEFAULTS = {
    "RNN": ("Tanh",),
    "GRU": ("Sigmoid", "Tanh"),
    "LSTM": ("Sigmoid", "Tanh", "Tanh"),
    "ge.LSTM": ("Sigmoid", "Tanh", "Tanh"),
}
_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4, "ge.LSTM": 4}


@dataclass(frozen=True)
class Activation:
    """An activation function with its numbers."""

    name: str
    alpha: float | None = None
    beta: float | None = None


def directions(c: Attributes) -> tuple[bool, ...]:
    """For each direction of the layer whether it runs backwards."""
    return {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}[c.attr("direction")]


def activations(c: Attributes, op: str) -> list[list[Activation]]:
    """The activation functions of each direction; alphas and betas go to the functions that take them, in order.

    Raises:
        ValueError: unknown function, or a wrong number of them.
    """
    default = _DEFAULTS[op]
    count = len(directions(c))
    given = None if op == "ge.LSTM" else c.attr("activations")
    names = default * count if given is None or op == "RNN" and tuple(given) == ("Tanh", "Tanh") else tuple(given)
    if len(names) != len(default) * count:
        raise ValueError(f"{len(names)} activations, expected {len(default) * count}")
    alphas = list(() if op == "ge.LSTM" else c.attr("activation_alpha", ()))
    betas = list(() if op == "ge.LSTM" else c.attr("activation_beta", ()))
    made = []
    for name in names:
        if name.lower() not in ACTIVATIONS:
            raise ValueError(f"unknown activation {name!r}, expected one of {', '.join(ACTIVATIONS)}")
        alpha, beta = ACTIVATIONS[name.lower()]
        alpha = alphas.pop(0) if alpha is not None and alphas else alpha
        beta = betas.pop(0) if beta is not None and betas else beta
        made.append(Activation(name.lower(), alpha, beta))
    return [made[i : i + len(default)] for i in range(0, len(made), len(default))]


@type_rule("RNN", "GRU", "LSTM", "ge.LSTM")
def recurrent(c: Infer) -> list[TensorType]:
    op = c.node.op
    lstm = op.endswith("LSTM")
    dtype = float_dtype(c, *(i for i in range(c.num_inputs) if i != 4))
    require_choice(c, "direction", ("forward", "reverse", "bidirectional"))
    try:
        activations(c, op)
    except ValueError as e:
        raise c.error(str(e)) from e
    for index in (0, 1, 2):
        require_rank(c, index, 3)
    count, gates = len(directions(c)), _GATES[op]
    batch_first = bool(c.attr("layout"))
    length, batch, width = c.shape(0)
    if batch_first:
        length, batch = batch, length
    projected = op == "ge.LSTM" and c.has(7)
    hidden: Size | None = c.attr("hidden_size")
    if hidden is None:
        hidden = c.shape(2)[2]
    out: Size = c.shape(7)[1] if projected else hidden
    _expect(c, 1, (count, hidden * gates, width))
    _expect(c, 2, (count, hidden * gates, out))
    _expect(c, 3, (count, hidden * (2 * gates)))
    _expect(c, 4, (batch,))
    start = (batch, count) if batch_first else (count, batch)
    _expect(c, 5, (*start, out))
    if lstm:
        _expect(c, 6, (*start, hidden))
        _expect(c, 7, (count, out, hidden) if projected else (count, hidden * 3))
    if c.has(4) and not c.dtype(4).is_integer:
        raise c.error(f"sequence_lens is {c.dtype(4)}, expected an integer type")
    y = (batch, length, count, out) if batch_first else (length, count, batch, out)
    types = [TensorType(dtype, y), TensorType(dtype, (*start, out))]
    return [*types, TensorType(dtype, (*start, hidden))] if lstm else types


def _expect(c: Infer, index: int, shape: tuple[Size, ...]) -> None:
    """Input `index`, when given, has this shape."""
    if not c.has(index):
        return
    require_rank(c, index, len(shape))
    for size, wanted in zip(c.shape(index), shape, strict=True):
        c.merge(size, wanted, f"a size of {c.schema.input(index).name} and the expected one")
