"""Normalisations and softmax."""

from __future__ import annotations

from ge_ascend.lower.call import LowerCall
from ge_ascend.lower.registry import lowering
from ge_ascend.net import Out
from ge_ascend.prototypes import prototype
from ge_core.ir.dims import Size
from ge_core.ir.dtype import float32, int32


@lowering("LayerNormalization")
def layer_norm(c: LowerCall) -> list[Out | None]:
    """LayerNormV4 over the last axes; what also returns its statistics is expanded."""
    axis = c.attr("axis") % c.rank()
    sizes = c.shape()[axis:]
    if len(c.node.outputs) > 1 or not all(isinstance(size, int) for size in sizes):
        return list(c.expand())
    joined = _add_layer_norm(c, sizes)
    if joined is not None:
        return [joined]
    found = c.ops(
        "LayerNormV4",
        c[0],
        c.ints(sizes, int32),
        _shaped(c, 1, sizes),
        _shaped(c, 2, sizes),
        epsilon=float(c.attr("epsilon")),
    )
    return [found[0]]


def _add_layer_norm(c: LowerCall, sizes: tuple[Size, ...]) -> Out | None:
    """AddLayerNorm does an addition before a norm of the last axis too; no plugin confirms it."""
    declared = prototype("AddLayerNorm")
    if not c.may_use("Skip add + LayerNorm pattern") or declared is None or not declared.on(c.engine.chip):
        return None
    added = _addition(c) if len(sizes) == 1 and c.node.input(2) is not None else None
    if added is None:
        return None
    factors = [_shaped(c, index, sizes) for index in (1, 2)]
    operands = [out for _, out in added.op.inputs]
    epsilon = float(c.attr("epsilon"))
    y, _, _, total = c.ops("AddLayerNorm", *operands, *factors, None, epsilon=epsilon, additional_output=True)
    c.scope.net.ops.remove(added.op)
    c.scope.outs[c.input(0)] = total
    return y


def _shaped(c: LowerCall, index: int, sizes: tuple[object, ...]) -> Out | None:
    """A factor or offset with exactly the normalised sizes."""
    out = c.get(index)
    if out is None or c.shape(index) == sizes:
        return out
    return c.op("BroadcastTo", out, c.ints(sizes))  # type: ignore[arg-type]


@lowering("RMSNormalization")
def rms_norm(c: LowerCall) -> Out:
    """RmsNorm; after an addition that nothing else reads, AddRmsNorm does both."""
    axis = c.attr("axis") % c.rank()
    sizes = c.shape()[axis:]
    if not all(isinstance(size, int) for size in sizes):
        return c.expand()[0]
    epsilon = float(c.attr("epsilon"))
    added = _addition(c)
    if added is None:
        return c.ops("RmsNorm", c[0], _shaped(c, 1, sizes), epsilon=epsilon)[0]
    operands = [out for _, out in added.op.inputs]
    y, _, total = c.ops("AddRmsNorm", *operands, _shaped(c, 1, sizes), epsilon=epsilon)
    c.scope.net.ops.remove(added.op)
    c.scope.outs[c.input(0)] = total
    return y


def _addition(c: LowerCall) -> Out | None:
    """The sum of two equal shapes that is normalised, when nothing has read it yet."""
    out = c.scope.outs.get(c.input(0))
    if out is None or out.op.type != "Add" or out.value.dtype != c[0].value.dtype or out.value.dtype.kind != "float":
        return None
    types = [o.value.type for _, o in out.op.inputs]
    if any(t != out.value.type for t in types):
        return None
    ops = c.scope.net.ops
    read = any(fed is out for op in ops for _, fed in op.inputs)
    return None if read or out.op not in ops else out


@lowering("BatchNormalization")
def batch_norm(c: LowerCall) -> Out:
    """BNInfer: statistics in float32."""
    formats = {4: "NCHW", 5: "NCDHW"}.get(c.rank())
    if formats is None:
        return c.expand()[0]
    statistics = [c.cast(c.as_is(i), float32) for i in range(1, 5)]
    return c.ops("BNInfer", c[0], *statistics, epsilon=float(c.attr("epsilon")), formats={"x": formats, "y": formats})[
        0
    ]


@lowering("InstanceNormalization")
def instance_norm(c: LowerCall) -> Out:
    formats = {4: "NCHW", 5: "NCDHW"}.get(c.rank())
    if formats is None:
        return c.expand()[0]
    return c.ops(
        "InstanceNorm", c[0], c[1], c[2], data_format=formats, epsilon=float(c.attr("epsilon")),
        formats={"x": formats, "y": formats},
    )[0]  # fmt: skip


@lowering("GroupNormalization")
def group_norm(c: LowerCall) -> Out:
    """GroupNormV2 is TorchAir's mapping alone."""
    if not c.may_use("GroupNormalization") or c.rank() != 4:
        return c.expand()[0]
    return c.ops(
        "GroupNormV2", c[0], c[1], c[2], num_groups=c.attr("num_groups"), data_format="NCHW",
        eps=float(c.attr("epsilon")), formats={"x": "NCHW", "y": "NCHW"},
    )[0]  # fmt: skip


@lowering("LRN")
def lrn(c: LowerCall) -> Out:
    """alpha is per element here and per window there; only odd windows have a radius."""
    size = c.attr("size")
    if size % 2 == 0 or c.rank() != 4:
        raise c.refuse(f"a window of {size} on {c.rank()} axes", "use an odd window on four axes")
    return c.ops(
        "LRN", c[0], depth_radius=(size - 1) // 2, bias=float(c.attr("bias")), alpha=float(c.attr("alpha")) / size,
        beta=float(c.attr("beta")), formats={"x": "NCHW", "y": "NCHW"},
    )[0]  # fmt: skip


@lowering("Softmax")
def softmax(c: LowerCall) -> Out:
    return c.op("SoftmaxV2", c[0], axes=[c.attr("axis")])


@lowering("LogSoftmax")
def log_softmax(c: LowerCall) -> Out:
    return c.op("LogSoftmaxV2", c[0], axes=[c.attr("axis")])


@lowering("Hardmax")
def hardmax(c: LowerCall) -> Out:
    return c.op("HardMax", c[0], axis=c.attr("axis"))
