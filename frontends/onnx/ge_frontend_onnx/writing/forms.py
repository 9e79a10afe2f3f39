"""A node in the words of an opset: its operator's inputs and attributes as they were then."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from onnx import defs

from ge_core.ir.constant import Constant
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Node, Value, constant_of
from ge_core.ir.types import OptionalType, SequenceType, TensorType, Type
from ge_core.ops.schema import schema
from ge_core.passes.reshaping import may_be_empty


class InexpressibleError(Exception):
    """The opset cannot say this node. `types` holds the type variables whose element type is to blame."""

    def __init__(self, reason: str, types: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.types = types


@dataclass
class Form:
    """What is written of a node.

    Attributes:
        op: the operator's name.
        inputs: values, None for one that is left out.
        attrs: attributes as in the IR, those at their defaults left out.
    """

    op: str
    inputs: list[Value | None]
    attrs: dict[str, Any]


Rewrite = Callable[[Form, Node], None]
_OLDER: dict[str, list[tuple[int, Rewrite]]] = {}


def below(opset: int, *ops: str) -> Callable[[Rewrite], Rewrite]:
    """Register how operators are written below an opset; the function changes the form in place."""

    def register(function: Rewrite) -> Rewrite:
        for op in ops:
            _OLDER.setdefault(op, []).append((opset, function))
        return function

    return register


@cache
def declared(op: str, opset: int) -> defs.OpSchema | None:
    """ONNX's schema of an operator at an opset, None where it has none or only a deprecated one."""
    try:
        found = defs.get_schema(op, opset, "")
    except defs.SchemaError:
        return None
    return None if found.deprecated else found


# Operators that ONNX Runtime 1.32 does not run at any opset: written as what they consist of.
_NOWHERE = frozenset({"Swish"})


# What it has no float64 of.
ONLY_SINGLE = frozenset({
    "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Celu", "Cosh", "Elu", "Erf", "Gelu", "HardSigmoid", "HardSwish",
    "LeakyRelu", "Mish", "Selu", "Sinh", "Softplus", "Softsign", "Tan", "ThresholdedRelu",
})  # fmt: skip
_NOT_CHOSEN = frozenset({"bool", "uint16", "int16", "uint64"})
_BYTES = frozenset({"int8", "uint8", "int16", "uint16", "int32"})


def _is_not_run(node: Node, wanted: defs.OpSchema) -> bool:
    """Whether ONNX Runtime 1.32 lacks a form whose meaning other nodes have."""
    types = {v.dtype.name for v in (*node.inputs, *node.outputs) if v is not None and isinstance(v.type, TensorType)}
    if node.op in ("QuantizeLinear", "DequantizeLinear"):
        return wanted.since_version > 25 and bool(types & _BYTES)
    if node.op == "Where":
        return node.output.dtype.name in _NOT_CHOSEN
    return node.op in ONLY_SINGLE and "float64" in types or node.op == "Celu" and "float16" in types


def form_of(node: Node, opset: int) -> Form:
    """The node as the opset writes it.

    Raises:
        InexpressibleError: it cannot.
    """
    wanted = None if node.op.startswith("ge.") or node.op in _NOWHERE else declared(node.op, opset)
    if wanted is None:
        raise InexpressibleError(f"opset {opset} has no {node.op}")
    if _is_not_run(node, wanted):
        raise InexpressibleError(f"ONNX Runtime has no {node.op} of opset {wanted.since_version}")
    form = Form(node.op, list(node.inputs), _spoken(node, wanted))
    for limit, rewrite in _OLDER.get(node.op, ()):
        if opset < limit:
            rewrite(form, node)
    while form.inputs and form.inputs[-1] is None:
        form.inputs.pop()
    unknown = set(form.attrs) - set(wanted.attributes)
    if unknown or len(form.inputs) > wanted.max_input:
        what = f"has no attribute {sorted(unknown)[0]}" if unknown else f"does not take {len(form.inputs)} inputs"
        raise InexpressibleError(f"{node.op} of opset {opset} {what}")
    _check_types(form, node, wanted)
    return form


def _spoken(node: Node, wanted: defs.OpSchema) -> dict[str, Any]:
    """The attributes that differ from their defaults, and those that the opset needs or gives another default."""
    known = schema(node.op).attributes
    kept = {}
    for name, value in node.attrs.items():
        theirs = wanted.attributes.get(name)
        if value != known[name].default or (theirs is not None and theirs.required):
            kept[name] = value
    return kept


