"""Element types that the IR allows: ONNX's constraints, widened where frameworks use an operator on more types.

The table names only what is added. Inference and verification of every node go through `check_dtypes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache

from ge_core.errors import TypeRuleError
from ge_core.ir.dtype import DTYPES
from ge_core.ir.graph import Node
from ge_core.ir.types import TensorType
from ge_core.ops.schema import schema

_ALL = frozenset(d.name for d in DTYPES)
_FLOAT = frozenset({"float16", "bfloat16", "float32", "float64"})
_INT = frozenset({"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"})
_NUMBER = _FLOAT | _INT
_BOOL = frozenset({"bool"})
_INDEX = frozenset({"int32", "int64"})

_ARITHMETIC = (
    "Abs", "Add", "Sub", "Mul", "Div", "Mod", "Neg", "Sign", "Pow", "Sum", "Clip", "Relu", "Max", "Min", "Less",
    "LessOrEqual", "Greater", "GreaterOrEqual", "MatMul", "Gemm", "Einsum", "CumSum", "CumProd", "TopK", "MaxPool",
    "GlobalMaxPool", "Range", "ReduceSum", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceSumSquare", "ReduceL1",
    "PRelu", "ArgMax", "ArgMin", "EyeLike",
)  # fmt: skip
_FLOATING = (
    "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BatchNormalization", "Ceil", "Celu", "Cos", "Cosh",
    "Conv", "ConvTranspose", "DeformConv", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid", "HardSwish",
    "Hardmax", "LRN", "LeakyRelu", "Log", "LogSoftmax", "LpNormalization", "LpPool", "Mean", "Mish",
    "Reciprocal", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean", "Round", "Selu",
    "Shrink", "Sigmoid", "Sin", "Sinh", "Softmax", "Softplus", "Softsign", "Sqrt", "SwiGLU", "Swish", "Tan", "Tanh",
    "ThresholdedRelu", "CausalConvWithState", "LinearAttention", "RotaryEmbedding",
)  # fmt: skip

_MOVING = (
    "CenterCropPad", "Compress", "Concat", "ConcatFromSequence", "DepthToSpace", "Expand", "Gather", "GatherElements",
    "GatherND", "ReverseSequence", "ScatterElements", "ScatterND", "SequenceAt", "SequenceConstruct", "SequenceInsert",
    "Slice", "SpaceToDepth", "Split", "TensorScatter", "Tile", "Where",
)  # fmt: skip

_WIDER: dict[tuple[str, str], frozenset[str]] = {
    **{(op, "T"): _NUMBER for op in _ARITHMETIC},
    **{(op, "T"): _FLOAT for op in _FLOATING},
    # bools order false before true
    **{
        (op, "T"): _NUMBER | _BOOL
        for op in ("Max", "Min", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "ReduceMax", "ReduceMin",
                   "ArgMax", "ArgMin", "TopK")
    },
    **{(op, "T"): _ALL for op in _MOVING},
    ("LinearAttention", "S"): _FLOAT,
    ("BitShift", "T"): _INT,
    ("Pow", "T1"): _NUMBER,
    ("CumSum", "T2"): _INDEX,
}  # fmt: skip

# Domain ge: by operator and type variable; by type variable for the others.
_GE: Mapping[tuple[str, str], frozenset[str]] = {
    **{
        (f"ge.{op}", "T"): _FLOAT
        for op in ("Expm1", "Log1p", "Log2", "Log10", "Exp2", "Rsqrt", "Erfc", "ErfInv", "Lgamma", "Digamma",
                   "IsFinite", "LogSigmoid", "Atan2", "CopySign", "NextAfter", "FMax", "FMin", "LogAddExp",
                   "LogCumSumExp", "Inverse", "Cholesky", "Solve", "LSTM", "AveragePool", "KeptBoxes")
    },
    **{(f"ge.{op}", "T"): _NUMBER for op in ("Square", "Trunc", "FloorDiv", "FloorMod", "TruncDiv")},
    ("ge.ArithmeticShift", "T"): _INT,
}  # fmt: skip
_GE_VARIABLE: Mapping[str, frozenset[str]] = {"I": _INT, "T": _ALL, "V": _ALL}


@cache
def allowed(op: str, type_variable: str) -> frozenset[str]:
    """Names of the element types that an operator takes for one of its type variables.

    Args:
        type_variable: a variable of the operator's schema, or a concrete type such as `int64`.
    """
    if type_variable in _ALL:
        return frozenset({type_variable})
    if op.startswith("ge."):
        return _GE.get((op, type_variable), _GE_VARIABLE.get(type_variable, _ALL))
    own = _WIDER.get((op, type_variable), frozenset())
    return own | (frozenset(schema(op).types.get(type_variable, _ALL)) & _ALL)


@lru_cache(maxsize=8192)
def _problems(op: str, names: tuple[str | None, ...]) -> tuple[str, ...]:
    """What is wrong with inputs of these element types; None is an input that is omitted or no tensor."""
    declared, bound = schema(op), dict[str, str]()
    found = list[str]()
    for i, name in enumerate(names):
        if name is None:
            continue
        parameter = declared.input(i)
        ok = allowed(op, parameter.type)
        if name not in ok:
            found.append(f"input {parameter.name} is {name}, expected {_listed(ok)}")
        elif parameter.homogeneous and bound.setdefault(parameter.type, name) != name:
            other = bound[parameter.type]
            found.append(f"input {parameter.name} is {name}, another one of type {parameter.type} {other}")
    return tuple(found)


def check_dtypes(node: Node) -> None:
    """Check the element types of a node's inputs; sequences and optionals are left to the rules.

    Raises:
        TypeRuleError: one is not allowed, or inputs of one type variable differ.
    """
    names = [v.type.dtype.name if v is not None and isinstance(v.type, TensorType) else None for v in node.inputs]
    for problem in _problems(node.op, tuple(names)):
        raise TypeRuleError(f"{node.op}: {problem}", where=node.loc)


def _listed(names: frozenset[str]) -> str:
    return ", ".join(d.name for d in DTYPES if d.name in names)
