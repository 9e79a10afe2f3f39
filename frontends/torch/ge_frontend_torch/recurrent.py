"""nn.LSTM, GRU and RNN as one operator each while a module is traced.

torch's own shape rule of `aten.lstm` loops over time: a dynamic length is specialised, and the time to export
grows with the length. During tracing the calls go to operators of ours with the same arguments, whose shape rule
is the formula:

    output [T, N, D*H'] (or [N, T, D*H'] when batch_first), h_n [L*D, N, H'], c_n [L*D, N, H]

with D directions, L layers, H the hidden size and H' the projected size (H without a projection).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import torch

NAMESPACE = "ge_torch"

_COMMON = (
    "Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, bool bidirectional, bool batch_first"
)
_SCHEMAS = {
    "lstm": f"lstm(Tensor input, Tensor[] hx, {_COMMON}) -> (Tensor, Tensor, Tensor)",
    "gru": f"gru(Tensor input, Tensor hx, {_COMMON}) -> (Tensor, Tensor)",
    "rnn_tanh": f"rnn_tanh(Tensor input, Tensor hx, {_COMMON}) -> (Tensor, Tensor)",
    "rnn_relu": f"rnn_relu(Tensor input, Tensor hx, {_COMMON}) -> (Tensor, Tensor)",
}


@lru_cache(maxsize=1)
def _library() -> torch.library.Library:
    """Our operators, defined once per process; each computes what torch's does."""
    library = torch.library.Library(NAMESPACE, "DEF")
    for name, schema in _SCHEMAS.items():
        library.define(schema)
        library.impl(name, _compute(name), "CompositeExplicitAutograd")
        torch.library.register_fake(f"{NAMESPACE}::{name}", _shapes(name), lib=library)
    return library


def _compute(name: str) -> Callable[..., Any]:
    original = getattr(torch._C._VariableFunctions, name)

    def compute(*args: Any) -> Any:
        return tuple(t.clone() for t in original(*args))

    return compute


def _shapes(name: str) -> Callable[..., Any]:
    def shapes(
        input: torch.Tensor,
        hx: Any,
        params: Any,
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[torch.Tensor, ...]:
        states = hx if name == "lstm" else (hx,)
        width = states[0].shape[2] * (2 if bidirectional else 1)
        output = input.new_empty((input.shape[0], input.shape[1], width))
        return (output, *(state.new_empty(state.shape) for state in states))

    return shapes


@contextmanager
def recurrent_operators() -> Iterator[None]:
    """Let torch's recurrent modules call our operators."""
    _library()
    names = list(_SCHEMAS)
    functions: Any = torch._VF
    for name in names:
        setattr(functions, name, _redirect(name))
    try:
        yield
    finally:
        for name in names:
            delattr(functions, name)


def _redirect(name: str) -> Callable[..., Any]:
    ours = getattr(getattr(torch.ops, NAMESPACE), name)
    original = getattr(torch._C._VariableFunctions, name)

    def call(*args: Any) -> Any:
        # a packed sequence passes its batch sizes second: torch's own call, which then refuses to be exported
        return ours(*args) if isinstance(args[3], bool) else original(*args)

    return call