def _check_types(form: Form, node: Node, wanted: defs.OpSchema) -> None:
    allowed = {c.type_param_str: set(c.allowed_type_strs) for c in wanted.type_constraints}
    wrong: dict[str, str] = {}
    pairs: list[tuple[Any, Sequence[Value | None]]] = [(wanted.inputs, form.inputs), (wanted.outputs, node.outputs)]
    for formal, values in pairs:
        for i, value in enumerate(values):
            if value is None or not formal:
                continue
            kind = formal[min(i, len(formal) - 1)].type_str
            if type_name(value.type) not in allowed.get(kind, {kind}):
                wrong[kind] = str(value.type.dtype if isinstance(value.type, TensorType) else value.type)
    if wrong:
        listed = ", ".join(sorted(set(wrong.values())))
        raise InexpressibleError(f"{node.op} of opset {wanted.since_version} does not take {listed}", tuple(wrong))


_NAMES = {"float32": "float", "float64": "double"}


def type_name(type: DType | Type) -> str:
    """A type as ONNX's schemas write it: `tensor(float)`, `seq(tensor(float))`."""
    if isinstance(type, TensorType):
        return type_name(type.dtype)
    if isinstance(type, DType):
        return f"tensor({_NAMES.get(type.name, type.name)})"
    return f"{'seq' if isinstance(type, SequenceType) else 'optional'}({type_name(type.element)})"


def constant_ints(value: Value | None, what: str) -> tuple[int, ...]:
    """The integers of a constant input that the opset wants as an attribute.

    Raises:
        InexpressibleError: it is no constant.
    """
    found = constant_of(value)
    if found is not None:
        return tuple(int(x) for x in found.array().ravel())
    content = None if value is None else value.content
    if content is None or not all(isinstance(x, int) for x in content):
        raise InexpressibleError(f"{what} must be a constant in this opset")
    return tuple(int(x) for x in content if isinstance(x, int))


def _axes_attribute(form: Form, node: Node) -> None:
    axes = form.inputs[1] if len(form.inputs) > 1 else None
    form.inputs = form.inputs[:1]
    noop = form.attrs.pop("noop_with_empty_axes", 0)
    if axes is not None:
        known = constant_ints(axes, f"the axes of {node.op}")
        if known:
            form.attrs["axes"] = known
    if noop and "axes" not in form.attrs:
        raise InexpressibleError(f"{node.op} over no axes")


below(13, "ReduceSum", "Squeeze", "Unsqueeze")(_axes_attribute)
below(
    18, "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
    "ReduceSumSquare",
)(_axes_attribute)  # fmt: skip


@below(29, "Split")
def _split_parts(form: Form, node: Node) -> None:
    """Without sizes the outputs are counted."""
    if node.input(1) is None:
        form.attrs["num_outputs"] = len(node.outputs)


@below(18, "Split")
def _split_evenly(form: Form, node: Node) -> None:
    if form.attrs.pop("num_outputs", None) is not None:
        axis = int(form.attrs.get("axis", 0))
        sizes = {str(v.shape[axis]) for v in node.outputs}
        if len(sizes) != 1:
            raise InexpressibleError("parts of different sizes need their sizes in this opset")


@below(13, "Split")
def _split_attribute(form: Form, node: Node) -> None:
    if node.input(1) is not None:
        form.attrs["split"] = constant_ints(node.input(1), "the sizes of Split")
        form.inputs = form.inputs[:1]


@below(14, "Reshape")
def _reshape(form: Form, node: Node) -> None:
    """A 0 copies the input's size there; a shape that never has one means the same in every opset."""
    if form.attrs.pop("allowzero", 0):
        content = node.inputs[1].content if node.inputs[1] is not None else None
        if content is None or may_be_empty([n for n in content if n != -1]):
            raise InexpressibleError("Reshape to a size of 0 is not sayable in this opset")


@below(18, "Resize")
def _resize_axes(form: Form, node: Node) -> None:
    """All axes in order need not be named."""
    x = node.inputs[0]
    if x is not None and x.type.shape is not None and form.attrs.get("axes") == tuple(range(x.rank)):  # type: ignore[union-attr]
        form.attrs.pop("axes")


