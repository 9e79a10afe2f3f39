"""Pointwise operators against torch: element types, promotion, ranks, special values."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from tests.frontends.torch.agreement import check, check_all

NAN, INF = math.nan, math.inf
FLOATS = [torch.float32, torch.float64, torch.float16, torch.bfloat16]
INTS = [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8]

SPECIAL = torch.tensor([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, 20.0, -20.0, 1e-3, INF, -INF, NAN])
NUMBERS = torch.tensor([-3, -2, -1, 0, 1, 2, 3, 100])

UNARY: list[Callable[..., Any]] = [
    torch.abs, torch.neg, torch.sign, torch.sgn, torch.floor, torch.ceil, torch.trunc, torch.round, torch.sqrt,
    torch.rsqrt, torch.exp, torch.exp2, torch.expm1, torch.log, torch.log2, torch.log10, torch.log1p, torch.sin,
    torch.cos, torch.tan, torch.asin, torch.acos, torch.atan, torch.sinh, torch.cosh, torch.tanh, torch.asinh,
    torch.acosh, torch.atanh, torch.erf, torch.erfc, torch.erfinv, torch.sigmoid, torch.reciprocal, torch.square,
    torch.relu, torch.positive, torch.isnan, torch.isinf, torch.isfinite, torch.isposinf, torch.isneginf,
    torch.logical_not, torch.signbit, torch.deg2rad, torch.rad2deg, torch.nan_to_num, torch.frac,
]  # fmt: skip

ACTIVATIONS: list[Callable[..., Any]] = [
    F.silu, F.mish, F.hardswish, F.hardsigmoid, F.relu6, F.selu, F.celu, F.elu, F.softplus, F.softsign, F.gelu,
    F.logsigmoid, F.leaky_relu, F.tanhshrink, F.softshrink, F.hardshrink, F.rrelu, F.hardtanh,
    lambda x: F.gelu(x, approximate="tanh"),
    lambda x: F.elu(x, 0.3),
    lambda x: F.celu(x, 0.7),
    lambda x: F.leaky_relu(x, 0.3),
    lambda x: F.softplus(x, 2.0, 5.0),
    lambda x: F.hardtanh(x, -0.5, 2.0),
    lambda x: F.threshold(x, 0.1, 20.0),
    lambda x: F.softshrink(x, 0.2),
    lambda x: torch.ops.aten.elu(x, 0.5, 1.5, 0.8),
    lambda x: torch.logit(x, 1e-3),
    lambda x: torch.nan_to_num(x, 1.0, 2.0, -2.0),
    lambda x: torch.round(x, decimals=1),
]  # fmt: skip


def moderate(dtype: torch.dtype) -> torch.Tensor:
    return torch.linspace(-3, 3, 24).reshape(2, 3, 4).to(dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_unary_functions(dtype: torch.dtype) -> None:
    loose = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2}.get(dtype)
    for functions in (UNARY, ACTIVATIONS):
        check_all(functions, (moderate(dtype),), tolerance=loose)


def test_unary_special_values() -> None:
    # torch's vectorised asinh and acosh of infinity differ from its scalar ones
    skipped = {torch.asinh, torch.acosh, torch.rad2deg}
    check_all([f for f in UNARY if f not in skipped], (SPECIAL,))
    # torch gives NaN for gelu of infinity
    check_all([f for f in ACTIVATIONS[:-1] if f is not F.gelu], (SPECIAL,))
    check_all([F.gelu], (SPECIAL[SPECIAL.isfinite()],))


def test_rank_zero_and_empty() -> None:
    for x in (torch.tensor(0.3), torch.zeros(0, 3)):
        check_all([*UNARY, *ACTIVATIONS], (x,))


@pytest.mark.parametrize("dtype", INTS)
def test_unary_functions_of_integers(dtype: torch.dtype) -> None:
    x = NUMBERS.to(dtype) if dtype != torch.uint8 else NUMBERS.abs().to(dtype)
    functions = [f for f in UNARY if f not in (torch.frac,)]
    check_all(functions, (x,))
    check_all([torch.bitwise_not, lambda v: v.bool(), lambda v: v.float(), lambda v: ~v], (x,))


def test_unary_functions_of_bools() -> None:
    x = torch.tensor([True, False])
    same = [torch.exp, torch.sigmoid, torch.isnan, torch.logical_not, torch.bitwise_not, torch.sqrt, torch.square]
    check_all([f for f in same if f is not torch.square], (x,))


BINARY: list[Callable[..., Any]] = [
    torch.add, torch.sub, torch.mul, torch.div, torch.maximum, torch.minimum, torch.fmax, torch.fmin,
    torch.atan2, torch.remainder, torch.fmod, torch.floor_divide, torch.pow, torch.eq, torch.ne, torch.lt, torch.le,
    torch.gt, torch.ge, torch.logical_and, torch.logical_or, torch.logical_xor,
    lambda a, b: torch.div(a, b, rounding_mode="floor"),
    lambda a, b: torch.div(a, b, rounding_mode="trunc"),
    lambda a, b: torch.add(a, b, alpha=2),
    lambda a, b: torch.sub(a, b, alpha=3),
    lambda a, b: torch.rsub(a, b),
    torch.isclose,
]  # fmt: skip
FLOAT_BINARY: list[Callable[..., Any]] = [
    torch.copysign, torch.nextafter, torch.logaddexp, torch.hypot, torch.xlogy,
    lambda a, b: torch.lerp(a, b, 0.3),
    lambda a, b: torch.lerp(a, b, 0.8),
    lambda a, b: torch.lerp(a, b, b),
    lambda a, b: torch.addcmul(a, a, b, value=0.1),
    lambda a, b: torch.addcdiv(a, a, b, value=0.1),
    lambda a, b: torch.isclose(a, b, equal_nan=True),
]  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS)
def test_binary_functions(dtype: torch.dtype) -> None:
    a, b = moderate(dtype), torch.tensor([[1.5], [-2.0], [0.75]]).to(dtype)
    skipped = {torch.nextafter} if dtype in (torch.float16, torch.bfloat16) else set()
    check_all([f for f in BINARY + FLOAT_BINARY if f not in skipped], (a, b))


def test_binary_special_values() -> None:
    a, b = torch.meshgrid(SPECIAL, SPECIAL, indexing="ij")
    check_all([f for f in BINARY if f is not torch.pow] + FLOAT_BINARY[:4], (a, b))


@pytest.mark.parametrize("dtype", INTS)
def test_binary_functions_of_integers(dtype: torch.dtype) -> None:
    a = torch.tensor([7, -7, 100, 3, 0, 127]).to(dtype)
    b = (
        torch.tensor([2, 2, -3, 5, 1, 127]).to(dtype)
        if dtype != torch.uint8
        else torch.tensor([2, 2, 3, 5, 1, 127], dtype=dtype)
    )
    functions = [f for f in BINARY if f is not torch.pow]
    check_all(functions, (a, b))
    bits = [
        torch.bitwise_and,
        torch.bitwise_or,
        torch.bitwise_xor,
        lambda x, y: x & 6,
        lambda x, y: x | y,
        lambda x, y: x ^ 3,
    ]
    shifts = [lambda x, y: x << 2, lambda x, y: x >> 1, lambda x, y: torch.bitwise_left_shift(x, 1)]
    check_all(bits + shifts, (a, b))
    check_all(
        [lambda x: x**2, lambda x: torch.pow(2, x), lambda x: torch.pow(x, x)],
        (torch.tensor([0, 1, 2, 3]).to(dtype),),
    )


MIXED = [torch.bool, torch.uint8, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64]


@pytest.mark.parametrize("left", MIXED)
def test_promotion_between_tensors(left: torch.dtype) -> None:
    arithmetic = [
        torch.add,
        torch.mul,
        torch.div,
        torch.eq,
        torch.lt,
        torch.maximum,
        lambda a, b: torch.where(a > 0, a, b),
    ]
    a = torch.tensor([[1.0, 2.0, 3.0]]).to(left)
    # a tensor of rank 0 counts less than one with axes
    others = [torch.tensor(values).to(right) for right in MIXED for values in ([2.0, 1.0, 3.0], 2.0)]
    check(lambda *given: [f(given[0], b) for f in arithmetic for b in given[1:]], (a, *others))
    check_all(arithmetic, (torch.tensor(1.0).to(left), torch.tensor(2.5)))


@pytest.mark.parametrize("dtype", MIXED)
def test_promotion_with_numbers(dtype: torch.dtype) -> None:
    x = torch.tensor([1.0, 2.0, 3.0]).to(dtype)
    functions: list[Callable[..., Any]] = [
        lambda v: v + 1, lambda v: v + 1.5, lambda v: 2 * v, lambda v: v * 0.1, lambda v: v / 3, lambda v: 1 / v,
        lambda v: v > 1, lambda v: v > 1.5, lambda v: v == 2.0, lambda v: torch.add(v, 1, alpha=1),
        lambda v: torch.where(v > 1, v, 0.0), lambda v: torch.where(v > 1, 1.0, v),
        lambda v: torch.clamp(v, 1.5, 2.5) if v.is_floating_point() else v, lambda v: v.masked_fill(v > 1, 7),
        lambda v: v + True, lambda v: 1.5 + v,
    ]  # fmt: skip
    if dtype != torch.bool:
        functions += [
            lambda v: 2.5 - v,
            lambda v: 7 // v,
            lambda v: v % 2,
            lambda v: v // 2,
            lambda v: v - 1,
            lambda v: v**2,
        ]
        functions += [lambda v: v**0.5, lambda v: 2.0**v, lambda v: v // 1.5, lambda v: v % 1.5]
    check_all(functions, (x,))


def test_clamping() -> None:
    x = torch.cat([SPECIAL, torch.linspace(-2, 2, 5)])
    low, high = torch.tensor(-1.0), torch.linspace(0, 3, 18)
    check_all(
        [
            lambda v, lo, hi: v.clamp(-1, 1), lambda v, lo, hi: v.clamp(min=0), lambda v, lo, hi: v.clamp(max=0.5),
            lambda v, lo, hi: v.clamp(lo, hi), lambda v, lo, hi: v.clamp(min=lo), lambda v, lo, hi: v.clamp(max=hi),
            lambda v, lo, hi: v.clamp(1, -1), lambda v, lo, hi: torch.clamp_min(v, 0.2),
            lambda v, lo, hi: torch.clamp_max(v, hi),
        ],
        (x, low, high),
    )  # fmt: skip
    check_all([lambda v: v.clamp(-1, 2), lambda v: v.clamp(0.5, 2)], (NUMBERS,))


def test_prelu_glu_where_and_masks() -> None:
    x, w = torch.randn(2, 4, 3), torch.rand(4)
    check_all([F.prelu, lambda v, s: F.prelu(v, s[:1]), lambda v, s: F.glu(v, 1)], (x, w))
    check_all([F.prelu], (torch.randn(3, 4), torch.rand(4)))
    check_all([F.prelu], (torch.randn(5), torch.rand(1)))
    mask = torch.tensor([True, False, True])
    check_all(
        [
            lambda v, m: torch.where(m, v, 0.5), lambda v, m: torch.where(m, v, v * 2),
            lambda v, m: v.masked_fill(m, -INF),
            lambda v, m: v.masked_fill(m, torch.tensor(3.0)), lambda v, m: torch.where(m, 1, 2),
            lambda v, m: torch.where(m, 1.0, 2.0),
            lambda v, m: torch.where(m, True, False), lambda v, m: m & ~m, lambda v, m: m | m,
            lambda v, m: m ^ True, lambda v, m: m + m, lambda v, m: m * m,
            lambda v, m: m < ~m, lambda v, m: torch.maximum(m, ~m),
        ],
        (x, mask),
    )  # fmt: skip


def test_conversions() -> None:
    x = torch.tensor([0.0, 1.7, -1.7, 300.0])
    kinds = [torch.bool, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float64]
    check_all([lambda v, k=k: v.to(k) for k in kinds], (x,))
    check_all(
        [
            lambda v: v.type_as(v.double()), lambda v: v.to(v.half()), lambda v: v.to("cpu", torch.int32),
            lambda v: v.view(torch.int32),
            lambda v: v.double().float().contiguous().clone().detach(), lambda v: F.dropout(v, 0.5, False),
        ],
        (x,),
    )  # fmt: skip


def test_in_place_on_fresh_values_and_on_views() -> None:
    def fresh(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        y.relu_()
        y.add_(1)
        return y + y.mul_(3)

    def view(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x * 2
        row = y[0]
        row.add_(1)
        y[1:, 0] = 5
        return y, row

    def through_dropout(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x + 1
        z = F.dropout(y, 0.5, False)
        z.mul_(2)
        return y, z

    def dropout_in_place(x: torch.Tensor) -> torch.Tensor:
        return F.dropout(x + 1, 0.5, False, inplace=True)

    def dropout_as_a_result(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = x + 1
        y[0] = 2
        return F.dropout(y, 0.5, False), F.dropout(x, 0.5, False)

    for function in (fresh, view, through_dropout, dropout_in_place, dropout_as_a_result):
        check(function, (torch.randn(3, 4),), dynamic=({0: torch.export.Dim("n", min=3)},))


def test_dynamic_sizes_broadcast() -> None:
    n = torch.export.Dim("n")
    check(
        lambda x, y: (x + y, x * x.shape[0], y / x.shape[0]),
        (torch.randn(3, 4), torch.randn(3, 1)),
        dynamic=({0: n}, {0: n}),
    )


def test_integer_division_by_zero_is_an_error() -> None:
    from ge_core.errors import DivisionByZeroError
    from ge_core.reference.interpret import interpret
    from ge_frontend_torch.importer import import_model

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        imported = import_model(lambda x, y: x // y, (torch.tensor([4]), torch.tensor([2])))
    with pytest.raises(DivisionByZeroError):
        interpret(imported.graph, [torch.tensor([4]).numpy(), torch.tensor([0]).numpy()])
