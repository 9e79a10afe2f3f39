"""Which function converts which ONNX operator, by domain, name and version.

    @converts("FusedMatMul", domain="com.microsoft")
    def fused_matmul(c: Call) -> Results: ...

    @before(11, "Clip")
    def clip_attributes(c: Call) -> Results: ...

`converts` is for operators that are not the IR's own, `before` for the form that an operator of the default domain
had below an opset. Everything else of the default domain is the IR's operator of the same name. The files of `ops`
and `versions` are imported on first use of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, TypeAlias

from ge_core.ir.graph import Value
from ge_core.ops.registry import TYPE_RULES
from ge_core.ops.schema import OPSET, onnx_names

if TYPE_CHECKING:
    from .call import Call

Results: TypeAlias = Value | Sequence[Value | None]
Handler: TypeAlias = "Callable[[Call], Results]"

# The newest version of each domain that is known here.
DOMAINS = {"": OPSET, "ai.onnx.ml": 5, "ai.onnx.preview": 1, "com.microsoft": 1}

# Operators that are refused, with the reason.
_STRINGS = "strings are not supported"
_RANDOM = "random numbers differ from run to run, so that no result can be compared"
REFUSED: dict[tuple[str, str], str] = {
    **{("", op): _STRINGS for op in ("RegexFullMatch", "StringConcat", "StringNormalizer", "StringSplit")},
    **{
        ("", op): _RANDOM
        for op in ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
                   "RandomUniformLike")
    },
    ("ai.onnx.ml", "CategoryMapper"): _STRINGS,
    **{
        ("ai.onnx.ml", op): "maps are not supported: take the output before it"
        for op in ("CastMap", "DictVectorizer", "ZipMap")
    },
    ("", "ImageDecoder"): "images must be decoded before they reach the model",
    **{
        ("ai.onnx.preview.training", op): "training is not supported"
        for op in ("Adagrad", "Adam", "Gradient", "Momentum")
    },
}  # fmt: skip

_HANDLERS: dict[tuple[str, str], Handler] = {}
_OLDER: dict[str, dict[int, Handler]] = {}


def converts(*names: str, domain: str = "") -> Callable[[Handler], Handler]:
    """Register a function for operators.

    Raises:
        ValueError: an operator is converted twice.
    """

    def register(function: Handler) -> Handler:
        for name in names:
            other = _HANDLERS.setdefault((domain, name), function)
            if other is not function:
                raise ValueError(f"{domain}::{name} is converted twice: by {_owner(other)} and {_owner(function)}")
        return function

    return register


def before(opset: int, *names: str) -> Callable[[Handler], Handler]:
    """Register a function for the form that operators of the default domain have below `opset`.

    Where an operator changed several times, the function with the lowest opset above the model's is taken.

    Raises:
        ValueError: a form is converted twice.
    """

    def register(function: Handler) -> Handler:
        for name in names:
            other = _OLDER.setdefault(name, {}).setdefault(opset, function)
            if other is not function:
                raise ValueError(f"{name} before {opset} is converted twice: by {_owner(other)} and {_owner(function)}")
        return function

    return register


def _owner(function: Handler) -> str:
    return f"{function.__module__}.{function.__qualname__}"


@cache
def _load() -> None:
    for package in ("ops", "versions"):
        found = import_module(f".{package}", __package__)
        for module in iter_modules(found.__path__):
            import_module(f"{found.__name__}.{module.name}")


def changes(name: str) -> tuple[int, ...]:
    """The opsets at which an operator of the default domain took a form that needs converting from the older one."""
    _load()
    return tuple(sorted(_OLDER.get(name, ())))


def converted() -> tuple[tuple[str, str], ...]:
    """Domain and name of all operators with a function of their own."""
    _load()
    return tuple(sorted(_HANDLERS))


@cache
def find(domain: str, name: str, opset: int) -> Handler | None:
    """The function for an operator, `direct` for the IR's own; None when it is not supported.

    Args:
        opset: version of the domain that the model imports.
    """
    _load()
    if (domain, name) in REFUSED:
        return None
    if domain == "":
        for limit, handler in sorted(_OLDER.get(name, {}).items()):
            if opset < limit:
                return handler
    own_function = _HANDLERS.get((domain, name))
    if own_function is not None:
        return own_function
    in_ir = domain == "" and name in onnx_names() and TYPE_RULES.get(name) is not None
    return direct if in_ir else None


def direct(c: Call) -> Results:
    """The IR's operator of the same name."""
    return c.build(c.op, c.inputs, c.attrs)
