"""Reads the text of a size, as `str` writes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from ge_core.errors import GraphError
from ge_core.ir.dims import Size, Symbol, floordiv, maximum, minimum, mod, symbol

_WORD = re.compile(r"[\w.]+")


def parse_size(text: str, table: Mapping[str, Symbol]) -> Size:
    """The size written by `str`, with the given symbols by name.

    Grammar: sum of products of ints, names, `min(a, b)`, `max(a, b)`, parenthesised sums, `//` and `%`.

    Raises:
        GraphError: the text is no size.
    """
    known = tuple((name, table[name]) for name in _WORD.findall(text) if name in table)
    return _parsed(text, known)


@lru_cache(maxsize=16384)
def _parsed(text: str, known: tuple[tuple[str, Symbol], ...]) -> Size:
    """Layers of a model are alike, and so are their sizes."""
    return _Parser(text, dict(known)).whole()


class _Parser:
    """Recursive descent over a size expression, nesting limited to 100."""

    def __init__(self, text: str, table: Mapping[str, Symbol]) -> None:
        self.text, self.pos, self.table, self.depth = text, 0, table, 0

    def fail(self) -> GraphError:
        return GraphError(f"not a size expression: {self.text[:80]!r}", where=f"character {self.pos}")

    def peek(self, token: str) -> bool:
        while self.pos < len(self.text) and self.text[self.pos] == " ":
            self.pos += 1
        return self.text.startswith(token, self.pos)

    def take(self, token: str) -> bool:
        if self.peek(token):
            self.pos += len(token)
            return True
        return False

    def whole(self) -> Size:
        size = self.sum()
        self.peek("")
        if self.pos != len(self.text):
            raise self.fail()
        return size

    def sum(self) -> Size:
        self.depth += 1
        if self.depth > 100:
            raise self.fail()
        total: Size = -1 * self.term() if self.take("-") else self.term()
        while True:
            if self.take("+"):
                total = total + self.term()
            elif self.take("-"):
                total = total - self.term()
            else:
                self.depth -= 1
                return total

    def term(self) -> Size:
        value = self.factor()
        while True:
            if self.take("//"):
                value = floordiv(value, self.factor())
            elif self.take("%"):
                value = mod(value, self.factor())
            elif self.take("*"):
                value = value * self.factor()
            else:
                return value

    def factor(self) -> Size:
        if self.take("("):
            value = self.sum()
            if not self.take(")"):
                raise self.fail()
            return value
        self.peek("")
        start = self.pos
        if start < len(self.text) and self.text[start].isdigit():
            while self.pos < len(self.text) and self.text[self.pos].isdigit():
                self.pos += 1
            if self.pos - start > 20:
                raise self.fail()
            return int(self.text[start : self.pos])
        while self.pos < len(self.text) and (self.text[self.pos].isalnum() or self.text[self.pos] in "_."):
            self.pos += 1
        name = self.text[start : self.pos]
        if not name:
            raise self.fail()
        if name in ("min", "max") and self.take("("):
            a = self.sum()
            if not self.take(","):
                raise self.fail()
            b = self.sum()
            if not self.take(")"):
                raise self.fail()
            return (minimum if name == "min" else maximum)(a, b)
        s = self.table.get(name, Symbol(name))
        return symbol(s.name, s.lo, s.hi)
