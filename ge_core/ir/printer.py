"""The text form of a graph, read back by `parser.parse_graph`.

graph main imported {
  symbols batch [1, inf], seq [1, 512]
  input %x: float32[batch, 4]
  const %w: float32[4, 4] = #5b0c…            (large: SHA-256; small: the elements)
  state "cache" %k: float32[1, 8] = #a1… -> %new
  %y: float32[batch, 4] = MatMul(%x, %w)
  %n: int64[2] (batch, 4) = ge.Dims() {exprs=[<batch>, 4]}
  %z: float32[batch, 4] = If(%c) then_branch() captures(%p = %y) {
    return %p
  } else_branch() captures(%q = %x) {
    return %q
  }
  return %z
}
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from ge_core.ir.constant import Constant
from ge_core.ir.dims import Dim
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Attr, Block, Graph, Node, Region, Value
from ge_core.ir.location import UNKNOWN, Location
from ge_core.ir.traverse import symbol_table, walk

INLINE_ELEMENTS = 64
_PLAIN = re.compile(r"[A-Za-z0-9_.]+\Z")


def print_graph(graph: Graph, *, locations: bool = False) -> str:
    """The text of a graph; with `locations`, each node's place in the user's model too."""
    return "\n".join(_graph_lines(graph, locations)) + "\n"


def constants_by_digest(graph: Graph) -> dict[str, Constant]:
    """All constant data of a graph as `parse_graph` takes it, attributes included."""
    found = [v.constant for v in graph.constants if v.constant is not None] + [s.initial for s in graph.states]
    found += [a for node in walk(graph) for a in node.attrs.values() if isinstance(a, Constant)]
    return {c.digest(): c for c in found if c.residence != "absent"}


def print_node(node: Node) -> str:
    """One node in text form, regions included."""
    return "\n".join(_node_lines(node, "", False))


def _graph_lines(graph: Graph, locations: bool) -> Iterator[str]:
    yield f"graph {_quoted(graph.name)} {graph.stage} {{"
    table = symbol_table(graph)
    if table:
        ranges = ", ".join(f"{s.name} [{s.lo}, {'inf' if s.hi is None else s.hi}]" for s in table.values())
        yield f"  symbols {ranges}"
    for value in graph.inputs:
        yield f"  input {_declared(value)}"
    for value in graph.constants:
        assert value.constant is not None
        yield f"  const {_declared(value)} = {_data(value.constant)}"
    for state in graph.states:
        end = "" if state.write is None else f" -> {_ref(state.write)}"
        yield f"  state {json.dumps(state.name)} {_declared(state.read)} = {_data(state.initial)}{end}"
    yield from _body(graph, "  ", locations)
    yield "}"


def _body(block: Block, indent: str, locations: bool) -> Iterator[str]:
    for node in block.nodes:
        yield from _node_lines(node, indent, locations)
    yield f"{indent}return {', '.join(map(_ref, block.outputs))}".rstrip()


def _node_lines(node: Node, indent: str, locations: bool) -> Iterator[str]:
    outs = ", ".join(map(_declared, node.outputs))
    ins = ", ".join("_" if v is None else _ref(v) for v in node.inputs)
    line = f"{indent}{outs}{' = ' if outs else ''}{node.op}({ins})"
    if node.attrs:
        line += " {" + ", ".join(f"{k}={_attr(v)}" for k, v in sorted(node.attrs.items())) + "}"
    if locations and node.loc != UNKNOWN:
        line += f" {_location(node.loc)}"
    for name, region in node.regions.items():
        yield f"{line} {_region_head(name, region)} {{"
        yield from _body(region, indent + "  ", locations)
        line = f"{indent}}}"
    yield line


def _region_head(name: str, region: Region) -> str:
    head = f"{name}({', '.join(map(_declared, region.params))})"
    if region.captures:
        head += f" captures({', '.join(f'{_declared(c.param)} = {_ref(c.outer)}' for c in region.captures)})"
    return head


def _location(loc: Location) -> str:
    return f"loc({', '.join(json.dumps(x) for x in (loc.framework, loc.module, loc.file, loc.line, loc.op))})"


def _quoted(name: str) -> str:
    return name if _PLAIN.match(name) else json.dumps(name)


def _ref(value: Value) -> str:
    return f"%{_quoted(value.name)}"


def _declared(value: Value) -> str:
    text = f"{_ref(value)}: {value.type}"
    if value.layout is not None:
        text += f" @{value.layout}"
    if value.content is not None and value.constant is None:
        text += f" ({', '.join(map(str, value.content))})"
    return text


def _data(constant: Constant) -> str:
    """Elements of a small constant, the digest of a large one; absent data have none, and such a text is not read."""
    n = constant.type.elements
    if constant.residence == "absent":
        return "#absent"
    if isinstance(n, int) and n <= INLINE_ELEMENTS and constant.type.dtype.kind != "complex":
        return f"[{', '.join(_element(x, constant.type.dtype) for x in constant.array().ravel().tolist())}]"
    return f"#{constant.digest()}"


def _element(x: object, dtype: DType) -> str:
    if dtype.kind == "string":
        return json.dumps(x if isinstance(x, str) else str(x))
    if dtype.kind == "bool":
        return "true" if x else "false"
    return repr(float(x)) if dtype.is_float else str(int(x))  # type: ignore[arg-type, call-overload]


def _attr(value: Attr) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_attr, value))}]"
    if isinstance(value, Constant):
        return f"tensor {value.type} {_data(value)}"
    if isinstance(value, DType):
        return f":{value.name}"
    if isinstance(value, Dim):
        return f"<{value}>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return f"b{json.dumps(value.hex())}"
    return json.dumps(value) if isinstance(value, str) else repr(value)