@below(13, "Resize")
def _resize(form: Form, node: Node) -> None:
    """Region and scales must be there; they are empty when they are not meant."""
    graph = node.block.graph if node.block is not None else None
    assert graph is not None
    form.inputs += [None] * (3 - len(form.inputs))
    for i in (1, 2):
        if form.inputs[i] is None:
            form.inputs[i] = graph.add_constant(Constant.of(np.zeros(0, np.float32)), "none")


@below(20, "DFT")
def _dft(form: Form, node: Node) -> None:
    if node.attrs.get("inverse", 0) and node.attrs.get("onesided", 0):
        raise InexpressibleError("a DFT from one half to real numbers is not sayable in this opset")
    axis = constant_ints(form.inputs[2], "the axis of DFT") if len(form.inputs) > 2 else (-2,)
    form.inputs = form.inputs[:2]
    form.attrs["axis"] = axis[0]


@below(20, "GridSample")
def _grid_sample(form: Form, node: Node) -> None:
    mode = str(node.attrs.get("mode", "linear"))
    if node.inputs[0] is None or node.inputs[0].rank != 4:
        raise InexpressibleError("GridSample of volumes is not sayable in this opset")
    form.attrs["mode"] = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)


@below(16, "RoiAlign")
def _roi_align(form: Form, node: Node) -> None:
    if form.attrs.pop("coordinate_transformation_mode", None) != "output_half_pixel":
        raise InexpressibleError("RoiAlign by half pixels is not sayable in this opset")


@below(19, "AveragePool")
@below(18, "LpPool")
def _dilations(form: Form, node: Node) -> None:
    if all(d == 1 for d in form.attrs.get("dilations", ())):
        form.attrs.pop("dilations", None)


@below(29, "AveragePool", "LpPool")
def _same_with_holes(form: Form, node: Node) -> None:
    """ONNX Runtime 1.32 leaves the holes out of the pads that it works out."""
    spread = any(d != 1 for d in node.attrs.get("dilations", ()))  # type: ignore[union-attr]
    if spread and str(node.attrs.get("auto_pad", "")).startswith("SAME"):
        raise InexpressibleError(f"{node.op} with holes and pads that follow from the sizes")


@below(21, "GroupNormalization")
def _group_normalization(form: Form, node: Node) -> None:
    raise InexpressibleError("a scale for each channel is not sayable in this opset")


@below(29, "Softmax", "LogSoftmax", "Hardmax")
def _softmax_axis(form: Form, node: Node) -> None:
    form.attrs.setdefault("axis", node.attrs.get("axis", -1))


@below(13, "Softmax", "LogSoftmax", "Hardmax")
def _softmax_last(form: Form, node: Node) -> None:
    """The axes from `axis` on are taken together: the same for the last one."""
    x = node.inputs[0]
    assert x is not None
    if form.attrs["axis"] not in (-1, x.rank - 1):
        raise InexpressibleError(f"{node.op} along an inner axis is not sayable in this opset")
    form.attrs["axis"] = x.rank - 1


@below(18, "OptionalGetElement", "OptionalHasElement")
def _no_optional_tensor(form: Form, node: Node) -> None:
    x = node.input(0)
    if x is None or not isinstance(x.type, OptionalType):
        raise InexpressibleError(f"{node.op} of what is no optional is not sayable in this opset")


@below(19, "Pad")
def _pad(form: Form, node: Node) -> None:
    if node.attrs.get("mode") == "wrap":
        raise InexpressibleError("Pad around the ends is not sayable in this opset")


@below(12, "Pow")
def _pow(form: Form, node: Node) -> None:
    base, exponent = node.inputs
    if base is not None and exponent is not None and base.dtype != exponent.dtype:
        raise InexpressibleError(f"Pow of {base.dtype} by {exponent.dtype} is not sayable in this opset")


@below(28, "Mod")
def _mod(form: Form, node: Node) -> None:
    if node.output.dtype.is_float and not node.attrs.get("fmod", 0):
        raise InexpressibleError("a remainder of floats with the divisor's sign is not sayable in this opset")


@below(18, "ScatterElements", "ScatterND")
def _scatter(form: Form, node: Node) -> None:
    if form.attrs.get("reduction") in ("max", "min"):
        raise InexpressibleError(f"{node.op} by {form.attrs['reduction']} is not sayable in this opset")


@below(15, "Optional")
def _no_optional(form: Form, node: Node) -> None:
    raise InexpressibleError("optionals are not sayable in this opset")
