"""Estimates from public figures of the chips: a roofline per operator.

The time of an operator is the largest of its arithmetic over the peak of its unit, its bytes over the bandwidth of
where they are, and the cost of starting it. The cube unit works on blocks of 16: sizes that it multiplies count as
the next multiple. Weights come from memory; activations too, unless all that live at once fit into the second-level
cache. No kernel reaches its unit's peak, so that a time is a lower bound. Nothing here was measured on a device.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import resources
from typing import Any, Literal

from ge_ascend.net import Net, Op, Out, Program
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.types import TensorType

Bound = Literal["compute", "memory", "launch"]

NO_KERNEL = frozenset(
    {"Data", "RefData", "Const", "FileConstant", "Reshape", "Squeeze", "Unsqueeze", "Identity", "Shape", "Flatten"}
)
"""Operators without work on the device: their results are views, or known before."""

_MATRIX = {"MatMul", "MatMulV2", "MatMulV3", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "Conv2D", "Conv3D",
           "Conv2DTranspose", "Conv3DTranspose", "DeformableConv2D", "QuantBatchMatmulV3",
           "WeightQuantBatchMatmulV2"}  # fmt: skip
_RECURRENT = {"CommonLSTM", "CommonGRU", "DynamicRNN", "DynamicGRUV2"}
_ATTENTION = {"PromptFlashAttention", "IncreFlashAttention", "FusedInferAttentionScore"}
_CUBE = _MATRIX | _ATTENTION | _RECURRENT
_POINTWISE_COST = {"Exp": 10, "Log": 10, "Tanh": 15, "Erf": 20, "Gelu": 20, "GeluV2": 20, "Sigmoid": 12, "Swish": 13,
                   "SoftmaxV2": 15, "LayerNormV4": 8, "RmsNorm": 6, "Pow": 20, "Softplus": 20}  # fmt: skip
"""Vector operations per element, a rough count of the instructions of each; one for all others."""


@dataclass(frozen=True)
class ChipFigures:
    """A chip's figures; see the units in the data file.

    Attributes:
        peak: operations per second of the cube unit by element type.
        vector: operations of 16 bits per second of the vector units.
        cache, cache_read, cache_write: bytes of the second-level cache, bytes per second from and to it.
    """

    name: str
    peak: Mapping[str, float]
    vector: float
    memory_bandwidth: float
    launch: float
    memory: int
    cache: int
    cache_read: float
    cache_write: float
    raw: Mapping[str, Any] = field(default_factory=dict)

    def cube(self, dtype: str) -> float:
        """The peak for an element type; one that the cube unit lacks runs on the vector units."""
        return self.peak.get(dtype, self.vector / 2)


@dataclass(frozen=True)
class Estimate:
    """One operator: seconds of all its runs, and what bounds it.

    Attributes:
        operations, bytes: of one run.
        fused: whether it is part of the kernel before it.
        runs: how often it runs in a call of the model: the rounds of the loops around it.
    """

    op: Op
    seconds: float
    bound: Bound
    operations: float
    bytes: float
    fused: bool = False
    runs: int = 1


@dataclass
class ModelEstimate:
    """A whole model at given sizes.

    Attributes:
        weights, activations: bytes; activations is the largest sum of live results in the order of the file.
        cached: whether the activations stay in the second-level cache.
        open_loops: loops whose number of rounds is found out by running them; one round of each is counted.
    """

    chip: ChipFigures
    rows: list[Estimate] = field(default_factory=list)
    weights: int = 0
    activations: int = 0
    unfused: float = 0.0
    cached: bool = False
    open_loops: int = 0

    @property
    def seconds(self) -> float:
        return _seconds(self.rows)

    @property
    def bound(self) -> Bound:
        """What most of the time is bound by."""
        total: dict[Bound, float] = {"compute": 0.0, "memory": 0.0, "launch": 0.0}
        for row in self.rows:
            total[row.bound] += row.seconds
        return max(total, key=lambda key: total[key])


@lru_cache(maxsize=1)
def _data() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        resources.files("ge_ascend").joinpath("data/chips.json").read_text(encoding="utf-8")
    )
    return found


def figures(name: str) -> ChipFigures:
    """The figures of a target."""
    row = _data()[name]
    read, write = (1e6 * row["clock"] * row["cores"] * rate for rate in row["l2_rates"])
    return ChipFigures(
        name, row["peak"], row["vector"], row["memory_bandwidth"], row["launch"], row["memory"], 1024 * row["l2"], read,
        write, row,
    )  # fmt: skip


def estimate(
    program: Program,
    chip: ChipFigures,
    sizes: Mapping[str, int] | None = None,
    *,
    fusion: bool = True,
    reuse: bool = True,
) -> ModelEstimate:
    """Estimate a program: of an If the costlier branch counts, of a loop its rounds where their number is known.

    Args:
        sizes: values of symbols; others take the least that is allowed, at least 1.
        fusion: pointwise operators that follow a product or another of them are part of its kernel, as the
            compiler's buffer fusion makes them: they add no traffic of their own for the result in between.
        reuse: memory of results that are no longer needed is used again, so that a small model stays in the cache.
    """
    result = ModelEstimate(chip)
    env = dict(sizes or {})
    nets = {net.name: net for net in program.nets}
    result.activations = _live(program.root, nets, env)
    result.cached = reuse and result.activations <= chip.cache
    result.weights = sum(_bytes(op.outs[0].value.type, env) for op in program.ops() if op.type in _WEIGHTS)
    rounds = {op: _rounds(op, nets, env) for op in program.ops() if op.type == "While"}
    result.open_loops = sum(count is None for count in rounds.values())

    def rows(net: Net, fused: bool, runs: int) -> list[Estimate]:
        readers = Counter(out for op in net.ops for _, out in op.inputs)
        found: list[Estimate] = []
        for op in net.ops:
            count = rounds.get(op)
            inner = [rows(nets[name], fused, runs if count is None else runs * count) for name in op.graphs]
            if op.type == "If":
                inner = [max(inner, key=_seconds)]
            if op.type not in NO_KERNEL and not _folded(op):
                joined = fused and _joins(op, readers)
                found.append(_row(op, chip, env, joined=joined, cached=result.cached, runs=runs))
            found += [row for branch in inner for row in branch]
        return found

    result.rows = rows(program.root, fusion, 1)
    result.unfused = _seconds(rows(program.root, False, 1))
    return result


def _rounds(loop: Op, nets: Mapping[str, Net], env: Mapping[str, int]) -> int | None:
    """The rounds of a loop that counts from 0 to a bound, the most where something else may end it before."""
    (check,) = nets[loop.graphs[0]].outputs
    tests = [check.op]
    if check.op.type == "LogicalAnd":
        tests = [out.op for _, out in check.op.inputs]
    for test in tests:
        places = [out.op.attrs.get("_parent_node_index") for _, out in test.inputs]
        if test.type == "Less" and places[0] == 0 and isinstance(places[1], int):
            first, bound = (loop.inputs[place][1].value.content for place in (0, places[1]))
            if first == (0,) and bound is not None and len(bound) == 1:
                return _size(bound[0], env)
    return None


_WEIGHTS = frozenset({"Const", "FileConstant"})


def _seconds(rows: Iterable[Estimate]) -> float:
    return sum(row.seconds for row in rows)


def _joins(op: Op, readers: Mapping[Out, int]) -> bool:
    """Whether an operator becomes part of the kernel of its first operand's."""
    if op.type in _CUBE or not op.inputs or len(op.outs) != 1:
        return False
    if op.type not in _FUSABLE:
        return False
    first = op.inputs[0][1]
    if first.op.type in NO_KERNEL or readers.get(first, 0) != 1:
        return False
    return first.op.type in _MATRIX or first.op.type in _FUSABLE


