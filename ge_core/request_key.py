"""What a compiled model depends on, as digests: two compilations with equal keys give the same model.

The *form* is everything but the weights: the imported graphs with their names and places in the user's source (both
come back in errors and reports), options, switches, versions, and the backend's stamp. The *data* are the bytes of
all constants.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

from ge_core import __version__
from ge_core.ir.constant import Constant
from ge_core.ir.dtype import pack
from ge_core.ir.graph import Block, Graph, Region, Value
from ge_core.ir.traverse import symbol_table
from ge_core.plugins import host
from ge_core.source_stamp import source_stamp

if TYPE_CHECKING:
    from ge_core.compiler import CompileRequest, EntrySource

_PLAIN = (bool, int, float, str, bytes, type(None))


class Unkeyed(Exception):
    """Something of the request has no form that could be compared."""


def request_form(sources: Mapping[str, EntrySource], request: CompileRequest, stamp: str) -> tuple[str, list[Constant]]:
    """The digest of the form, and the constants whose data it leaves out, in its order.

    Args:
        stamp: what the backend says of itself.

    Raises:
        Unkeyed: an option is an object of a kind that is not known here.
    """
    text = [*_surroundings(request), stamp]
    constants: list[Constant] = []
    for name, source in sources.items():
        text.append(repr((name, sorted(source.example.items()))))
        _GraphText(source.graph, text, constants).graph()
    return hashlib.sha256("\n".join(text).encode("utf-8", "surrogatepass")).hexdigest(), constants


def _surroundings(request: CompileRequest) -> list[str]:
    plugin = request.plugin.source
    return [
        f"ge {__version__} {_own_stamp()}",
        f"python {platform.python_version()} numpy {np.__version__} ml_dtypes {ml_dtypes.__version__}",
        repr((plugin.kind, plugin.name, plugin.distribution, plugin.version)),
        repr(host().additions()),
        repr((request.target, request.framework, request.precision, sorted(request.switches), request.optimised)),
        repr(request.notices),
        _plain(request.options),
    ]


@lru_cache(maxsize=1)
def _own_stamp() -> str:
    return source_stamp(Path(__file__).parent)


def _plain(value: object) -> str:
    """A text that is the same for equal values alone.

    Raises:
        Unkeyed: there is none.
    """
    if isinstance(value, _PLAIN) and type(value) in _PLAIN:
        return f"{type(value).__name__}:{value!r}"
    if isinstance(value, (list, tuple)):
        return f"{type(value).__name__}[{','.join(map(_plain, value))}]"
    if isinstance(value, Mapping):
        # in the order given: it may be that of inputs
        return "{" + ",".join(f"{_plain(key)}={_plain(item)}" for key, item in value.items()) + "}"
    if is_dataclass(value) and not isinstance(value, type) and type(value).__module__.startswith("ge_core."):
        return f"{type(value).__qualname__}({','.join(_plain(getattr(value, f.name)) for f in fields(value))})"
    raise Unkeyed(f"an option of the type {type(value).__qualname__}")


class _GraphText:
    """Writes a graph with values as numbers, in linear time, and collects its constants."""

    def __init__(self, graph: Graph, text: list[str], constants: list[Constant]) -> None:
        self._graph, self._text, self._constants = graph, text, constants
        self._numbers: dict[Value, int] = {}
        self._places: dict[int, int] = {id(c): i for i, c in enumerate(constants)}

    def graph(self) -> None:
        graph, add = self._graph, self._text.append
        add(f"graph {graph.name!r} {graph.stage}")
        add(repr([(s.name, s.lo, s.hi) for s in symbol_table(graph).values()]))
        # fresh names continue from here
        add(repr((sorted(graph.names.taken.items()), sorted(graph.symbol_names.taken.items()))))
        for value in graph.constants:
            self._define("constant", value)
        for state in graph.states:
            self._define(f"state {state.name!r} {self._data(state.initial)}", state.read)
        self._block(graph)
        for state in graph.states:
            add(f"write {self._number(state.write)}")

    def _block(self, block: Block) -> None:
        add = self._text.append
        for value in block.params:
            self._define("param", value)
        if isinstance(block, Region):
            for capture in block.captures:
                self._define(f"capture {self._number(capture.outer)}", capture.param)
        for node in block.nodes:
            attrs = {name: self._attr(value) for name, value in sorted(node.attrs.items())}
            place = node.loc
            add(f"{node.op} {[self._number(v) for v in node.inputs]} {attrs} {place!r}")
            for name, region in node.regions.items():
                add(f"region {name!r}")
                self._block(region)
            for value in node.outputs:
                self._define("", value)
        add(f"outputs {[self._number(v) for v in block.outputs]}")

    def _define(self, what: str, value: Value) -> None:
        self._numbers[value] = len(self._numbers)
        content = None if value.content is None else [str(size) for size in value.content]
        data = "" if value.constant is None else self._data(value.constant)
        self._text.append(f"{what} {value.name!r} {value.type} {content} {value.layout} {data}")

    def _number(self, value: Value | None) -> int:
        if value is not None and value not in self._numbers:
            raise Unkeyed("a graph that is not valid")
        return -1 if value is None else self._numbers[value]

    def _attr(self, value: Any) -> str:
        if isinstance(value, Constant):
            return self._data(value)
        if isinstance(value, tuple):
            return f"({','.join(map(self._attr, value))})"
        return f"{type(value).__name__}:{value!r}"

    def _data(self, constant: Constant) -> str:
        """A constant by its type, its source (for messages) and its number among all."""
        number = self._places.setdefault(id(constant), len(self._constants))
        if number == len(self._constants):
            self._constants.append(constant)
        return f"data {number} {constant.type} {constant.source!r}"


def data_of(constants: Sequence[Constant]) -> list[np.ndarray]:
    """The bytes of constants, each as a contiguous array of uint8, without a copy where that is possible."""
    found = []
    for constant in constants:
        array = constant.array()
        if constant.type.dtype.kind == "string":
            found.append(np.frombuffer(json.dumps(array.ravel().tolist()).encode(), np.uint8))
        elif constant.type.dtype.bits >= 8:
            found.append(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
        else:
            found.append(np.frombuffer(pack(array, constant.type.dtype), np.uint8))
    return found
