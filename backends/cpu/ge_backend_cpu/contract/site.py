"""A contraction with what is fused around it: a single node, or a `ge.Fused` group that has one.

A group holds casts of constant weights, the contraction, and pointwise operators of its result: the epilogue.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from ge_backend_cpu.contract.epilogue import Epilogue, Kind, Side, Step, Tree, tree_of
from ge_backend_cpu.contract.quantising import QUANTISING, Magnitudes, is_quantising, meets_later_bytes
from ge_backend_cpu.contract.sides import Classify, classifier
from ge_core.backend import Group, Refusal
from ge_core.backend import operands as operands_of
from ge_core.ir import dims
from ge_core.ir.constant import Constant
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Node, Value, constant_of
from ge_core.ir.types import Shape, TensorType
from ge_core.ops.expression import Apply, Expr, expression_of
from ge_core.ops.pointwise import POINTWISE

CONTRACTIONS = {"MatMul": 1, "Gemm": 1, "Conv": 1, "ConvTranspose": 1, "MatMulInteger": 1, "ConvInteger": 1}
"""Operators that take epilogues, and the input whose constant may be stored in a smaller type."""
MOST_SIDES = 16
"""Operands of an epilogue."""
_CHECKED = frozenset({"div", "truncdiv", "floordiv", "floormod", "fmod", "pow"})
"""Primitives that can fail on integers, or are no single operation on them."""


@dataclass(frozen=True)
class Site:
    """One contraction as it is planned.

    Attributes:
        node: what the core plans.
        core: the contraction.
        after: the pointwise nodes of its results, in order.
        places: numbers of the values that come from outside, in the order of `ge_core.backend.operands`.
        weights: constants behind casts in the group, by the value that the contraction reads: (operand, constant).
    """

    node: Node
    core: Node
    after: tuple[Node, ...] = ()
    places: Mapping[Value, int] = field(default_factory=dict)
    weights: Mapping[Value, tuple[int, Constant]] = field(default_factory=dict)

    def constant(self, value: Value) -> tuple[int, Constant] | None:
        """The number of an operand that is constant, and its data; casts of the group are seen through."""
        if value in self.weights:
            return self.weights[value]
        data = constant_of(value)
        return None if data is None or value not in self.places else (self.places[value], data)


def site_of(node: Node) -> Site | None:
    """The site of a node; None for groups of other kinds."""
    outer = operands_of(node)
    if node.op in CONTRACTIONS:
        return Site(node, node, places={v: i for i, v in enumerate(outer) if v is not None})
    if node.op != "ge.Fused":
        return None
    region = node.regions["body"]
    inner = list(region.nodes)
    cores = [n for n in inner if n.op in CONTRACTIONS]
    if len(cores) != 1:
        return None
    at = inner.index(cores[0])
    if not all(map(_finishes, inner[at + 1 :])):
        return None
    params = [*region.params, *(capture.param for capture in region.captures)]
    places = {param: i for i, param in enumerate(params)}
    weights, apart = {}, []
    for before in inner[:at]:
        if is_quantising(before):
            apart.append(before)
            continue
        source = before.input(0)
        data = constant_of(source)
        if before.op != "Cast" or source is None or data is None:
            return None
        weights[before.output] = places[source], data
    return Site(node, cores[0], (*apart, *inner[at + 1 :]), places, weights)


def _finishes(node: Node) -> bool:
    """Whether epilogues know a node."""
    return node.op == "Cast" or node.op in POINTWISE or is_quantising(node)


def may_merge(parts: tuple[Group, Group]) -> bool:
    """Whether a group with a contraction may take in what dequantises another operand of its epilogue."""
    group, other = parts
    cores = [n for n in group.nodes if n.op in CONTRACTIONS]
    if len(cores) != 1 or len(other.nodes) != 1 or other.nodes[0].op != "DequantizeLinear":
        return False
    node = other.nodes[0]
    readers = {use.user for use in node.output.uses}
    if not is_quantising(node) or cores[0] in readers or not readers <= set(group.nodes):
        return False
    return bool(_fits(cores[0], group, node))


def may_grow(group: Group, node: Node) -> bool | Refusal:
    """Whether a group with a contraction, or one that is to get one, may take a node."""
    if node.op in CONTRACTIONS:
        weight = node.input(CONTRACTIONS[node.op])
        types = ("float16", "bfloat16", "int8") if node.op in ("MatMul", "Gemm") else ("float16", "bfloat16")
        if weight is not None and all(_stores_weight(n, weight, types) for n in group.nodes) and len(group.nodes) == 1:
            return True
        return Refusal("contraction", f"{node.op} begins a group of its own")
    cores = [n for n in group.nodes if n.op in CONTRACTIONS]
    if len(cores) != 1:
        return Refusal("no-contraction", "the group has no product or convolution")
    if not _finishes(node):
        return Refusal("no-epilogue", f"{node.op} is not computed element by element")
    if node.op == "DequantizeLinear" and (node.inputs[0].use_count > 1 or meets_later_bytes(node)):  # type: ignore[union-attr]
        return Refusal("kept-in-bytes", "what it dequantises is stored in bytes for others")
    return _fits(cores[0], group, node)


def _point(arguments: Sequence[Tree]) -> Tree:
    """The tree of a zero point, the third operand."""
    return arguments[2] if len(arguments) > 2 and arguments[2] else ["number", 0]


def _has_rank(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.shape is not None


def _stores_weight(node: Node, weight: Value, types: Collection[str]) -> bool:
    return (
        node.op == "Cast"
        and node.output is weight
        and weight.use_count == 1
        and constant_of(node.input(0)) is not None
        and node.output.dtype.name == "float32"
        and node.input(0).dtype.name in types  # type: ignore[union-attr]
    )


def _fits(core: Node, group: Group, node: Node) -> bool | Refusal:
    if not all(_has_rank(v) for n in (core, node) for v in (*n.inputs, *n.outputs) if v is not None):
        return Refusal("rank", "the number of axes of one of its values is not known")
    if not same_shape(node.output.shape, core.output.shape):
        return Refusal("shape", "its result has another shape than the contraction")
    classify = classifier(core)
    own = {v for n in group.nodes for v in n.outputs}
    if node.op in QUANTISING and any(v in own for v in node.inputs[1:]):
        return Refusal("computed-scale", "its scale is computed in the group")
    outside = set(group.inputs) - {v for v in operands_of(core) if v is not None}
    for value in node.inputs:
        if value is None:
            continue
        if value in own:
            if not same_shape(value.shape, core.output.shape):
                return Refusal("shape", "it reads a value of another shape")
        elif classify(value.shape) is None:
            return Refusal("broadcast", f"%{value.name} is read in a way that epilogues do not know")
        else:
            outside.add(value)
    if len(outside) > MOST_SIDES:
        return Refusal("too-many-operands", f"the epilogue would read {len(outside)} operands")
    if any(not _computes(v.dtype) for v in (*node.inputs, *node.outputs) if v is not None):
        return Refusal("element-type", "registers do not hold one of its element types")
    if node.op in POINTWISE and _can_fail(expression_of(node), node):
        return Refusal("status", f"{node.op} on integers can fail")
    return True


def _computes(dtype: DType) -> bool:
    return dtype.kind == "bool" or (dtype.is_numeric and dtype.bits >= 8 and dtype.name != "float8e8m0")


def _can_fail(tree: Expr, node: Node) -> bool:
    if all(v is None or v.dtype.is_float or v.dtype.kind == "bool" for v in node.inputs):
        return False
    return isinstance(tree, Apply) and (tree.name in _CHECKED or any(_can_fail(a, node) for a in tree.args))


def same_shape(a: Shape, b: Shape) -> bool:
    """Whether two shapes are certainly equal."""
    return len(a) == len(b) and all(dims.equal(x, y) is True for x, y in zip(a, b, strict=True))


@dataclass
class Collected:
    """An epilogue with the operands that it reads.

    Attributes:
        epilogue: for the kernel.
        operands: numbers of the node's operands that are its sides, in order.
    """

    epilogue: Epilogue
    operands: tuple[int, ...]


class Collector:
    """Makes the epilogue of a site.

    Args:
        source: element type of the sums as the graph has it.
        classify: how operands are read.
    """

    def __init__(self, site: Site, source: DType, classify: Classify) -> None:
        self.site, self.source, self.classify = site, source, classify
        self.steps: list[Step] = []
        self.sides: dict[Value, int] = {}
        self.kinds: list[Side] = []
        self._of: dict[Value, Tree] = {}
        self.last: Tree = ["value", 0]

    def side(self, value: Value, kind: Kind | None = None) -> Tree | None:
        """The tree that reads an operand, by its shape unless told how; None when epilogues cannot."""
        if value not in self.sides:
            kind = kind or self.classify(value.shape)
            if kind is None or not _computes(value.dtype):
                return None
            self.sides[value] = len(self.sides)
            self.kinds.append(Side(kind, value.dtype.name))
        return ["side", self.sides[value]]

    def step(self, tree: Tree, dtype: DType) -> Tree:
        """Add a step; the tree that reads its result."""
        self.steps.append(Step(tree, dtype.name))
        self.last = ["value", len(self.steps)]
        return self.last

    def collect(self) -> Collected | None:
        """Take in the nodes after the contraction, whose result is the last step so far."""
        self._of[self.site.core.output] = self.last
        magnitudes = Magnitudes(self.site.core.output)
        for node in self.site.after:
            arguments: list[Tree] = []
            for value in node.inputs:
                if value is None:
                    arguments.append([])
                    continue
                tree = self._of.get(value) or self.side(value)
                if tree is None:
                    return None
                arguments.append(tree)
            if node.op == "Cast":
                saturate = bool(node.attrs.get("saturate", 1))
                tree = ["cast", arguments[0], node.output.dtype.name, saturate]
            elif node.op == "QuantizeLinear":
                tree = ["quantise", *arguments[:2], _point(arguments), node.output.dtype.name, magnitudes.divides(node)]
            elif node.op == "DequantizeLinear":
                tree = ["mul", self._whole(arguments[0], _point(arguments)), arguments[1]]
            else:
                tree = tree_of(expression_of(node), arguments)
            self._of[node.output] = self.step(tree, node.output.dtype)
            magnitudes.add(node)
        return self._finished()

    def _whole(self, x: Tree, point: Tree) -> Tree:
        """The tree of bytes less their zero point, in float32."""
        made = self.steps[x[1] - 1].tree if x[0] == "value" and x[1] else [""]
        if made[0] == "quantise" and made[3] == point:
            return ["rounded", x[1]]
        difference: Tree = ["sub", ["cast", x, "int32", True], ["cast", point, "int32", True]]
        return ["cast", difference, "float32", True]

    def _finished(self) -> Collected | None:
        site = self.site
        if site.node is site.core:
            results: Sequence[Value] = site.core.outputs
        else:
            results = site.node.regions["body"].outputs
        if any(v not in self._of for v in results):
            return None
        outputs = tuple(self._of[v][1] for v in results)
        epilogue = Epilogue(self.source.name, tuple(self.steps), tuple(self.kinds), outputs)
        return Collected(epilogue, tuple(site.places[v] for v in self.sides))