_FUSABLE = frozenset(
    {"Add", "Sub", "Mul", "RealDiv", "Relu", "Sigmoid", "Tanh", "Swish", "Gelu", "GeluV2", "LeakyRelu", "HardSwish",
     "HardSigmoid", "ClipByValue", "Cast", "Exp", "Sqrt", "Rsqrt", "Neg", "Abs", "Maximum", "Minimum", "Erf",
     "Square", "Elu", "Mish", "Softplus", "SelectV2", "PRelu", "BNInfer"}
)  # fmt: skip


def _row(op: Op, chip: ChipFigures, env: Mapping[str, int], *, joined: bool, cached: bool, runs: int) -> Estimate:
    # control flow hands tensors on without moving them
    fed = [] if op.graphs else [out for _, out in (op.inputs[1:] if joined else op.inputs)]
    weights = sum(_bytes(out.value.type, env) for out in fed if out.op.type in _WEIGHTS)
    read = sum(_bytes(out.value.type, env) for out in fed) - weights
    written = 0 if joined or op.graphs else sum(_bytes(out.value.type, env) for out in op.outs)
    moved = float(weights + read + written)
    memory = moved / chip.memory_bandwidth
    if cached:
        memory = weights / chip.memory_bandwidth + read / chip.cache_read + written / chip.cache_write
    kind = op.outs[0].value.type if op.outs else None
    operations, speed = 0.0, chip.vector
    if op.type in _CUBE:
        operations = _matrix_operations(op, env)
        first = op.inputs[1 if op.type.endswith("Transpose") else 0][1].value.type
        speed = chip.cube(first.dtype.name if isinstance(first, TensorType) else "float16")
    elif isinstance(kind, TensorType) and not op.graphs:
        elements = max([_elements(kind, env), *(_elements(o.value.type, env) for _, o in op.inputs)])
        wide = 2 if kind.dtype.bits == 32 else 1
        operations = float(elements * _POINTWISE_COST.get(op.type, 1) * wide)
    compute = operations / speed
    launch = 0.0 if joined else chip.launch
    seconds = max(compute, memory, launch)
    bound: Bound = "compute" if seconds == compute else "memory" if seconds == memory else "launch"
    return Estimate(op, seconds * runs, bound, operations, moved, joined, runs)


