"""The graph IR: types, sizes, graphs, builder, text form, verifier."""

from ge_core.ir.builder import Builder, replace_node
from ge_core.ir.constant import Constant
from ge_core.ir.dims import Dim, Size, Symbol, symbol
from ge_core.ir.dtype import DTYPES, DType
from ge_core.ir.graph import Block, Graph, Node, Region, State, Use, Value, constant_of, source_of
from ge_core.ir.location import UNKNOWN, Location
from ge_core.ir.types import Layout, OptionalType, SequenceType, Shape, TensorType, Type

__all__ = [
    "DTYPES",
    "UNKNOWN",
    "Block",
    "Builder",
    "Constant",
    "DType",
    "Dim",
    "Graph",
    "Layout",
    "Location",
    "Node",
    "OptionalType",
    "Region",
    "SequenceType",
    "Shape",
    "Size",
    "State",
    "Symbol",
    "TensorType",
    "Type",
    "Use",
    "Value",
    "constant_of",
    "replace_node",
    "source_of",
    "symbol",
]
