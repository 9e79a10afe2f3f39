"""Reads the text form that `printer` writes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ge_core.errors import GeError, TextFormError
from ge_core.ir.constant import Constant, content_of
from ge_core.ir.dims import Size, Symbol
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Attr, Block, Graph, Node, Region, State, Value
from ge_core.ir.location import UNKNOWN, Location
from ge_core.ir.size_text import parse_size
from ge_core.ir.types import Layout, OptionalType, SequenceType, TensorType, Type

_TOKEN = re.compile(
    r"""\s*(?:(?P<string>"(?:[^"\\]|\\.)*")
    |(?P<digest>\#[0-9a-f]{64})
    |(?P<number>[-+]?(?:\d+\.?\d*(?:[eE][-+]?\d+)?|inf\b|nan\b))
    |(?P<name>[A-Za-z_][A-Za-z0-9_.]*)
    |(?P<punct>->|//|[%@:=,(){}\[\]<>*/+\-_]))""",
    re.VERBOSE,
)
_MAX_DEPTH = 60


def parse_graph(text: str, constants: Mapping[str, np.ndarray | Constant] | None = None) -> Graph:
    """The graph of a text.

    Args:
        text: what `print_graph` wrote.
        constants: data of the constants printed by digest: digest without `#` to array.

    Raises:
        TextFormError: the text is malformed, names an unknown value, or a constant's data is missing.
    """
    return _Parser(text, constants or {}).graph()


_LONGEST_TYPE = 1000


def parse_type(text: str) -> Type:
    """The type of a text such as `optional<seq<float32[2, 3]>>`, without symbols.

    Raises:
        TextFormError: the text is no type.
    """
    parser = _Parser(text, {})
    if len(text) > _LONGEST_TYPE:
        raise parser.error("a type of more than 1000 characters")
    found = parser.type()
    parser.match_end()
    return found


@dataclass
class _Scope:
    """The values visible in one block, by name."""

    block: Block
    values: dict[str, Value]


class _Parser:
    def __init__(self, text: str, constants: Mapping[str, np.ndarray | Constant]) -> None:
        self.text, self.pos, self.constants = text, 0, constants
        self.symbols: dict[str, Symbol] = {}
        self.result = Graph()
        self.depth = 0

    # tokens

    def error(self, message: str) -> TextFormError:
        line = self.text.count("\n", 0, self.pos) + 1
        rest = self.text[self.pos : self.pos + 40].split("\n")[0]
        return TextFormError(message, where=f"line {line}: {rest.strip()!r}")

    def match(self) -> re.Match[str] | None:
        return _TOKEN.match(self.text, self.pos)

    def peek(self, token: str) -> bool:
        m = self.match()
        return m is not None and m.group().strip() == token

    def take(self, token: str) -> bool:
        m = self.match()
        if m is None or m.group().strip() != token:
            return False
        self.pos = m.end()
        return True

    def expect(self, token: str) -> None:
        if not self.take(token):
            raise self.error(f"expected {token!r}")

    def kind(self, kind: str) -> str:
        m = self.match()
        if m is None or m.group(kind) is None:
            raise self.error(f"expected a {kind}")
        self.pos = m.end()
        return m.group(kind)

    def word(self) -> str:
        """A plain name (may begin with digits) or a quoted one."""
        m = re.compile(r'\s*([A-Za-z0-9_.]+|"(?:[^"\\]|\\.)*")').match(self.text, self.pos)
        if m is None:
            raise self.error("expected a name")
        self.pos = m.end()
        text = m.group(1)
        if not text.startswith('"'):
            return text
        name = json.loads(text)
        assert isinstance(name, str)
        return name

    def string(self) -> str:
        try:
            text = json.loads(self.kind("string"))
        except ValueError as e:
            raise self.error("malformed string") from e
        assert isinstance(text, str)
        return text

    def list_of(self, open: str, close: str, item: Any) -> list[Any]:
        self.expect(open)
        items: list[Any] = []
        while not self.take(close):
            if items:
                self.expect(",")
            items.append(item())
        return items

    # the graph

    def graph(self) -> Graph:
        self.expect("graph")
        self.result.name = self.word()
        self.result.stage = self.kind("name")
        self.expect("{")
        if self.take("symbols"):
            self.symbol()
            while self.take(","):
                self.symbol()
        scope = _Scope(self.result, {})
        writes: list[tuple[int, str]] = []
        while True:
            if self.take("input"):
                self.result.params.append(self.declare(scope))
            elif self.take("const"):
                self.constant(scope)
            elif self.take("state"):
                name = self.string()
                value = self.declare(scope)
                self.expect("=")
                self.result.states.append(State(name, value, None, self.data(value.tensor)))
                if self.take("->"):
                    writes.append((len(self.result.states) - 1, self.ref_name()))
            else:
                break
        self.body(scope)
        for index, written in writes:
            self.result.set_state_write(self.result.states[index], self.lookup(scope, written))
        self.match_end()
        return self.result

    def match_end(self) -> None:
        if self.text[self.pos :].strip():
            raise self.error("text after the end")

    def symbol(self) -> None:
        name = self.word()
        self.expect("[")
        lo = int(self.kind("number"))
        self.expect(",")
        hi = self.kind("number")
        self.expect("]")
        self.symbols[name] = Symbol(self.result.symbol_names.fresh(name), lo, None if hi == "inf" else int(hi))

    def constant(self, scope: _Scope) -> None:
        value = self.declare(scope)
        self.expect("=")
        value.constant = self.data(value.tensor)
        value.content = content_of(value.constant)
        self.result.constants[value] = None

    def body(self, scope: _Scope) -> None:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise self.error(f"regions nested deeper than {_MAX_DEPTH}")
        while not self.take("return"):
            self.node(scope)
        outputs = []
        if not self.peek("}"):
            outputs.append(self.lookup(scope, self.ref_name()))
            while self.take(","):
                outputs.append(self.lookup(scope, self.ref_name()))
        scope.block.set_outputs(outputs)
        self.expect("}")
        self.depth -= 1

    def node(self, scope: _Scope) -> None:
        outputs: list[Value] = []
        if self.peek("%"):
            outputs.append(self.declare(scope))
            while self.take(","):
                outputs.append(self.declare(scope))
            self.expect("=")
        op = self.kind("name")
        inputs = self.list_of("(", ")", lambda: self.operand(scope))
        node = Node(op, inputs)
        if self.take("{"):
            while not self.take("}"):
                if node.attrs:
                    self.expect(",")
                key = self.kind("name")
                self.expect("=")
                node.attrs[key] = self.attr()
        node.loc = self.location()
        for value in outputs:
            value.producer = node
            node.outputs.append(value)
        scope.block.nodes.append(node)
        while (m := self.match()) is not None and m.group("name") and m.group("name") != "return":
            following = re.compile(r"\s*[A-Za-z_]+\(").match(self.text, self.pos)
            newline = "\n" in m.group()
            if following is None or newline:
                break
            self.region(scope, node)

    def region(self, scope: _Scope, node: Node) -> None:
        name = self.kind("name")
        region = node.add_region(name, Region(self.result, scope.block))
        inner = _Scope(region, {})
        region.params.extend(self.list_of("(", ")", lambda: self.declare(inner)))
        if self.take("captures"):
            self.list_of("(", ")", lambda: self.capture(scope, inner, region))
        self.expect("{")
        self.body(inner)

    def capture(self, scope: _Scope, inner: _Scope, region: Region) -> None:
        value = self.declare(inner)
        self.expect("=")
        region.adopt_capture(self.lookup(scope, self.ref_name()), value)

    def location(self) -> Location:
        if not self.take("loc"):
            return UNKNOWN
        self.expect("(")
        parts: list[Any] = []
        for i in range(5):
            if i:
                self.expect(",")
            parts.append(int(self.kind("number")) if i == 3 else self.string())
        self.expect(")")
        return Location(*parts)

    # values

    def ref_name(self) -> str:
        self.expect("%")
        return self.word()

    def operand(self, scope: _Scope) -> Value | None:
        return None if self.take("_") else self.lookup(scope, self.ref_name())

    def lookup(self, scope: _Scope, name: str) -> Value:
        if name not in scope.values:
            raise self.error(f"%{name} is not defined here")
        return scope.values[name]

    def declare(self, scope: _Scope) -> Value:
        name = self.ref_name()
        if name in scope.values or name in self.result.names.taken:
            raise self.error(f"%{name} is defined twice")
        self.expect(":")
        value = Value(self.result.fresh_name(name), self.type(), None, scope.block)
        if self.take("@"):
            value.layout = self.layout()
        if self.peek("("):
            value.content = tuple(self.sizes("(", ")"))
        scope.values[name] = value
        return value

    def type(self) -> Type:
        name = self.kind("name")
        if name in ("seq", "optional"):
            self.expect("<")
            element: Any = self.type()
            self.expect(">")
            return SequenceType(element) if name == "seq" else OptionalType(element)
        try:
            dtype = DType.of(name)
        except GeError as e:
            raise self.error(e.what) from e
        mark = self.pos
        self.expect("[")
        if self.take("*"):
            self.expect("]")
            return TensorType(dtype, None)
        self.pos = mark
        return TensorType(dtype, tuple(self.sizes("[", "]")))

    def sizes(self, open: str, close: str) -> list[Size]:
        """Comma-separated size expressions between brackets, commas inside parentheses apart."""
        self.expect(open)
        start, depth, parts = self.pos, 0, []
        while self.pos < len(self.text):
            c = self.text[self.pos]
            if depth == 0 and c in (close, ","):
                parts.append(self.text[start : self.pos])
                start = self.pos + 1
                if c == close:
                    break
            depth += {"(": 1, ")": -1}.get(c, 0)
            self.pos += 1
        self.expect(close)
        if parts == [""]:
            return []
        return [self.size(p) for p in parts]

    def size(self, text: str) -> Size:
        try:
            return parse_size(text.strip(), self.symbols)
        except GeError as e:
            raise self.error(e.what) from e

    def layout(self) -> Layout:
        m = re.compile(r"\s*<([\d.]*)((?:/\d+:\d+)*)(?:\+([\d.:]+)=([^>]+))?>").match(self.text, self.pos)
        if m is None:
            raise self.error("malformed layout")
        self.pos = m.end()
        order = tuple(int(x) for x in m.group(1).split(".") if x)
        blocks = tuple((int(a), int(b)) for a, b in (p.split(":") for p in m.group(2).split("/") if p))
        halo = tuple((int(a), int(b)) for a, b in (p.split(":") for p in m.group(3).split("."))) if m.group(3) else ()
        return Layout(order, blocks, halo, float(m.group(4)) if m.group(4) else 0.0)

    def data(self, type: TensorType) -> Constant:
        if not type.is_static:
            raise self.error(f"a constant needs a static type, got {type}")
        shape = tuple(int(d) for d in type.shape or ())  # type: ignore[arg-type]
        if self.peek("["):
            items = self.list_of("[", "]", self.scalar)
            if len(items) != int(np.prod(shape, dtype=np.int64)):
                raise self.error(f"{len(items)} elements for {type}")
            return Constant.of(np.array(items, dtype=type.dtype.numpy).reshape(shape), type.dtype)
        digest = self.kind("digest")[1:]
        found = self.constants.get(digest)
        if found is None:
            raise self.error(f"no data given for constant #{digest[:12]}")
        return found if isinstance(found, Constant) else Constant.of(found, type.dtype)

    def scalar(self) -> Any:
        m = self.match()
        if m is None:
            raise self.error("expected a value")
        if m.group("string") is not None:
            return self.string()
        if self.take("true"):
            return True
        if self.take("false"):
            return False
        text = self.kind("number")
        return float(text) if any(c in text for c in ".einf") and not text.lstrip("+-").isdigit() else int(text)

    def attr(self) -> Attr:
        if self.peek("["):
            return tuple(self.list_of("[", "]", self.attr))
        if self.take(":"):
            return DType.of(self.kind("name"))
        if self.peek("<"):
            return self.sizes_in_angle()
        if self.take("tensor"):
            type = self.type()
            assert isinstance(type, TensorType)
            return self.data(type)
        if self.peek("b"):
            self.expect("b")
            return bytes.fromhex(self.string())
        scalar: Attr = self.scalar()
        return scalar

    def sizes_in_angle(self) -> Size:
        self.expect("<")
        end = self.text.find(">", self.pos)
        if end < 0:
            raise self.error("missing '>'")
        text, self.pos = self.text[self.pos : end], end + 1
        return self.size(text)
