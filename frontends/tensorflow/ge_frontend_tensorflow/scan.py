"""Phase one of an import: every operator of the model that is not supported, in one report."""

from __future__ import annotations

from ge_core.errors import UnsupportedError
from ge_core.plugins.unsupported import Unsupported, unsupported_error

from .convert import Converter
from .operator_table import described
from .program import Body, called
from .refused import reason
from .registry import find


def unknown_operators(converter: Converter, body: Body) -> list[Unsupported]:
    """A finding for each needed node, in the body and all functions that it calls, that nothing converts."""
    found: list[Unsupported] = []
    seen = {body.name}
    waiting = [body]
    while waiting:
        current = waiting.pop()
        for node in converter.order(current):
            if find(node.op) is None or described(node.op) is None:
                found.append(Unsupported(node.op, _place(converter, body, current, node.name)))
                continue
            for name in called(node):
                if name not in seen:
                    seen.add(name)
                    waiting.append(converter.program.function(name))
    return found


def _place(converter: Converter, main: Body, body: Body, name: str) -> str:
    if body is not main:
        return f"{name} in the function {body.name}"
    file, line = converter.places.get(name, ("", 0))
    return f"{name} at {file}:{line}" if file else name


def report(found: list[Unsupported], model: str) -> UnsupportedError:
    """One error that names every operator with its count, its places and the reason."""
    return unsupported_error(found, model, "TensorFlow", "ge_frontend_tensorflow.registry.tf_op", reason=reason)
