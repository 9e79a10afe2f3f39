"""Which function converts which operator of Paddle's dialect pd_op.

    @pd("scale")
    def scale(c: Call, x: Value, scale: Value, *, bias: float, bias_after_scale: bool) -> Value:
        '''scale(x, scale, *, bias=0.0, bias_after_scale=true) -> out'''

A function takes the operands by position, as in Paddle's definition of the operator, and the attributes by name.
An operand is a Value, a list of Values where Paddle has a vector, or None where it is left out. An attribute that
the function does not take and that changes values is refused when an operator has it. The docstring is Paddle's
definition, one line for each operator. The in-place form `relu_` is found as `relu`. The files of `ops` are imported
on first use of the table.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from ge_core.plugins.operator_table import OperatorTable

Handler = Callable[..., Any]
F = TypeVar("F", bound=Handler)

# Where a tensor lives, and what only tools of Paddle read, changes no value.
IGNORED = frozenset(
    {
        "place", "op_callstack", "struct_name", "stop_gradient", "op_role", "op_role_var", "op_namescope", "op_device",
        "with_quant_attr", "use_cudnn", "use_mkldnn", "use_onednn", "force_backend", "execution_stream",
        "scheduling_priority", "chunk_id", "event_to_record", "events_to_wait", "mkldnn_data_type", "use_quantizer",
        "op_dist_attr", "need_clip", "is_persistable", "persistable", "trainable", "is_parameter", "is_distributed",
    }
)  # fmt: skip

ANY_NUMBER = 1 << 30

_NAME = re.compile(r"(?:builtin\.|cf\.)?[a-z][a-z0-9_]*")


@dataclass(frozen=True)
class Conversion:
    """A registered operator.

    Attributes:
        name: of the operator.
        function: converts it.
        operands: how many operands it takes at most.
        attributes: the function's parameter for each attribute that it takes (`lambda_` for `lambda`).
        ignores: attributes that change no value, besides `IGNORED`.
        unread: places of operands that the function does not look at; they arrive as None.
        required: places of operands that must be there.
    """

    name: str
    function: Handler
    operands: int
    attributes: Mapping[str, str]
    ignores: frozenset[str]
    unread: frozenset[int]
    required: frozenset[int]


_TABLE: OperatorTable[Conversion] = OperatorTable(f"{__package__}.ops")


def pd(*names: str, ignores: tuple[str, ...] = (), unread: tuple[str, ...] = ()) -> Callable[[F], F]:
    """Register a function for operators of pd_op, or of the dialects `builtin.` and `cf.`.

    Raises:
        ValueError: a name is malformed, or taken.
    """
    for name in names:
        if not _NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no operator name: expected lower case without dialect")

    def register(function: F) -> F:
        parameters = list(inspect.signature(function).parameters.values())[1:]
        operands = sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters)
        if any(p.kind is p.VAR_POSITIONAL for p in parameters):
            operands = ANY_NUMBER
        skipped = frozenset(i for i, p in enumerate(parameters) if p.name in unread)
        required = frozenset(
            i
            for i, p in enumerate(parameters)
            if p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty and "None" not in str(p.annotation)
        )
        attributes = {p.name.rstrip("_"): p.name for p in parameters if p.kind is p.KEYWORD_ONLY}
        for name in names:
            _TABLE.add(
                name,
                Conversion(name, function, operands, attributes, frozenset(ignores), skipped, required - skipped),
            )
        return function

    return register


def conversions() -> dict[str, Conversion]:
    """All registered operators by name."""
    return _TABLE.entries()


def find(name: str) -> Conversion | None:
    """The conversion of an operator; an in-place form is found as its functional form."""
    found = _TABLE.find(name)
    if found is None and name.endswith("_"):
        found = _TABLE.find(name[:-1])
    return found
