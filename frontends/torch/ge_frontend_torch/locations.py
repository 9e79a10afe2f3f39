"""Where a node of an exported graph came from in the user's model."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import Any

import torch

import ge_core
from ge_core.ir.location import Location

_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
# Lines of torch and of ge are not the user's.
_NOT_THE_MODEL = (
    os.path.dirname(torch.__file__) + os.sep,
    "torch/",
    os.path.dirname(__file__) + os.sep,
    os.path.dirname(ge_core.__file__) + os.sep,
)


def location(node: Any, op: str) -> Location:
    """The innermost module around a node and the innermost source line outside of torch.

    Args:
        node: an fx node; `nn_module_stack` and `stack_trace` of its meta are read.
        op: the operator's name.
    """
    file, line = _source(node.meta.get("stack_trace") or "")
    return Location("torch", module_path(node), file, line, op)


def module_path(node: Any) -> str:
    """The dotted path of the innermost module around a node, empty for the model itself."""
    stack = node.meta.get("nn_module_stack")
    if not stack:
        return ""
    path = next(reversed(stack.values()))[0]
    # a module called twice has the number of the call behind an @
    return "" if path.startswith("_empty_nn_module_stack") else path.removeprefix("L__self__.").split("@")[0]


def module_class(node: Any) -> str:
    """The class name of the innermost module around a node, empty when unknown."""
    stack = node.meta.get("nn_module_stack")
    if not stack:
        return ""
    cls = next(reversed(stack.values()))[1]
    name = cls if isinstance(cls, str) else cls.__qualname__
    return "" if name.startswith("_empty_nn_module_stack") else name.rsplit(".", 1)[-1]


@lru_cache(maxsize=4096)
def _source(trace: str) -> tuple[str, int]:
    frames = _FRAME.findall(trace)
    outside = [f for f in frames if not f[0].startswith(_NOT_THE_MODEL)]
    if not frames:
        return "", 0
    file, line = (outside or frames)[-1]
    return file, int(line)
