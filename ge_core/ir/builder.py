"""The builder: one method for each operator, checked as it is called.

    b = Builder(Graph("net"))
    x = b.input("x", float32, (symbol("batch", 1), 3, 224, 224))
    y = b.Relu(b.Conv(x, b.constant(w), strides=[2, 2], pads=[1, 1, 1, 1]))
    b.outputs(y)

Operators of domain ge are `b.ge.Sort(x, axis=1)`. Types are inferred at once; an error names the node and its
place. Values of outer blocks are captured when they are used inside a region.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from struct import pack
from typing import Any, TypeAlias, cast

import numpy as np

from ge_core.errors import GraphError
from ge_core.ir import dims
from ge_core.ir.constant import Constant
from ge_core.ir.dims import Dim, Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Attr, Block, Graph, Node, Region, State, Value
from ge_core.ir.location import UNKNOWN, Location
from ge_core.ir.types import SequenceType, TensorType, Type
from ge_core.ops.infer import infer_types
from ge_core.ops.schema import Attribute, Schema, schema

Operand: TypeAlias = Value | np.ndarray | np.generic | int | float | bool | None
RegionBody: TypeAlias = Callable[..., Value | Sequence[Value]]

_CACHED_ELEMENTS = 64
_INT64 = np.dtype(np.int64)


class Builder:
    """Appends nodes to a block, or inserts them before a node.

    Args:
        block: a Graph or Region.
        before: insert before this node of the block; by default append at the end.
        loc: location given to new nodes, see `at`.
    """

    def __init__(self, block: Block, before: Node | None = None, loc: Location = UNKNOWN) -> None:
        self.block, self.before, self.loc = block, before, loc
        self.ge = _GeDomain(self)
        self._cache: dict[tuple[np.dtype, tuple[int, ...], bytes], Value] = {}

    @property
    def graph(self) -> Graph:
        return self.block.graph

    def at(self, loc: Location) -> _Place:
        """A context that gives `loc` to the nodes built inside."""
        return _Place(self, loc)

    def input(self, name: str, dtype: object, shape: Sequence[Size] | None) -> Value:
        """A new graph input."""
        return self.block.add_param(name, TensorType(DType.of(dtype), None if shape is None else tuple(shape)))

    def outputs(self, *values: Value) -> None:
        """Set the outputs of the block."""
        self.block.set_outputs(self._visible(v) for v in values)

    def constant(
        self, data: np.ndarray | np.generic | float | Constant, dtype: object = None, name: str = "c"
    ) -> Value:
        """A constant of the graph. Small ones given as arrays or numbers are shared.

        Args:
            data: an array (kept, not copied), a number, or a lazy Constant.
            dtype: element type to convert `data` to.
        """
        if isinstance(data, Constant):
            return self._visible(self.graph.add_constant(data, name))
        array = np.asarray(data) if dtype is None else np.asarray(data).astype(DType.of(dtype).numpy)
        if array.size > _CACHED_ELEMENTS or array.dtype.kind == "O":
            return self._visible(self.graph.add_constant(Constant.of(array), name))
        key = (array.dtype, array.shape, array.tobytes())
        if key not in self._cache:
            self._cache[key] = self.graph.add_constant(Constant.of(array.copy()), name)
        return self._visible(self._cache[key])

    def ints(self, *sizes: Size | Iterable[Size]) -> Value:
        """An int64 vector of sizes: a constant, or `ge.Dims` when a size is symbolic."""
        flat: list[Size] = []
        for s in sizes:
            flat.extend([s] if isinstance(s, (int, np.integer, Dim)) else s)
        plain = [int(s) for s in flat if not isinstance(s, Dim)]
        if len(plain) != len(flat):
            return self.op("ge.Dims", exprs=tuple(flat))
        found = self._cache.get((_INT64, (len(plain),), pack(f"{len(plain)}q", *plain)))
        return self.constant(np.array(plain, np.int64)) if found is None else self._visible(found)

    def scalar(self, size: Size) -> Value:
        """An int64 scalar of a size."""
        return self.op("ge.Dims", exprs=(size,), scalar=1) if isinstance(size, Dim) else self.constant(np.int64(size))

    def state(self, name: str, initial: np.ndarray | Constant) -> State:
        """A new state; write it with `graph.set_state_write(state, value)`."""
        return self.graph.add_state(name, initial if isinstance(initial, Constant) else Constant.of(initial))

    def region(self, params: Sequence[tuple[str, Type]], body: RegionBody) -> Region:
        """A region made by calling `body(builder, *params)`, which returns its outputs."""
        region = Region(self.graph, self.block)
        inner = Builder(region, loc=self.loc)
        inner._cache = self._cache
        values = [region.add_param(name, type) for name, type in params]
        result = body(inner, *values)
        inner.outputs(*([result] if isinstance(result, Value) else result))
        return region

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or not name[0].isupper():
            raise AttributeError(name)

        def call(*inputs: Operand | Sequence[Operand], **attrs: Any) -> Any:
            return self.op(name, *inputs, **attrs)

        return call

    def op(
        self,
        name: str,
        *inputs: Operand | Sequence[Operand],
        num_outputs: int | None = None,
        names: Sequence[str] = (),
        **attrs: Any,
    ) -> Any:
        """Build a node and return its output, or a tuple when it has several.

        Args:
            name: ONNX operator name, or ge.Name.
            inputs: values, arrays, numbers (typed like the other inputs), None for an omitted one; a list stands
                for the values of a variadic input.
            num_outputs: how many outputs; by default those that are not optional.
            names: hints for the outputs' names.
            attrs: attributes and regions. A region may be given as a Region or as a function, see `region`.

        Raises:
            GraphError: unknown operator or attribute, wrong number of inputs.
            TypeRuleError: the inputs or attributes break the type rule.
        """
        declared = schema(name)
        operands: list[Operand] = []
        for i in inputs:
            if isinstance(i, (list, tuple)):
                operands.extend(i)
            else:
                operands.append(cast(Operand, i))
        self._check_count(declared, operands)
        values = self._values(declared, operands)
        node = Node(name, values, None, self.loc)
        try:
            node.block = self.block  # the type rule may ask the graph for a symbol
            regions = {}
            for key, raw in attrs.items():
                if raw is None:
                    continue
                if key not in declared.attributes:
                    raise GraphError(
                        f"{name} has no attribute {key}",
                        where=self.loc,
                        expected=", ".join(declared.attributes) or "none",
                    )
                if declared.attributes[key].type == "graph":
                    regions[key] = raw
                else:
                    node.attrs[key] = normal_attribute(declared.attributes[key], raw, name)
            for key, raw in regions.items():  # after the attributes, which say what a region's parameters are
                node.add_region(key, self._region(node, key, raw))
            for key in declared.required:
                if key not in node.attrs and key not in node.regions:
                    raise GraphError(f"{name} needs the attribute {key}", where=self.loc)
            count = self._output_count(declared, node) if num_outputs is None else num_outputs
            types, contents = infer_types(node, count)
            node.block = None
        except BaseException:
            node.set_inputs(())
            for region in node.regions.values():
                region.drop()
            raise
        for i, t in enumerate(types):
            hint = names[i] if i < len(names) else name.removeprefix("ge.").lower()
            value = Value(self.graph.fresh_name(hint), t, node, self.block)
            value.content = contents.get(i)
            node.outputs.append(value)
        if self.before is None:
            self.block.nodes.append(node)
        else:
            self.block.nodes.insert_before(self.before, node)
        return node.outputs[0] if len(node.outputs) == 1 else tuple(node.outputs)

    def _check_count(self, declared: Schema, operands: Sequence[Operand]) -> None:
        top = declared.max_inputs
        if len(operands) < declared.min_inputs or (top is not None and len(operands) > top):
            raise GraphError(
                f"{declared.name} got {len(operands)} inputs",
                where=self.loc,
                expected=f"{declared.min_inputs} to {'any number' if top is None else top}",
            )

    def _output_count(self, declared: Schema, node: Node) -> int:
        if declared.max_outputs is not None:
            return max(declared.min_outputs, 1 if declared.outputs else 0)
        if node.regions:
            first = next(iter(node.regions.values()))
            return len(first.outputs) - (1 if node.op == "Loop" else 0)
        raise GraphError(f"{declared.name} has any number of outputs: give num_outputs", where=self.loc)

    def _values(self, declared: Schema, operands: Sequence[Operand]) -> list[Value | None]:
        out: list[Value | None] = []
        for i, operand in enumerate(operands):
            if operand is None:
                out.append(None)
            elif isinstance(operand, Value):
                out.append(self._visible(operand))
            elif isinstance(operand, (bool, int, float)):
                out.append(self.constant(operand, self._like(declared, operands, i)))
            else:
                out.append(self.constant(operand))
        return out

    def _like(self, declared: Schema, operands: Sequence[Operand], index: int) -> DType | None:
        """The element type for a bare number: of another operand with the same type variable, else the schema's."""
        kind = declared.input(index).type
        for i, other in enumerate(operands):
            if isinstance(other, Value) and declared.input(i).type == kind and isinstance(other.type, TensorType):
                return other.dtype
        return DType.of(kind) if kind in ("int64", "int32", "float32", "bool", "uint8") else None

    def _visible(self, value: Value) -> Value:
        """`value` as seen from this block: captured through every region between."""
        if value.owner is self.block:
            return value
        chain: list[Region] = []
        block: Block = self.block
        while block is not value.owner:
            if not isinstance(block, Region):
                raise GraphError(f"%{value.name} is not visible here", where=self.loc)
            chain.append(block)
            outer = block.outer
            if outer is None:
                raise GraphError(f"%{value.name} is used in a region that stands in no graph", where=self.loc)
            block = outer
        for region in reversed(chain):
            value = region.capture(value)
        return value

    def _region(self, node: Node, name: str, raw: Region | RegionBody) -> Region:
        if isinstance(raw, Region):
            return raw
        params, made = region_params(node, name), set[Size]()
        region = self.region(params, raw)
        while (wider := self._widened(node, params, region, made)) is not None:
            region.drop()  # its values are typed for sizes that do not last
            params = wider
            region = self.region(params, raw)
        return region

    def _widened(
        self, node: Node, params: list[tuple[str, Type]], region: Region, made: set[Size]
    ) -> list[tuple[str, Type]] | None:
        """Params with a symbol for each size that a round of a loop provably changes; None where none is left.

        Args:
            made: the symbols that stand for such sizes already; receives the new ones.
        """
        if node.op not in ("Loop", "Scan"):
            return None
        first, results = (2, region.outputs[1:]) if node.op == "Loop" else (0, region.outputs)
        scanned = node.attrs.get("num_scan_inputs", 0)
        assert isinstance(scanned, int)
        wider = list(params)
        for k, result in zip(range(first, len(params) - scanned), results, strict=False):
            name, before = params[k]
            after = result.type
            if not isinstance(before, TensorType) or not isinstance(after, TensorType):
                continue
            if before.shape is None or after.shape is None or len(before.shape) != len(after.shape):
                continue
            shape = [
                self._changing(a, b, made) if a not in made and dims.equal(a, b) is False else a
                for a, b in zip(before.shape, after.shape, strict=True)
            ]
            wider[k] = name, TensorType(before.dtype, tuple(shape))
        return None if wider == params else wider

    def _changing(self, before: Size, after: Size, made: set[Size]) -> Size:
        """A symbol for a size that is `before` in the first round and `after` in the next one."""
        least = dims.bounds(before)[0] or 0
        s = self.graph.fresh_symbol("u", least if dims.less_equal(before, after) is True else 0)
        made.add(dims.symbol(s.name, s.lo, s.hi))
        return dims.symbol(s.name, s.lo, s.hi)


