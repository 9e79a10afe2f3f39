"""What every kind of model is brought to before it is converted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ge_core.ir.constant import Constant
from ge_core.signature import Signature

from .program import Body, Program
from .variables import Variable


@dataclass(frozen=True)
class Input:
    """An input of the model.

    Attributes:
        name: the graph's name for it.
        dtype: TensorFlow's number.
        shape: None for a size that may change; None for an unknown rank.
    """

    name: str
    dtype: int
    shape: tuple[int | None, ...] | None


@dataclass
class Source:
    """A model: a body, its inputs, and what it captures.

    Attributes:
        body: its arguments are the inputs, then the captures.
        captures: variables and constants.
        handles: variables by the names of the handles that the model makes itself.
        places: source file and line by the names of the body's nodes.
        signature: the calling convention; its inputs and outputs are the body's in order.
    """

    name: str
    program: Program
    body: Body
    inputs: Sequence[Input]
    signature: Signature
    captures: Sequence[Variable | Constant] = ()
    handles: Mapping[str, Variable] = field(default_factory=dict)
    places: Mapping[str, tuple[str, int]] = field(default_factory=dict)
