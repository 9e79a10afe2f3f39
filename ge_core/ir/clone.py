"""A copy of a graph that shares nothing but the constants' data with it."""

from __future__ import annotations

from collections.abc import Iterable

from ge_core.ir.graph import Block, Graph, Node, Region, Value, constant_of


def clone_graph(graph: Graph) -> Graph:
    """A copy with the same names, order and symbols; constants keep sharing their memory."""
    copy = Graph(graph.name)
    copy.stage = graph.stage
    values: dict[Value, Value] = {}
    for value in graph.inputs:
        copy.params.append(_value(value, None, copy, values))
    for value in graph.constants:
        made = _value(value, None, copy, values)
        made.constant = value.constant
        copy.constants[made] = None
    for state in graph.states:
        made_state = copy.add_state(state.name, state.initial)
        made_state.read.name = state.read.name
        _fill(made_state.read, state.read)
        values[state.read] = made_state.read
    copy.names.taken = dict(graph.names.taken)
    copy.symbol_names.taken = dict(graph.symbol_names.taken)
    _block(graph, copy, values)
    for old, new in zip(graph.states, copy.states, strict=True):
        if old.write is not None:
            copy.set_state_write(new, values[old.write])
    return copy


def isolated(node: Node) -> Graph:
    """A graph of a copy of one node: constants that it reads stay constants, other operands become inputs, its
    results the outputs. Symbols in types stay as they are."""
    graph = Graph(node.op)
    values: dict[Value, Value] = {}
    for operand in (*node.inputs, *(c.outer for region in node.regions.values() for c in region.captures)):
        if operand is None or operand in values:
            continue
        made = _value(operand, None, graph, values)
        made.constant, made.layout = constant_of(operand), None
        if made.constant is None:
            graph.params.append(made)
        else:
            graph.constants[made] = None
        graph.names.taken[made.name] = 0
    _nodes([node], graph, values)
    graph.set_outputs(values[v] for v in node.outputs)
    return graph


def _value(value: Value, producer: Node | None, owner: Block, values: dict[Value, Value]) -> Value:
    made = values[value] = Value(value.name, value.type, producer, owner)
    _fill(made, value)
    return made


def _fill(made: Value, value: Value) -> None:
    made.type, made.content, made.layout = value.type, value.content, value.layout


def _block(block: Block, copy: Block, values: dict[Value, Value]) -> None:
    _nodes(block.nodes, copy, values)
    copy.set_outputs(values[v] for v in block.outputs)


def _nodes(nodes: Iterable[Node], copy: Block, values: dict[Value, Value]) -> None:
    for node in nodes:
        made = Node(node.op, [None if v is None else values[v] for v in node.inputs], node.attrs, node.loc)
        for name, region in node.regions.items():
            made.add_region(name, _region(region, copy, values))
        for value in node.outputs:
            made.outputs.append(_value(value, made, copy, values))
        copy.nodes.append(made)


def _region(region: Region, outer: Block, values: dict[Value, Value]) -> Region:
    copy = Region(outer.graph, outer)
    for param in region.params:
        copy.params.append(_value(param, None, copy, values))
    for capture in region.captures:
        copy.adopt_capture(values[capture.outer], _value(capture.param, None, copy, values))
    _block(region, copy, values)
    return copy
