"""The lowering of a whole graph.

Beside the operators grows a graph of the IR that says what they mean, built by the meanings: every operator's
result has its type from there, and what the file will compute can be run and compared before there is a chip.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ge_ascend.chips import Chip
from ge_ascend.lower.call import Decomposition, LowerCall
from ge_ascend.lower.emit import Emitter
from ge_ascend.lower.notes import Notes
from ge_ascend.lower.prune import prune
from ge_ascend.lower.registry import lowering_of
from ge_ascend.lower.scope import Scope
from ge_ascend.net import Net, Op, Out, Program
from ge_ascend.precision import Policy
from ge_core.backend import Problem
from ge_core.errors import BackendError, GeError
from ge_core.ir import dims
from ge_core.ir.builder import Builder
from ge_core.ir.clone import clone_graph
from ge_core.ir.dims import Dim, Size, Symbol
from ge_core.ir.dims import Op as SizeOp
from ge_core.ir.dtype import DType, float32, float64, int64
from ge_core.ir.graph import Block, Graph, Node, State, Value, constant_of
from ge_core.ir.types import TensorType
from ge_core.ops.registry import DECOMPOSITIONS
from ge_core.passes.rewrite import between


@dataclass
class Lowered:
    """A lowered graph.

    Attributes:
        meaning: the IR graph that the operators mean; its inputs and states are those of the source.
        problems: everything that could not be lowered; the program is whole when there is none.
        notes: choices of types and forms, for the report.
    """

    program: Program
    meaning: Graph
    problems: list[Problem] = field(default_factory=list)
    notes: Notes = field(default_factory=Notes)


def lower(
    graph: Graph, chip: Chip, policy: Policy, *, allow_unsure: bool = False, bfloat16_as: DType | None = None,
    matmul_v2: bool = False,
) -> Lowered:  # fmt: skip
    """Lower a graph, which stays as it is.

    Args:
        allow_unsure: use mappings that no official plugin confirms.
        bfloat16_as: what bfloat16 becomes on a chip without it; by default it is a problem.
        matmul_v2: keep the older forms of products, which every release of CANN declares.
    """
    return Lowering(clone_graph(graph), chip, policy, allow_unsure, bfloat16_as, matmul_v2).run()


class Lowering:
    """The lowering of one graph, which it owns."""

    def __init__(
        self,
        graph: Graph,
        chip: Chip,
        policy: Policy,
        allow_unsure: bool,
        bfloat16_as: DType | None,
        matmul_v2: bool,
    ) -> None:
        self.source, self.chip, self.policy = graph, chip, policy
        self.allow_unsure, self.bfloat16_as, self.matmul_v2 = allow_unsure, bfloat16_as, matmul_v2
        self.notes, self.problems = Notes(), list[Problem]()
        self.emitter = Emitter(chip, self.notes)
        self.program, self.meaning = Program(graph.name), Graph(graph.name)
        self._said: set[str] = set()

    def run(self) -> Lowered:
        """Lower everything; what cannot be lowered is collected."""
        net = Net(self.emitter.name_of(self.source.name or "main"))
        self.program.nets.append(net)
        scope = Scope(net, Builder(self.meaning))
        for index, value in enumerate(self.source.inputs):
            scope.bind(value, self.data(scope, value, index))
        states = [self._state(scope, s, len(self.source.inputs) + i) for i, s in enumerate(self.source.states)]
        self.block(scope, self.source)
        if self.problems:
            return Lowered(self.program, self.meaning, self.problems, self.notes)
        outputs = [self.result(scope, value) for value in self.source.outputs]
        for state, (ref, kept) in zip(self.source.states, states, strict=True):
            if state.write is not None:
                new = self.result(scope, state.write)
                # the operator writes into the first operand, which is the caller's memory
                op = Op(self.emitter.name_of(f"{state.name}_assign"), "Assign", [("ref", ref), ("value", new)])
                op.outs.append(Out(op, 0, "ref", new.value))
                net.ops.append(op)
                self.meaning.set_state_write(kept, new.value)
        net.outputs = outputs
        self.meaning.set_outputs([out.value for out in outputs])
        self.meaning.stage = "optimised"
        prune(self.program)
        return Lowered(self.program, self.meaning, self.problems, self.notes)

    def data(self, scope: Scope, value: Value, index: int) -> Out:
        """An input of the root graph."""
        if not isinstance(value.type, TensorType) or value.type.dtype.kind == "string":
            self.problems.append(Problem(f"the input {value.name} is {value.type}", fix="only tensors of numbers"))
            return self._broken(scope, value)
        if not self.chip.takes(value.dtype):
            self._lacks(value, None)
        op = Op(self.emitter.name_of(value.name), "Data", attrs={"index": index}, source="input")
        param = self.meaning.add_param(value.name, value.type)
        param.content = value.content
        out = Out(op, 0, "y", param)
        op.outs.append(out)
        scope.net.ops.append(op)
        return out

    def _state(self, scope: Scope, state: State, index: int) -> tuple[Out, State]:
        kept = self.meaning.add_state(state.name, state.initial)
        op = Op(self.emitter.name_of(state.name), "RefData", attrs={"index": index}, source="state")
        op.attrs["_ge_initial"] = state.initial
        out = Out(op, 0, "y", kept.read)
        op.outs.append(out)
        scope.net.ops.append(op)
        scope.bind(state.read, out)
        return out, kept

    def block(self, scope: Scope, block: Block) -> None:
        """Lower the nodes of a block."""
        for node in list(block.nodes):
            if node.block is not None:
                self.node(scope, node)

    def node(self, scope: Scope, node: Node) -> None:
        """Lower one node; a failure is collected and its results are stood in for."""
        outer = self.emitter.node
        self.emitter.node = node
        try:
            found = self._lowered(scope, node)
            for value, out in zip(node.outputs, found, strict=False):
                if out is not None:
                    self._check(node, value, out)
                    scope.bind(value, out)
        except GeError as error:
            text = error.what if error.what.startswith(node.op) else f"{node.op}: {error.what}"
            details = f" ({error.expected})" if error.expected else ""
            self.problems.append(Problem(text + details, node.loc, error.fix or "", node.op))
            for value in node.outputs:
                scope.bind(value, self._broken(scope, value))
        except (TypeError, ValueError, AssertionError, LookupError, AttributeError) as error:
            raise BackendError(
                f"the lowering of {node.op} failed: {type(error).__name__}: {error}",
                where=node.loc,
                fix="this is an error of ge_ascend; another target compiles the model",
            ) from error
        finally:
            self.emitter.node = outer

    def _lowered(self, scope: Scope, node: Node) -> Sequence[Out | None]:
        function = lowering_of(node.op)
        if function is None:
            if DECOMPOSITIONS.get(node.op) is None:
                raise BackendError(f"{node.op} has no CANN form", where=node.loc)
            return self.expand(scope, node)
        found = function(LowerCall(self, scope, node))
        return [found] if isinstance(found, Out) else list(found)

    def expand(self, scope: Scope, node: Node, rule: Decomposition | None = None) -> list[Out]:
        """Lower a node by a decomposition, by default that of the IR.

        Raises:
            BackendError: it has none.
        """
        rule = rule or DECOMPOSITIONS.get(node.op)
        if rule is None or node.block is None:
            raise BackendError(f"{node.op} has no CANN form that is sure", where=node.loc, fix="allow_unsure=True")
        before = node.prev
        results = list(rule(Builder(node.block, node, node.loc), node))
        for made in list(between(before, node)):
            self.node(scope, made)
        return [self.value(scope, value, None) for value in results]

    def value(self, scope: Scope, value: Value, dtype: DType | None) -> Out:
        """What stands for a value in a scope, in an element type (None: as it is)."""
        constant = constant_of(value)
        if constant is not None and value not in scope.outs:
            wanted = dtype or self.mapped(value.dtype, None)
            key = (constant, wanted)
            if key not in scope.made:
                scope.made[key] = self.emitter.const(scope, self.emitter.converted(constant, wanted), value.name)
            return scope.made[key]
        if value not in scope.outs:
            raise BackendError(f"%{value.name} is not known in this graph")
        out = scope.outs[value]
        return out if dtype is None or not isinstance(value.type, TensorType) else self.emitter.cast(scope, out, dtype)

    def result(self, scope: Scope, value: Value) -> Out:
        """A result of the root graph in its own type, as far as the chip has it."""
        wanted = value.dtype if self.chip.takes(value.dtype) else self.mapped(value.dtype, None)
        return self.value(scope, value, wanted)

    def mapped(self, dtype: DType, node: Node | None) -> DType:
        """The type that stands for an element type on this chip, before the precision mode."""
        if dtype == float64 and self.policy.rule != "keep":
            self.notes.add("type", "float64 becomes float32", node)
            return float32
        if not self.chip.takes(dtype):
            if node is not None:
                self._lacks(node.outputs[0] if node.outputs else None, node)
            return self.bfloat16_as or float32
        return dtype

    def _lacks(self, value: Value | None, node: Node | None) -> None:
        if self.bfloat16_as is not None:
            self.notes.add("type", f"bfloat16 becomes {self.bfloat16_as}", node)
            return
        name = "" if value is None else value.name
        if "bfloat16" in self._said:
            return
        self._said.add("bfloat16")
        what = f"%{name} is bfloat16" if node is None else f"{node.op} (%{name}) works on bfloat16"
        self.problems.append(
            Problem(
                f"{what}, which {self.chip.name} has not",
                Node("").loc if node is None else node.loc,
                "set the option bfloat16='float16' or bfloat16='float32'",
                "" if node is None else node.op,
            )
        )

    def operand_type(self, scope: Scope, node: Node) -> DType:
        """The type in which a node takes float32 operands."""
        low = self.policy.low
        neighbours = [scope.outs[v] for v in node.inputs if v is not None and v in scope.outs]
        is_low = low is not None and any(
            isinstance(out.value.type, TensorType) and out.value.dtype == low for out in neighbours
        )
        found = self.policy.operand(node, is_low)
        if found != float32:
            self.notes.add("precision", f"{node.op} in {found}")
        elif node.op in _PRODUCTS and not self.chip.float32_cube and _any_float32(node):
            raise BackendError(
                f"{node.op} in float32: the cube unit of {self.chip.name} takes float16",
                fix="precision_mode='force_fp16' or 'cube_fp16in_fp32out'",
            )
        return found

    def size(self, scope: Scope, size: Size) -> Out:
        """An int64 scalar of a size."""
        if not isinstance(size, Dim):
            return self.emitter.small(scope, np.int64(size))
        key = ("size", size)
        if key in scope.made:
            return scope.made[key]
        total: Out | None = None
        for monomial, factor in size.terms:
            term: Out | None = None
            for atom, exponent in monomial:
                one = self._symbol(scope, atom) if isinstance(atom, Symbol) else self._operation(scope, atom)
                for _ in range(exponent):
                    term = one if term is None else self._emit(scope, "Mul", term, one)
            if term is None:
                term = self.emitter.small(scope, np.int64(factor))
            elif factor != 1:
                term = self._emit(scope, "Mul", term, self.emitter.small(scope, np.int64(factor)))
            total = term if total is None else self._emit(scope, "Add", total, term)
        assert total is not None
        scope.made[key] = total
        return total

    def sizes(self, scope: Scope, sizes: tuple[Size, ...], dtype: DType) -> Out:
        """An integer vector of sizes."""
        if not any(isinstance(size, Dim) for size in sizes):
            return self.emitter.small(scope, np.array([int(s) for s in sizes], dtype.numpy))  # type: ignore[arg-type]
        key = ("sizes", sizes, dtype)
        if key not in scope.made:
            parts = [self.size(scope, size) for size in sizes]
            if len(parts) == 1:
                (out,) = self.emitter.emit(scope, "Reshape", [parts[0], self.emitter.small(scope, np.array([1]))], {})
            else:
                (out,) = self.emitter.emit(scope, "Pack", [parts], {"axis": 0, "N": len(parts)})
            scope.made[key] = self.emitter.cast(scope, out, dtype)
        return scope.made[key]

    def _operation(self, scope: Scope, atom: SizeOp) -> Out:
        names = {"floordiv": "FloorDiv", "mod": "FloorMod", "min": "Minimum", "max": "Maximum"}
        return self._emit(scope, names[atom.kind], self.size(scope, atom.a), self.size(scope, atom.b))

    def _symbol(self, scope: Scope, symbol: Symbol) -> Out:
        if symbol.name in scope.scalars:
            return scope.scalars[symbol.name]
        if symbol.name not in scope.symbols:
            raise BackendError(f"nothing in this graph has the size {symbol.name}")
        out, axis = scope.symbols[symbol.name]
        key = ("shape", out)
        if key not in scope.made:
            (scope.made[key],) = self.emitter.emit(scope, "Shape", [out], {"dtype": int64.ge_memory})
        index = self.emitter.small(scope, np.int64(axis))
        zero = self.emitter.small(scope, np.int64(0))
        scope.scalars[symbol.name] = self._emit(scope, "GatherV2", scope.made[key], index, zero)
        return scope.scalars[symbol.name]

    def _emit(self, scope: Scope, type: str, *operands: Out) -> Out:
        return self.emitter.emit(scope, type, operands, {})[0]

    def _check(self, node: Node, value: Value, out: Out) -> None:
        """What was emitted must have the node's own rank and sizes."""
        if not isinstance(value.type, TensorType) or value.type.shape is None:
            return
        kind = out.value.type
        assert isinstance(kind, TensorType)
        same = kind.shape is not None and len(kind.shape) == len(value.type.shape)
        if same and kind.shape is not None:
            pairs = zip(kind.shape, value.type.shape, strict=True)
            same = all(dims.equal(a, b) is not False or isinstance(a, Dim) or isinstance(b, Dim) for a, b in pairs)
        if not same:
            raise BackendError(f"{node.op} was lowered to {kind}, expected {value.type}")
        mapped = self.mapped(value.type.dtype, None)
        if kind.dtype != mapped and not (kind.dtype.is_float and mapped.is_float):
            raise BackendError(f"{node.op} was lowered to {kind}, expected {mapped}")

    def _broken(self, scope: Scope, value: Value) -> Out:
        """Stands for what could not be made, so that the rest is examined too; the program is thrown away."""
        kind = value.type
        if isinstance(kind, TensorType) and kind.dtype == float32 and self.policy.border != float32:
            kind = TensorType(self.policy.border, kind.shape)
        op = Op(self.emitter.name_of("unknown"), "Data")
        made = Value(self.meaning.fresh_name("unknown"), kind, None, self.meaning)
        made.content = value.content
        out = Out(op, 0, "y", made)
        op.outs.append(out)
        return out


_PRODUCTS = frozenset({"Conv", "ConvTranspose", "MatMul", "Gemm"})


def _any_float32(node: Node) -> bool:
    return any(v is not None and isinstance(v.type, TensorType) and v.dtype == float32 for v in node.inputs)
