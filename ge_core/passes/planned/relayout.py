"""Inserts the conversions that the selection asks for: `ge.Relayout` for storage, Cast for element types.

A conversion that several consumers want is made once. Constants are converted when the plan is made: each wanted
layout of a constant is a constant of its own, stored so.
"""

from __future__ import annotations

from dataclasses import dataclass

from ge_core.backend import Storage, operands
from ge_core.errors import BackendError
from ge_core.ir.builder import Builder
from ge_core.ir.graph import Graph, Node, Region, Value, source_of
from ge_core.ir.traverse import blocks
from ge_core.ir.types import Layout, TensorType
from ge_core.ops.infer import infer_types
from ge_core.passes.planned.select import Selection, crosses_border, is_border, plain, same_layout
from ge_core.plan.lifetimes import CONTROL


@dataclass(frozen=True)
class Conversion:
    """One inserted conversion, for the report."""

    node: Node
    value: Value
    wanted: str


def insert_conversions(graph: Graph, selection: Selection) -> list[Conversion]:
    """Make every operand what its consumer's implementation reads, and every border value row-major."""
    inserter = _Inserter(selection)
    for block in list(blocks(graph)):
        if isinstance(block, Region) and (block.node is None or block.node.op not in CONTROL):
            continue
        for node in list(block.nodes):
            inserter.inputs(node)
            inserter.outputs(node)
    return inserter.made


class _Inserter:
    def __init__(self, selection: Selection) -> None:
        self.selection = selection
        self.made: list[Conversion] = []
        self._known: dict[tuple[Value, Layout | None, str], Value] = {}

    def inputs(self, node: Node) -> None:
        chosen = self.selection.chosen.get(node)
        if chosen is None and node.op in (*CONTROL, "ge.Relayout"):
            return
        cast = False
        for i, value in enumerate(operands(node)):
            if value is None:
                continue
            wanted = Storage() if chosen is None else chosen.input(i)
            converted = self._converted(value, wanted, node)
            if converted is not value:
                _set_operand(node, i, converted)
                cast |= converted.type != value.type
        if cast:
            self._cast_back(node)

    def outputs(self, node: Node) -> None:
        """Convert results that the kernel stores otherwise than the graph says."""
        chosen = self.selection.chosen.get(node)
        if chosen is None:
            return
        for i, value in enumerate(node.outputs):
            storage = chosen.output(i)
            if plain(storage) or not crosses_border(value):
                continue
            value.layout = storage.layout
            row_major = self._once(value, None, "", node)
            value.replace_uses(row_major, is_border)

    def _cast_back(self, node: Node) -> None:
        """The node computes in another element type now; what reads its results gets the graph's own.

        Raises:
            BackendError: it is a group, whose inner types stay.
        """
        if node.regions:
            raise BackendError(
                f"an implementation of {node.op} asks for another element type of an operand", where=node.loc,
                fix="let the group hold the Casts, or insert them in the backend's passes",
            )  # fmt: skip
        types, _ = infer_types(node)
        for value, type in zip(node.outputs, types, strict=True):
            if type == value.type:
                continue
            assert isinstance(value.type, TensorType) and node.block is not None
            old, value.type = value.type.dtype, type
            back: Value = Builder(node.block, node.next, node.loc).op("Cast", value, to=old)
            value.replace_uses(back, lambda use, own=back.producer: use.user is not own)  # type: ignore[misc]
            self.made.append(Conversion(node, back, old.name))

    def _converted(self, value: Value, wanted: Storage, node: Node) -> Value:
        assert node.block is not None
        result = value
        if wanted.dtype is not None and wanted.dtype != value.dtype:
            result = self._once(result, None, wanted.dtype.name, node)
        if not same_layout(result.layout, wanted.layout):
            result = self._once(result, wanted.layout, "", node)
        return result

    def _once(self, value: Value, layout: Layout | None, dtype: str, node: Node) -> Value:
        key = (value, layout, dtype)
        if key not in self._known:
            self._known[key] = self._convert(value, layout, dtype, node)
            self.made.append(Conversion(node, self._known[key], dtype or str(layout or "row-major")))
        return self._known[key]

    def _convert(self, value: Value, layout: Layout | None, dtype: str, node: Node) -> Value:
        assert node.block is not None
        constant = source_of(value).constant
        if constant is not None and not dtype:
            made = Builder(node.block).constant(constant, name=f"{value.name}_stored")
            source_of(made).layout = made.layout = layout
            return made
        b = Builder(node.block, value.producer.next if value.producer is not None else node.block.nodes.first, node.loc)
        result: Value = b.op("Cast", value, to=dtype) if dtype else b.op("ge.Relayout", value)
        result.layout = layout
        return result


def _set_operand(node: Node, index: int, value: Value) -> None:
    """Replace an operand in the order of `ge_core.backend.operands`."""
    if index < len(node.inputs):
        node.set_input(index, value)
        return
    index -= len(node.inputs)
    for region in node.regions.values():
        if index < len(region.captures):
            region.set_capture(index, value)
            return
        index -= len(region.captures)