def _folded(op: Op) -> bool:
    """Whether the compiler's constant folding computes it once."""
    return op.type == "Cast" and op.inputs[0][1].op.type in _WEIGHTS


def _matrix_operations(op: Op, env: Mapping[str, int]) -> float:
    """Multiplies and adds of a product of [rows, depth] and [depth, columns], in blocks of the cube unit."""
    ports = dict(op.inputs)
    out = _sizes(op.outs[0].value.type, env)
    if op.type in _ATTENTION:
        key = ports.get("key") or ports["key0"]
        length, width = _sizes(key.value.type, env)[-2:]
        return 4.0 * _product(out[:-2]) * _blocks(out[-2]) * _blocks(length) * _blocks(width)
    if op.type in _RECURRENT:
        steps, batch, *_ = _sizes(ports["x"].value.type, env)
        weights = [ports[p] for p in ("w", "r", "weight_input", "weight_hidden") if p in ports]
        return 2.0 * steps * _blocks(batch) * sum(_elements(w.value.type, env) for w in weights)
    if "filter" in ports:
        filters = _sizes(ports["filter"].value.type, env)
        turned = op.type.endswith("Transpose")
        places = _sizes(ports["x"].value.type, env) if turned else out
        groups = int(op.attrs.get("groups", 1))
        ins, outs = (filters[0] // groups, filters[1]) if turned else (filters[1], filters[0] // groups)
        together = max(1, min(groups, _BLOCK // max(ins, 1)))
        kernel = _product(filters[2:])
        columns = -(-groups // together) * _blocks(outs * together)
        return 2.0 * _blocks(places[0] * _product(places[2:])) * _blocks(ins * together) * kernel * columns
    sizes = _sizes((ports.get("x1") or ports["x"]).value.type, env)
    swapped = op.attrs.get("transpose_x1") or op.attrs.get("adj_x1")
    return 2.0 * _product(out[:-2]) * _blocks(out[-2]) * _blocks(out[-1]) * _blocks(sizes[-2 if swapped else -1])


_BLOCK = 16
"""Rows, depth and columns of what the cube unit multiplies at once; narrow groups of a convolution share a block."""


def _blocks(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


def _product(sizes: list[int]) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total


def _sizes(kind: object, env: Mapping[str, int]) -> list[int]:
    if not isinstance(kind, TensorType) or kind.shape is None:
        return []
    return [_size(size, env) for size in kind.shape]


def _size(size: Size, env: Mapping[str, int]) -> int:
    if isinstance(size, int):
        return size
    values = {s.name: env.get(s.name, max(s.lo, 1)) for s in dims.symbols(size)}
    return max(dims.evaluate(size, values), 0)


def _elements(kind: object, env: Mapping[str, int]) -> int:
    return _product(_sizes(kind, env))


def _bytes(kind: object, env: Mapping[str, int]) -> int:
    return kind.dtype.nbytes(_elements(kind, env)) if isinstance(kind, TensorType) else 0


def _live(net: Net, nets: Mapping[str, Net], env: Mapping[str, int]) -> int:
    """The largest sum of results that are still needed, operator by operator; views share their source.

    While a graph inside of an operator runs, its own results live beside those around it.
    """
    order = net.ops
    last: dict[int, int] = {}
    home: dict[int, int] = {}
    for at, op in enumerate(order):
        if op.type in NO_KERNEL and op.inputs:
            home[id(op)] = home.get(id(op.inputs[0][1].op), id(op.inputs[0][1].op))
        else:
            home[id(op)] = id(op)
        for _, out in op.inputs:
            last[home[id(out.op)]] = at
    for out in net.outputs:
        last[home[id(out.op)]] = len(order)
    live, peak, ends = 0, 0, dict[int, int]()
    for at, op in enumerate(order):
        if op.type not in NO_KERNEL:
            inside = max((_live(nets[name], nets, env) for name in op.graphs), default=0)
            size = sum(_bytes(out.value.type, env) for out in op.outs)
            live += size
            peak = max(peak, live + inside)
            until = last.get(id(op), at)
            ends[until] = ends.get(until, 0) + size
        live -= ends.pop(at, 0)
    return peak


def describe(found: ModelEstimate, *, most: int = 15) -> str:
    """The estimate as text."""
    chip = found.chip
    by_type: dict[str, list[float]] = {}
    for row in found.rows:
        entry = by_type.setdefault(row.op.type, [0, 0.0])
        entry[0] += row.runs
        entry[1] += row.seconds
    runs, joined = sum(row.runs for row in found.rows), sum(row.runs for row in found.rows if row.fused)
    title = f"estimate for {chip.name} from public figures (not measured)"
    where = "they stay in the second-level cache" if found.cached else "they go through memory"
    lines = [
        f"{title}: {1e3 * found.seconds:.3f} ms, bound by {found.bound}",
        f"  without fusion {1e3 * found.unfused:.3f} ms; {runs} kernels, {joined} of them part of another",
        f"  weights {found.weights / 2**20:.1f} MiB, activations {found.activations / 2**20:.1f} MiB at most, {where}",
        "  a lower bound: every kernel at the peak of its unit, in blocks of 16 on the cube unit",
        f"  peak {max(chip.peak.values()) / 1e12:.0f} T operations/s, memory {chip.memory_bandwidth / 1e9:.0f} GB/s",
        "  operators by time:",
    ]
    if found.open_loops:
        lines.insert(-1, f"  {found.open_loops} loops whose rounds are not known count with one round each")
    for type, (count, seconds) in sorted(by_type.items(), key=lambda item: -item[1][1])[:most]:
        lines.append(f"    {type:24s} {int(count):5d}  {1e3 * seconds:9.3f} ms")
    lines.append("  slowest:")
    for row in sorted(found.rows, key=lambda row: -row.seconds)[:most]:
        lines.append(f"    {row.op.type:20s} {1e6 * row.seconds:10.1f} us  {row.bound:8s} {row.op.name}  {row.op.loc}")
    return "\n".join(lines)
