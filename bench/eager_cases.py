"""The operators that `eager.py` times: functions of PyTorch on operands that many models have, by family."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

ROWS, COLUMNS = 256, 1000

Case = tuple[str, Callable[..., Any], Sequence[Any]]


def floats(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(shape).to(dtype)


def between(low: float, high: float, *shape: int) -> Tensor:
    return torch.rand(shape or (ROWS, COLUMNS)) * (high - low) + low


def integers(low: int, high: int, *shape: int, dtype: torch.dtype = torch.int64) -> Tensor:
    return torch.randint(low, high, shape or (ROWS, COLUMNS), dtype=dtype)


def bools(*shape: int) -> Tensor:
    return torch.rand(shape or (ROWS, COLUMNS)) > 0.5


X = floats(ROWS, COLUMNS)
Y = floats(ROWS, COLUMNS)
HALF, BRAIN = X.half(), X.bfloat16()
I64, I32, I8 = integers(-100, 100), integers(-100, 100, dtype=torch.int32), integers(-100, 100, dtype=torch.int8)
CUBE = floats(32, 64, 128)
IMAGE = floats(4, 32, 56, 56)


def unary() -> list[Case]:
    names = [
        "abs",
        "neg",
        "exp",
        "exp2",
        "expm1",
        "sin",
        "cos",
        "tan",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "sigmoid",
        "erf",
        "erfc",
        "floor",
        "ceil",
        "round",
        "trunc",
        "frac",
        "sign",
        "sgn",
        "square",
        "reciprocal",
        "isnan",
        "isinf",
        "isfinite",
        "signbit",
        "sinc",
        "relu",
    ]
    found: list[Case] = [(name, getattr(torch, name), [X]) for name in names]
    positive, unit, above = between(0.01, 9), between(-0.99, 0.99), between(1.01, 9)
    found += [
        (n, getattr(torch, n), [positive])
        for n in ["log", "log2", "log10", "log1p", "sqrt", "rsqrt", "lgamma", "digamma"]
    ]
    found += [(n, getattr(torch, n), [unit]) for n in ["asin", "acos", "atanh", "erfinv"]]
    found += [("acosh", torch.acosh, [above]), ("logit", torch.logit, [between(0.01, 0.99)])]
    activations = [
        "gelu",
        "silu",
        "mish",
        "softplus",
        "softsign",
        "elu",
        "selu",
        "celu",
        "relu6",
        "hardtanh",
        "hardsigmoid",
        "hardswish",
        "leaky_relu",
        "logsigmoid",
        "tanhshrink",
        "softshrink",
        "hardshrink",
    ]
    found += [(name, getattr(F, name), [X]) for name in activations]
    found += [
        ("gelu tanh", lambda x: F.gelu(x, approximate="tanh"), [X]),
        ("glu", F.glu, [X]),
        ("prelu", F.prelu, [IMAGE, floats(32)]),
        ("threshold", lambda x: F.threshold(x, 0.1, 2.0), [X]),
        ("clamp", lambda x: x.clamp(-1, 1), [X]),
        ("nan_to_num", torch.nan_to_num, [X]),
        ("logical_not", torch.logical_not, [bools()]),
    ]
    for name in ("exp", "tanh", "sigmoid", "erf", "sqrt", "sin"):
        found.append((f"{name} f64", getattr(torch, name), [X.double().abs()]))
    for kind, x in (("f16", HALF), ("bf16", BRAIN)):
        found += [(f"{n} {kind}", getattr(torch, n), [x]) for n in ("exp", "tanh", "sigmoid", "abs", "neg", "erf")]
        found += [(f"{n} {kind}", getattr(F, n), [x]) for n in ("gelu", "silu", "relu")]
    found += [(f"{n} i64", getattr(torch, n), [I64]) for n in ("abs", "neg", "sign", "bitwise_not", "square")]
    found += [(f"{n} i8", getattr(torch, n), [I8]) for n in ("abs", "neg", "sign", "bitwise_not")]
    return found


def binary() -> list[Case]:
    names = [
        "add",
        "sub",
        "mul",
        "div",
        "maximum",
        "minimum",
        "atan2",
        "fmod",
        "remainder",
        "floor_divide",
        "eq",
        "lt",
        "ge",
        "copysign",
        "hypot",
        "logaddexp",
        "fmax",
        "heaviside",
        "logical_and",
    ]
    found: list[Case] = [(name, getattr(torch, name), [X, Y]) for name in names]
    found += [
        ("pow", torch.pow, [between(0.1, 4), Y]),
        ("pow 3", lambda x: x**3, [X]),
        ("pow 0.5", lambda x: x**0.5, [X.abs()]),
        ("pow 1.7", lambda x: x**1.7, [X.abs()]),
        ("2 pow x", lambda x: 2.0**x, [X]),
        ("div trunc", lambda x, y: torch.div(x, y, rounding_mode="trunc"), [X, Y]),
        ("add of a row", torch.add, [X, floats(COLUMNS)]),
        ("add of a column", torch.add, [X, floats(ROWS, 1)]),
        ("outer sum", torch.add, [floats(512, 1), floats(512)]),
        ("add of channels", torch.add, [IMAGE, floats(32, 1, 1)]),
        ("lerp", torch.lerp, [X, Y, between(0, 1)]),
        ("addcmul", lambda x, y, z: torch.addcmul(x, y, z, value=0.5), [X, Y, X * 2]),
        ("addcdiv", lambda x, y, z: torch.addcdiv(x, y, z, value=0.5), [X, Y, between(1, 2)]),
        ("where", torch.where, [bools(), X, Y]),
        ("where scalar", lambda c, x: torch.where(c, x, 0.0), [bools(), X]),
        ("masked_fill", lambda x, c: x.masked_fill(c, -1e9), [X, bools()]),
        ("masked_fill of a row", lambda x, c: x.masked_fill(c, -1e9), [X, bools(COLUMNS)]),
        ("isclose", torch.isclose, [X, Y]),
        ("add bool", torch.logical_or, [bools(), bools()]),
    ]
    some = {"i64": (I64, integers(1, 50)), "i32": (I32, integers(1, 50, dtype=torch.int32)),
            "i8": (I8, integers(1, 50, dtype=torch.int8)),
            "u8": (integers(0, 99, dtype=torch.uint8), integers(1, 50, dtype=torch.uint8))}  # fmt: skip
    for kind, operands in some.items():
        for name in ("add", "mul", "floor_divide", "remainder", "maximum", "eq", "bitwise_and"):
            found.append((f"{name} {kind}", getattr(torch, name), operands))
        found.append((f"div trunc {kind}", lambda x, y: torch.div(x, y, rounding_mode="trunc"), operands))
        found.append((f"true div {kind}", torch.true_divide, operands))
    small = integers(0, 7)
    found += [("shift left i64", torch.bitwise_left_shift, [I64, small]),
              ("shift right i64", torch.bitwise_right_shift, [I64, small]),
              ("pow i64", lambda x: x**3, [I64]), ("gcd i64", torch.gcd, [I64, integers(1, 50)])]  # fmt: skip
    for kind, x in (("f16", HALF), ("bf16", BRAIN)):
        found += [(f"{n} {kind}", getattr(torch, n), [x, x + 1]) for n in ("add", "mul", "div", "maximum", "lt")]
        found.append((f"where {kind}", torch.where, [bools(), x, x + 1]))
    return found


def reductions() -> list[Case]:
    found: list[Case] = []
    for name in ("sum", "mean", "amax", "amin", "prod", "logsumexp", "argmax", "argmin"):
        function = getattr(torch, name)
        for axis, word in ((0, "first"), (1, "last")):
            found.append((f"{name} {word}", lambda x, f=function, a=axis: f(x, dim=a), [X]))
        found.append((f"{name} middle", lambda x, f=function: f(x, dim=1), [CUBE]))
    found += [(f"{n} all", getattr(torch, n), [X]) for n in ("sum", "mean", "max", "min", "prod", "argmax", "norm")]
    found += [
        ("sum of image", lambda x: x.sum((2, 3)), [IMAGE]),
        ("mean of image", lambda x: x.mean((2, 3), keepdim=True), [IMAGE]),
        ("sum of batch and image", lambda x: x.sum((0, 2, 3)), [IMAGE]),
        ("sum of outer and inner", lambda x: x.sum((0, 2)), [CUBE]),
        ("amax of image", lambda x: x.amax((2, 3)), [IMAGE]),
        ("sum of 7", lambda x: x.sum(-1), [floats(32768, 7)]),
        ("amax of 7", lambda x: x.amax(-1), [floats(32768, 7)]),
        ("sum of 49", lambda x: x.sum(-1), [floats(4096, 49)]),
        ("sum first of 7", lambda x: x.sum(0), [floats(7, 32768)]),
        ("var last", lambda x: x.var(-1), [X]),
        ("std first", lambda x: x.std(0), [X]),
        ("var_mean last", lambda x: torch.var_mean(x, -1), [X]),
        ("norm last", lambda x: torch.linalg.vector_norm(x, dim=-1), [X]),
        ("norm 1 last", lambda x: torch.linalg.vector_norm(x, ord=1, dim=-1), [X]),
        ("max with indices last", lambda x: x.max(-1), [X]),
        ("max with indices first", lambda x: x.max(0), [X]),
        ("any last", lambda x: x.any(-1), [bools()]),
        ("all first", lambda x: x.all(0), [bools()]),
        ("count_nonzero", lambda x: torch.count_nonzero(x, dim=-1), [I64]),
        ("cumsum last", lambda x: x.cumsum(-1), [X]),
        ("cumsum first", lambda x: x.cumsum(0), [X]),
        ("cumsum middle", lambda x: x.cumsum(1), [CUBE]),
        ("cumsum i64", lambda x: x.cumsum(-1), [I64]),
        ("cumprod last", lambda x: x.cumprod(-1), [between(0.9, 1.1)]),
        ("cummax last", lambda x: x.cummax(-1), [X]),
        ("logcumsumexp last", lambda x: x.logcumsumexp(-1), [X]),
        ("median last", lambda x: x.median(-1), [X]),
        ("cdist", torch.cdist, [floats(128, 32), floats(128, 32)]),
        ("cosine_similarity", F.cosine_similarity, [X, Y]),
        ("mse_loss", F.mse_loss, [X, Y]),
        ("smooth_l1_loss", F.smooth_l1_loss, [X, Y]),
        ("cross_entropy", F.cross_entropy, [X, integers(0, COLUMNS, ROWS)]),
        ("nll_loss", F.nll_loss, [X, integers(0, COLUMNS, ROWS)]),
        ("bce_with_logits", F.binary_cross_entropy_with_logits, [X, between(0, 1)]),
        ("kl_div", lambda x, y: F.kl_div(x, y, reduction="batchmean"), [X, between(0.1, 1)]),
    ]
    for kind, x in (("f16", HALF), ("bf16", BRAIN), ("i64", I64), ("i32", I32), ("f64", X.double())):
        for name in ("sum", "amax", "argmax"):
            for axis, word in ((0, "first"), (1, "last")):
                found.append((f"{name} {word} {kind}", lambda x, n=name, a=axis: getattr(torch, n)(x, dim=a), [x]))
    return found


def norms() -> list[Case]:
    scale, shift = floats(COLUMNS), floats(COLUMNS)
    channel = [floats(32), floats(32).abs() + 0.5, floats(32), floats(32)]
    found: list[Case] = []
    for kind in (torch.float32, torch.float16, torch.bfloat16):
        word = {torch.float32: "", torch.float16: " f16", torch.bfloat16: " bf16"}[kind]
        x = X.to(kind)
        found += [
            (f"softmax last{word}", lambda x: x.softmax(-1), [x]),
            (f"softmax first{word}", lambda x: x.softmax(0), [x]),
            (f"log_softmax last{word}", lambda x: x.log_softmax(-1), [x]),
            (
                f"layer_norm{word}",
                lambda x, w, b: F.layer_norm(x, (COLUMNS,), w, b),
                [x, scale.to(kind), shift.to(kind)],
            ),
            (f"rms_norm{word}", lambda x, w: F.rms_norm(x, (COLUMNS,), w, 1e-5), [x, scale.to(kind)]),
        ]
    return [
        *found,
        ("softmax middle", lambda x: x.softmax(1), [CUBE]),
        ("log_softmax first", lambda x: x.log_softmax(0), [X]),
        ("softmin last", lambda x: F.softmin(x, -1), [X]),
        ("batch_norm", lambda x, m, v, w, b: F.batch_norm(x, m, v, w, b), [IMAGE, *channel]),
        ("instance_norm", F.instance_norm, [IMAGE]),
        ("group_norm", lambda x, w, b: F.group_norm(x, 8, w, b), [IMAGE, channel[0], channel[2]]),
        ("normalize last", lambda x: F.normalize(x, dim=-1), [X]),
        ("normalize first", lambda x: F.normalize(x, dim=0), [X]),
        ("local_response_norm", lambda x: F.local_response_norm(x, 5), [IMAGE]),
    ]


def movement() -> list[Case]:
    rows = integers(0, ROWS, 4096)
    found: list[Case] = []
    for kind, x in (("", X), (" f16", HALF), (" i64", I64), (" i8", I8)):
        found += [
            (f"transpose{kind}", lambda x: x.t().contiguous(), [x]),
            (f"cat first{kind}", lambda x: torch.cat([x, x], 0), [x]),
            (f"cat last{kind}", lambda x: torch.cat([x, x], 1), [x]),
            (f"index_select first{kind}", lambda x, i: x.index_select(0, i), [x, integers(0, ROWS, 256)]),
            (f"index_select last{kind}", lambda x, i: x.index_select(1, i), [x, integers(0, COLUMNS, 1000)]),
            (f"gather last{kind}", lambda x, i: x.gather(1, i), [x, integers(0, COLUMNS)]),
            (f"gather first{kind}", lambda x, i: x.gather(0, i), [x, integers(0, ROWS)]),
            (f"flip last{kind}", lambda x: x.flip(1), [x]),
        ]
    return [
        *found,
        ("permute 0 2 1", lambda x: x.permute(0, 2, 1).contiguous(), [CUBE]),
        ("permute 2 0 1", lambda x: x.permute(2, 0, 1).contiguous(), [CUBE]),
        ("permute 1 0 2", lambda x: x.permute(1, 0, 2).contiguous(), [CUBE]),
        ("to channels last", lambda x: x.permute(0, 2, 3, 1).contiguous(), [IMAGE]),
        ("from channels last", lambda x: x.permute(0, 3, 1, 2).contiguous(), [floats(4, 56, 56, 32)]),
        ("permute 5 dims", lambda x: x.permute(0, 3, 1, 4, 2).contiguous(), [floats(8, 16, 16, 8, 16)]),
        ("stack last", lambda x, y: torch.stack([x, y], -1), [X, Y]),
        ("stack first", lambda x, y: torch.stack([x, y]), [X, Y]),
        ("cat of 8", lambda x: torch.cat([x] * 8, 1), [floats(ROWS, 125)]),
        ("flip first", lambda x: x.flip(0), [X]),
        ("roll last", lambda x: x.roll(7, 1), [X]),
        ("roll first", lambda x: x.roll(7, 0), [X]),
        ("roll both", lambda x: x.roll((3, 3), (2, 3)), [IMAGE]),
        ("repeat", lambda x: x.repeat(2, 2), [X]),
        ("expand", lambda x: x.expand(ROWS, COLUMNS).contiguous(), [floats(COLUMNS)]),
        ("expand a column", lambda x: x.expand(ROWS, COLUMNS).contiguous(), [floats(ROWS, 1)]),
        ("repeat_interleave", lambda x: x.repeat_interleave(2, 1), [X]),
        ("repeat_interleave first", lambda x: x.repeat_interleave(2, 0), [X]),
        ("pad", lambda x: F.pad(x, (1, 1, 1, 1)), [IMAGE]),
        ("pad reflect", lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"), [IMAGE]),
        ("pad replicate", lambda x: F.pad(x, (1, 1, 1, 1), mode="replicate"), [IMAGE]),
        ("pad circular", lambda x: F.pad(x, (1, 1, 1, 1), mode="circular"), [IMAGE]),
        ("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), [IMAGE]),
        ("pixel_unshuffle", lambda x: F.pixel_unshuffle(x, 2), [IMAGE]),
        ("channel_shuffle", lambda x: F.channel_shuffle(x, 4), [IMAGE]),
        ("unfold image", lambda x: F.unfold(x, 3, padding=1), [floats(1, 32, 56, 56)]),
        ("fold image", lambda x: F.fold(x, (56, 56), 3, padding=1), [floats(1, 288, 3136)]),
        ("tril", torch.tril, [X]),
        ("triu", lambda x: torch.triu(x, 1), [X]),
        ("diagonal", lambda x: x.diagonal().contiguous(), [floats(512, 512)]),
        ("diag_embed", torch.diag_embed, [floats(64, 64)]),
        ("strided slice", lambda x: x[:, ::2].contiguous(), [X]),
        ("strided rows", lambda x: x[::2].contiguous(), [X]),
        ("split and join", lambda x: torch.cat(x.chunk(2, 1)[::-1], 1), [X]),
        ("slice_scatter", lambda x, y: x.slice_scatter(y, 1, 100, 600), [X, floats(ROWS, 500)]),
        ("embedding", F.embedding, [integers(0, 5000, 512), floats(5000, 512)]),
        ("embedding f16", F.embedding, [integers(0, 5000, 512), floats(5000, 512).half()]),
        ("embedding of 16", F.embedding, [integers(0, 5000, 8192), floats(5000, 16)]),
        ("index pairs", lambda x, i, j: x[i, j], [X, rows, integers(0, COLUMNS, 4096)]),
        ("index rows", lambda x, i: x[i], [X, rows[:256]]),
        ("index last", lambda x, i: x[:, i], [X, integers(0, COLUMNS, 500)]),
        ("take_along_dim", lambda x, i: torch.take_along_dim(x, i, 1), [X, integers(0, COLUMNS)]),
        ("index_put", lambda x, i, y: x.index_put((i,), y), [X, torch.randperm(ROWS)[:128], floats(128, COLUMNS)]),
        ("index_put add", lambda x, i, y: x.index_put((i,), y, accumulate=True), [X, rows[:128], floats(128, COLUMNS)]),
        ("index_add", lambda x, i, y: x.index_add(0, i, y), [X, rows[:256], Y]),
        ("index_copy", lambda x, i, y: x.index_copy(0, i, y), [X, torch.randperm(ROWS), Y]),
        ("index_fill", lambda x, i: x.index_fill(1, i, 2.0), [X, integers(0, COLUMNS, 100)]),
        ("scatter last", lambda x, i, y: x.scatter(1, i, y), [X, torch.rand(ROWS, COLUMNS).argsort(-1), Y]),
        ("scatter_add last", lambda x, i, y: x.scatter_add(1, i, y), [X, integers(0, COLUMNS), Y]),
        ("scatter_add first", lambda x, i, y: x.scatter_add(0, i, y), [X, integers(0, ROWS), Y]),
        ("scatter_reduce amax", lambda x, i, y: x.scatter_reduce(1, i, y, "amax"), [X, integers(0, COLUMNS), Y]),
        ("scatter_reduce mean", lambda x, i, y: x.scatter_reduce(0, i, y, "mean"), [X, integers(0, ROWS), Y]),
        ("masked_scatter", lambda x, c, y: x.masked_scatter(c, y), [X, bools(), Y]),
        ("masked_select", lambda x, c: x.masked_select(c), [X, bools()]),
        ("nonzero", torch.nonzero, [bools()]),
        ("one_hot", lambda i: F.one_hot(i, 100), [integers(0, 100, 4096)]),
        ("sort last", lambda x: x.sort(-1), [X]),
        ("sort first", lambda x: x.sort(0), [X]),
        ("sort stable descending", lambda x: torch.sort(x, stable=True, dim=-1, descending=True), [X]),
        ("sort stable i64", lambda x: torch.sort(x, stable=True, dim=-1), [I64]),
        ("sort flat", lambda x: torch.sort(x, stable=True), [floats(200_000)]),
        ("argsort last", lambda x: x.argsort(-1), [X]),
        ("topk 5 last", lambda x: x.topk(5), [X]),
        ("topk 100 last", lambda x: x.topk(100), [X]),
        ("topk 5 first", lambda x: x.topk(5, dim=0), [X]),
        ("topk 50 of vocabulary", lambda x: x.topk(50), [floats(4, 50_000)]),
        ("kthvalue", lambda x: x.kthvalue(10), [X]),
        ("unique", torch.unique, [integers(0, 1000, 50_000)]),
        ("searchsorted", torch.searchsorted, [floats(1000).sort().values, floats(50_000)]),
        ("bucketize", torch.bucketize, [X, floats(20).sort().values]),
        ("bincount", lambda i: torch.bincount(i, minlength=100), [integers(0, 100, 50_000)]),
        ("histc", lambda x: torch.histc(x, 100, -3, 3), [X]),
        ("arange", lambda x: torch.arange(x.shape[0] * x.shape[1]) + x.reshape(-1), [I64]),
        ("meshgrid", lambda x, y: torch.meshgrid(x, y, indexing="ij")[0].contiguous(), [floats(512), floats(512)]),
    ]


def casts() -> list[Case]:
    kinds = {"f32": X * 20, "f16": HALF, "bf16": BRAIN, "f64": X.double(), "i64": I64, "i32": I32, "i8": I8,
             "u8": integers(0, 255, dtype=torch.uint8), "bool": bools()}  # fmt: skip
    types = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "f64": torch.float64,
             "i64": torch.int64, "i32": torch.int32, "i8": torch.int8, "bool": torch.bool}  # fmt: skip
    pairs = [
        "f32 f16",
        "f32 bf16",
        "f32 f64",
        "f32 i64",
        "f32 i32",
        "f32 i8",
        "f32 bool",
        "f16 f32",
        "bf16 f32",
        "f64 f32",
        "i64 f32",
        "i32 f32",
        "i8 f32",
        "u8 f32",
        "bool f32",
        "i64 i32",
        "i32 i64",
        "i64 bool",
        "bool i64",
        "f16 bf16",
        "i8 i32",
    ]
    found: list[Case] = []
    for pair in pairs:
        source, target = pair.split()
        found.append((f"cast {source} to {target}", lambda x, t=types[target]: x.to(t), [kinds[source]]))
    return found


def windows() -> list[Case]:
    return [
        ("max_pool2d", lambda x: F.max_pool2d(x, 3, 2, 1), [IMAGE]),
        ("max_pool2d 2", lambda x: F.max_pool2d(x, 2), [IMAGE]),
        ("max_pool2d indices", lambda x: F.max_pool2d(x, 2, return_indices=True), [IMAGE]),
        ("avg_pool2d", lambda x: F.avg_pool2d(x, 3, 2, 1), [IMAGE]),
        ("avg_pool2d 2", lambda x: F.avg_pool2d(x, 2), [IMAGE]),
        ("lp_pool2d", lambda x: F.lp_pool2d(x, 2, 2), [IMAGE]),
        ("max_pool1d", lambda x: F.max_pool1d(x, 3, 2), [CUBE]),
        ("avg_pool1d", lambda x: F.avg_pool1d(x, 3, 2), [CUBE]),
        ("max_pool3d", lambda x: F.max_pool3d(x, 2), [floats(2, 8, 16, 28, 28)]),
        ("avg_pool3d", lambda x: F.avg_pool3d(x, 2), [floats(2, 8, 16, 28, 28)]),
        ("adaptive_avg_pool2d 1", lambda x: F.adaptive_avg_pool2d(x, 1), [IMAGE]),
        ("adaptive_avg_pool2d 7", lambda x: F.adaptive_avg_pool2d(x, 7), [IMAGE]),
        ("adaptive_avg_pool2d 5", lambda x: F.adaptive_avg_pool2d(x, 5), [IMAGE]),
        ("adaptive_max_pool2d 7", lambda x: F.adaptive_max_pool2d(x, 7), [IMAGE]),
        ("max_unpool2d", lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2), [IMAGE]),
        ("upsample nearest", lambda x: F.interpolate(x, scale_factor=2), [IMAGE]),
        ("upsample bilinear", lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), [IMAGE]),
        ("upsample bilinear aligned", lambda x: F.interpolate(x, size=(112, 112), mode="bilinear", align_corners=True),
         [IMAGE]),
        ("upsample bicubic", lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"), [IMAGE]),
        ("downsample bilinear", lambda x: F.interpolate(x, size=(28, 28), mode="bilinear"), [IMAGE]),
        ("downsample antialias", lambda x: F.interpolate(x, size=(28, 28), mode="bilinear", antialias=True), [IMAGE]),
        ("downsample area", lambda x: F.interpolate(x, size=(28, 28), mode="area"), [IMAGE]),
        ("upsample linear 1d", lambda x: F.interpolate(x, scale_factor=2, mode="linear"), [CUBE]),
        ("upsample trilinear", lambda x: F.interpolate(x, scale_factor=2, mode="trilinear"), [floats(1, 8, 8, 28, 28)]),
        ("grid_sample", lambda x, g: F.grid_sample(x, g, align_corners=False), [IMAGE, between(-1, 1, 4, 56, 56, 2)]),
        ("grid_sample border", lambda x, g: F.grid_sample(x, g, padding_mode="border", align_corners=True),
         [IMAGE, between(-1, 1, 4, 56, 56, 2)]),
        ("grid_sample nearest", lambda x, g: F.grid_sample(x, g, mode="nearest", align_corners=False),
         [IMAGE, between(-1, 1, 4, 56, 56, 2)]),
        ("affine_grid", lambda t: F.affine_grid(t, [4, 3, 56, 56], align_corners=False), [floats(4, 2, 3)]),
        ("fft", lambda x: torch.view_as_real(torch.fft.rfft(x)), [floats(64, 512)]),
        ("stft", lambda x, w: torch.view_as_real(torch.stft(x, 512, 128, window=w, return_complex=True)),
         [floats(1, 16000), torch.hann_window(512)]),
        ("det", torch.linalg.det, [floats(64, 8, 8)]),
        ("inverse", torch.linalg.inv, [floats(64, 8, 8) + 8 * torch.eye(8)]),
    ]  # fmt: skip


FAMILIES = {f.__name__: f for f in (unary, binary, reductions, norms, movement, casts, windows)}