class _Place:
    """A builder's location while a context is open. Not a generator: importers open one for each operator."""

    __slots__ = ("_builder", "_loc")

    def __init__(self, builder: Builder, loc: Location) -> None:
        self._builder, self._loc = builder, loc

    def __enter__(self) -> Builder:
        self._builder.loc, self._loc = self._loc, self._builder.loc
        return self._builder

    def __exit__(self, *_: object) -> None:
        self._builder.loc, self._loc = self._loc, self._builder.loc


class _GeDomain:
    """`b.ge.Name(...)` builds `ge.Name`."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_"):
            raise AttributeError(name)

        def call(*inputs: Operand | Sequence[Operand], **attrs: Any) -> Any:
            return self._builder.op(f"ge.{name}", *inputs, **attrs)

        return call


def region_params(node: Node, name: str) -> list[tuple[str, Type]]:
    """Names and types of the params that a node's region takes, from the node's inputs.

    A loop-carried value starts with the type of its initial value; where a body that is given as a function
    provably changes a size, it is called again with a symbol for that size. Give a region ready-made otherwise.
    """
    if node.op == "If":
        return []
    types = [v.type for v in node.inputs if v is not None]
    if node.op == "Loop":
        carried = [v.type for v in node.inputs[2:] if v is not None]
        scalar = TensorType(DType.of("int64"), ())
        return [
            ("i", scalar),
            ("cond", TensorType(DType.of("bool"), ())),
            *((f"s{k}", t) for k, t in enumerate(carried)),
        ]
    if node.op == "Scan":
        scanned = node.attrs["num_scan_inputs"]
        assert isinstance(scanned, int)
        carried = types[: len(types) - scanned]
        axes = node.attrs.get("scan_input_axes", (0,) * scanned)
        out: list[tuple[str, Type]] = [(f"s{k}", t) for k, t in enumerate(carried)]
        for k, t in enumerate(types[len(carried) :]):
            assert isinstance(t, TensorType) and t.shape is not None and isinstance(axes, tuple)
            axis = axes[k]
            assert isinstance(axis, int)
            axis %= len(t.shape)
            out.append((f"x{k}", TensorType(t.dtype, t.shape[:axis] + t.shape[axis + 1 :])))
        return out
    if node.op == "SequenceMap":
        types = [t.element if isinstance(t, SequenceType) else t for t in types]
    return [(f"p{k}", t) for k, t in enumerate(types)]


def normal_attribute(declared: Attribute, raw: Any, op: str) -> Attr:
    """An attribute value in the IR's form: tuples, plain numbers, DTypes, Constants.

    Raises:
        GraphError: the value is not of the declared type.
    """
    kind = declared.type
    try:
        if kind == "int":
            return int(raw)
        if kind == "float":
            return float(raw)
        if kind == "string":
            return raw if isinstance(raw, bytes) else str(raw)
        if kind == "dtype":
            return DType.of_onnx(int(raw)) if isinstance(raw, (int, np.integer)) else DType.of(raw)
        if kind == "ints":
            return tuple(int(x) for x in raw)
        if kind == "floats":
            return tuple(float(x) for x in raw)
        if kind == "strings":
            return tuple(raw)
        if kind == "dims":
            return tuple(x if isinstance(x, Dim) else int(x) for x in raw)
        if kind == "tensor":
            return raw if isinstance(raw, Constant) else Constant.of(np.asarray(raw))
        if kind == "type_proto":
            return str(raw)  # types stand in attributes as their text
    except (TypeError, ValueError) as e:
        raise GraphError(f"{op}: attribute {declared.name} is {raw!r}, expected {kind}") from e
    raise GraphError(f"{op}: attribute {declared.name} has the unsupported type {kind}")


def replace_node(node: Node, values: Sequence[Value]) -> None:
    """Let every use of a node's outputs read `values` instead, then remove the node."""
    assert node.block is not None
    for old, new in zip(node.outputs, values, strict=True):
        old.replace_uses(new)
    node.block.nodes.remove(node)
