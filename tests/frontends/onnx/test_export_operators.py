"""Operators of domain ge that ONNX has no word for, and ONNX's own in opsets that lack them, written as nodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ge_core.ir import Builder, symbol
from ge_core.ir.graph import Value
from ge_frontend_onnx.writing.forms import ONLY_SINGLE
from tests.frontends.onnx.exporting import Build, built, check

_random = np.random.default_rng(0)


def _f(*shape: int) -> np.ndarray:
    return _random.standard_normal(shape).astype(np.float32)


def _definite(*shape: int) -> np.ndarray:
    a = _f(*shape)
    return a @ a.swapaxes(-1, -2) + np.eye(shape[-1], dtype=np.float32)


_matrix = _f(2, 3, 5, 5)
_matrix[0, 0, 0, 0] = 0  # a row must be swapped
_x = _f(3, 4)
_places = np.array([[0, 2, 2, -1], [1, 1, 1, 0]], np.int64)
_ids = np.array([2, 0, 2, 2, 4], np.int64)
_rows, _whole = _f(5, 3), _random.integers(-9, 9, (5, 3))


def _scatters(**attrs: Any) -> Build:
    return lambda b, x, i, u: b.ge.ScatterReduce(x, i, u, axis=0, **attrs)


def _segments(reduction: str) -> Build:
    return lambda b, x, ids: b.ge.SegmentReduce(x, ids, np.int64(6), reduction=reduction)


def _boxes(limit: int) -> Build:
    def build(b: Builder, boxes: Value, scores: Value) -> Any:
        found = b.ge.KeptBoxes(boxes, scores, np.int64(limit), np.float32(0.3), np.float32(-0.5))
        return found, b.ge.KeptBoxes(boxes, scores, np.int64(limit), center_point_box=1)

    return build


def _reaching(include: int, divisor: int) -> Build:
    return lambda b, x: b.ge.AveragePool(
        x, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1], dilations=[1, 1], ceil_mode=1,
        count_include_pad=include, divisor=divisor)  # fmt: skip


def _neighbours(dtype: str) -> list[np.ndarray]:
    info = np.finfo(dtype)
    sizes = [0, 1, 1.5, info.max, np.inf, info.tiny, 2 * info.tiny, info.smallest_subnormal, 3 * info.tiny, np.pi]
    x = np.array([*sizes, *(-s for s in sizes)], dtype)
    return [np.tile(x, 2), np.repeat(np.array([np.inf, -np.inf], dtype), len(x))]


def _patterns(dtype: str) -> np.ndarray:
    info = np.finfo(dtype)
    sizes = [0, 1, np.pi, info.max, np.inf, info.tiny, info.smallest_subnormal, 0.75 * info.tiny, 1e4, 2 / 3]
    return np.array([*sizes, *(-s for s in sizes), np.nan], dtype)


_wide = np.concatenate([np.linspace(-9.75, 12, 44), [1e-6, 0, -3, 30, 1e20, np.inf]]).astype(np.float32)


def _sampled(mode: str, border: str, align: int) -> Build:
    return lambda b, x, grid: b.GridSample(x, grid, mode=mode, padding_mode=border, align_corners=align)


def _steps(b: Builder, x: Value, dtype: type, axis: int, block_size: int = 0) -> Any:
    shape = (3, 2) if block_size else (x.shape[axis],)
    scale = b.constant(_random.uniform(0.01, 0.9, shape).astype(np.float32))
    zero = b.constant(_random.integers(0, 9, shape).astype(dtype))
    q = b.QuantizeLinear(x, scale, zero, axis=axis, block_size=block_size)
    return q, b.DequantizeLinear(q, scale, zero, axis=axis, block_size=block_size)


def _projected(batch_first: int) -> Build:
    weights = [_f(*s) * 0.5 for s in ((2, 16, 5), (2, 16, 3), (2, 32), (2, 3, 4))]

    def build(b: Builder, x: Value, lengths: Value, h: Value) -> Any:
        w, r, bias, p = (b.constant(v) for v in weights)
        return b.op("ge.LSTM", x, w, r, bias, lengths, h, None, p, num_outputs=3, hidden_size=4, layout=batch_first,
                    direction="bidirectional")  # fmt: skip

    return build


_corners = np.sort(_random.random((2, 8, 2, 2)), axis=2).reshape(2, 8, 4).astype(np.float32)
_bits = np.array([0, 1, -1, 2**40 + 12345, -(2**62), 2**63 - 1, -(2**63), 77], np.int64)
_RANDOM: dict[str, dict[str, Any]] = {
    "uniform": {"dtype": "float32", "distribution": "uniform", "low": -2.0, "high": 3.0},
    "uniform_halves": {"dtype": "float16", "distribution": "uniform"},
    "uniform_doubles": {"dtype": "float64", "distribution": "uniform", "high": 7.0},
    "normal": {"dtype": "float32", "distribution": "normal", "low": 1.0, "high": 2.0},
    "normal_doubles": {"dtype": "float64", "distribution": "normal"},
    "bernoulli": {"dtype": "bool", "distribution": "bernoulli", "high": 0.3},
    "integers": {"dtype": "int64", "distribution": "randint", "low": -5.0, "high": 12.0},
    "words": {"dtype": "int64", "distribution": "randint", "low": 0.0, "high": 2.0**32},
    "large": {"dtype": "int64", "distribution": "randint", "low": -(2.0**62), "high": 2.0**62},
}

_CASES: dict[str, tuple[Build, list[np.ndarray]]] = {
    "inverse": (lambda b, x: b.ge.Inverse(x), [_matrix]),
    "inverse_of_doubles": (lambda b, x: b.ge.Inverse(x), [_matrix[0, 0].astype(np.float64)]),
    "inverse_of_halves": (lambda b, x: b.ge.Inverse(x), [(_f(4, 4) + 3 * np.eye(4)).astype(np.float16)]),
    "inverse_of_nothing": (lambda b, x: b.ge.Inverse(x), [_f(0, 3, 3)]),
    "solve": (lambda b, x, y: b.ge.Solve(x, y), [_matrix, _f(3, 5, 2)]),
    "solve_one": (lambda b, x, y: b.ge.Solve(x, y), [_matrix[0, 1], _f(5, 1)]),
    "cholesky": (lambda b, x: (b.ge.Cholesky(x), b.ge.Cholesky(x, upper=1)), [_definite(2, 4, 4)]),
    "cholesky_reads_one_half": (lambda b, x: b.ge.Cholesky(b.Trilu(x, upper=0)), [_definite(4, 4)]),
    **{f"scatter_{r}_{own}": (_scatters(reduction=r, include_self=own), [_x, _places, _f(2, 4)])
       for r in ("sum", "prod", "max", "min", "mean") for own in (0, 1)},
    "scatter_means_of_ints": (_scatters(reduction="mean"), [_whole[:3, :3].copy(), _places[:, :3].copy(), -_whole[:2]]),
    "scatter_more_updates": (_scatters(reduction="sum"), [_x, _places[:, :3].copy(), _f(3, 4)]),
    "scatter_halves": (_scatters(reduction="sum"), [_x.astype(np.float16), _places, _f(2, 4).astype(np.float16)]),
    "scatter_along_the_last_axis": (
        lambda b, x, i, u: b.ScatterElements(x, i, u, axis=-1, reduction="mul"), [_x, _places, _f(2, 4)]),
    "scatter_slices": (
        lambda b, x, i, u: (b.ScatterND(x, i, u, reduction="add"), b.ScatterND(x, i, u, reduction="max")),
        [_f(3, 2, 4), np.array([[0, 1], [2, -1], [0, 1]]), _f(3, 4)]),
    "scatter_nothing": (
        lambda b, x, i, u: b.ScatterND(x, i, u, reduction="min"), [_f(3, 2), np.zeros((0, 1), np.int64), _f(0, 2)]),
    **{f"segments_{r}": (_segments(r), [_rows, _ids]) for r in ("sum", "prod", "max", "min", "mean")},
    "segments_of_ints": (_segments("mean"), [_whole, _ids]),
    "segments_of_scalars": (_segments("max"), [_f(5), _ids.astype(np.int32)]),
    "counts": (lambda b, x: b.ge.BinCount(x, None, np.int64(6)), [_ids]),
    "counts_of_weights": (lambda b, x, w: b.ge.BinCount(x, w, np.int64(6)), [_ids, _f(5)]),
    "running_logarithms": (lambda b, x: (b.ge.LogCumSumExp(x, axis=0), b.ge.LogCumSumExp(x, axis=-1)),
                           [np.float32([[1, -np.inf, 80], [-np.inf, -np.inf, 90], [3, 4, -90]])]),
    "running_products": (lambda b, x: (
        b.CumProd(x, np.int64(1)), b.CumProd(x, np.int64(-2), reverse=1), b.CumProd(x, np.int64(0), exclusive=1),
        b.CumProd(x, np.int64(1), exclusive=1, reverse=1)), [_x]),
    "places": (lambda b, x: b.ge.Places(b.Greater(x, 0.0), b.ReduceSum(
        b.Cast(b.Greater(x, 0.0), to="int64"), keepdims=0)), [_f(9)]),
    **{f"boxes_{limit}": (_boxes(limit), [_corners, _f(2, 3, 8)]) for limit in (0, 2, 20)},
    "powers": (lambda b, x, i, k: (b.Pow(b.Abs(x), i), b.Pow(i, k), b.Pow(b.Cast(i, to="int8"), k)),
               [_f(4), np.array([2, -3, 1, 7]), np.array([3, 2, 9, 5], np.int32)]),
    "special": (lambda b, x: (b.ge.Lgamma(x), b.ge.Digamma(x), b.ge.Erfc(x)), [_wide]),
    "special_of_doubles": (lambda b, x: (b.ge.Lgamma(x), b.ge.Digamma(x), b.ge.Erfc(x)), [_wide.astype(np.float64)]),
    "error_inverse": (lambda b, x: b.ge.ErfInv(x), [np.float32([0, 1e-9, -0.3, 0.5, 0.99, -0.9999999, 1, -1, 1.5])]),
    "signs": (lambda b, x, y: b.ge.CopySign(x, y), [_f(4), np.float32([0.0, -0.0, -3, np.inf])]),
    **{f"neighbours_of_{t}": (lambda b, x, y: b.ge.NextAfter(x, y), _neighbours(t))
       for t in ("float16", "float32", "float64")},
    "resized_axes": (lambda b, x: (
        b.Resize(x, None, b.constant(np.float32([2, 1.5])), axes=[3, 2], mode="linear"),
        b.Resize(x, None, None, b.ints(4, 9), axes=[2, 3], mode="nearest"),
        b.Resize(x, b.constant(np.float32([0.1, 0.2, 0.8, 0.9])), None, b.ints(4, 5), axes=[2, 3], mode="linear",
                 coordinate_transformation_mode="tf_crop_and_resize")), [_f(2, 3, 7, 6)]),
    "widening_filters": (lambda b, x: (
        b.Resize(x, None, None, b.ints(2, 3, 3, 4), mode="linear", antialias=1),
        b.Resize(x, None, b.constant(np.float32([0.6, 0.5])), axes=[2, 3], mode="cubic", antialias=1)),
        [_f(2, 3, 7, 6)]),
    "axes_of_the_call": (lambda b, x, a: (
        b.ReduceSum(x, a), b.ReduceMax(x, a, keepdims=0), b.ReduceMean(x, a, noop_with_empty_axes=1, keepdims=0),
        b.ReduceL2(x, a), b.ReduceLogSumExp(x, a, keepdims=0), b.ReduceProd(x, b.Slice(a, b.ints(0), b.ints(0)))),
        [_f(2, 3, 4), np.array([-1, 0])]),
    "changes_of_rank": (lambda b, x, a: (b.Squeeze(x, a), b.Unsqueeze(x, a), b.Squeeze(b.Unsqueeze(x, a), a)),
                        [_f(1, 3, 1), np.array([-1, 0])]),
    "no_axes": (lambda b, x: b.ReduceSum(x, noop_with_empty_axes=1), [_f(2, 3)]),
    **{f"grid_{mode}_{border}_{align}": (_sampled(mode, border, align), [_f(2, 3, 5, 4), _f(2, 3, 6, 2)])
       for mode in ("linear", "nearest", "cubic") for border in ("zeros", "border", "reflection") for align in (0, 1)},
    "grid_of_volumes": (_sampled("linear", "reflection", 0), [_f(1, 2, 3, 5, 4), _f(1, 3, 2, 6, 3)]),
    "cache": (lambda b, x, u, at: (
        b.TensorScatter(x, u, at), b.TensorScatter(x, u, b.Add(at, np.int64(3)), mode="circular"),
        b.TensorScatter(x, u, axis=1)), [_f(2, 5, 3), _f(2, 2, 3), np.array([1, 3])]),
    "cropped": (lambda b, x, s: b.CenterCropPad(x, s, axes=[-1, 0]), [_f(4, 3, 5), np.array([7, 2])]),
    "affine_grid": (lambda b, t, s: b.AffineGrid(t, s, align_corners=1), [_f(2, 2, 3), np.array([2, 3, 4, 5])]),
    "blocks": (lambda b, x: (
        b.Col2Im(x, b.ints(7, 6), b.ints(2, 3), strides=[2, 1], pads=[1, 0, 0, 1], dilations=[1, 2]),),
        [_f(2, 12, 12)]),
    "last_places": (lambda b, x: (
        b.ArgMax(x, axis=1, select_last_index=1), b.ArgMin(x, axis=-1, keepdims=0, select_last_index=1)),
        [np.round(_f(3, 9))]),
    "steps_of_16_bits": (lambda b, x: _steps(b, x, np.int16, axis=1), [_f(3, 4) * 90]),
    "steps_by_blocks": (lambda b, x: _steps(b, x, np.uint8, axis=1, block_size=2), [_f(3, 4) * 90]),
    "steps_by_channels": (lambda b, x: _steps(b, x, np.int8, axis=0), [_f(3, 4) * 90]),
    "running_products_of_the_call": (lambda b, x, axis: b.CumProd(x, axis), [_f(2, 3, 4), np.array(-1)]),
    "remainders": (lambda b, x, y: b.Mod(x, y), [_f(9), _f(9)]),
    **{f"choice_of_{t}": (lambda b, x, y: b.Where(b.Not(b.Equal(x, y)), x, y),
                          [_bits.astype(t), _bits[::-1].astype(t)]) for t in ("uint64", "int16", "uint16", "bool")},
    "functions_of_doubles": (lambda b, x: (*(b.op(op, x) for op in sorted(ONLY_SINGLE - {"Acosh"})),
                                           b.Acosh(b.Add(b.Abs(x), 1.0)), b.Gelu(x, approximate="tanh")),
                             [np.float64([0, 1e-9, -0.3, 0.5, 0.999, -0.9999999, 1 / 3])]),
    "functions_of_large_doubles": (
        lambda b, x: [b.op(op, x) for op in ("Atan", "Asinh", "Sinh", "Cosh", "Tan", "Erf", "Softplus", "Mish")],
        [np.float64([-700, 5.5, 40, -1e-200, 1.0])]),
    **{f"bits_of_{f}": (lambda b, x, k, f=f, i=i: (b.BitCast(x, to=i), b.BitCast(k, to=f)),
                        [_patterns(f), _patterns(f).view(i)[::-1].copy()])
       for f, i in (("float16", "int16"), ("float32", "uint32"), ("float64", "int64"))},
    "bits_of_integers": (lambda b, x: (b.BitCast(x, to="uint64"), b.BitCast(b.Cast(x, to="uint8"), to="int8")),
                         [_bits]),
    "transforms": (lambda b, x, z: (
        b.DFT(x), b.DFT(x, np.int64(9), np.int64(1), onesided=1), b.DFT(z, None, np.int64(1), inverse=1),
        b.DFT(z, np.int64(4), np.int64(0)), b.DFT(z, None, np.int64(2))), [_f(2, 6, 5, 1), _f(2, 6, 5, 2)]),
    "frames": (lambda b, x: (
        b.STFT(x, np.int64(3), b.constant(_f(8))), b.STFT(x, np.int64(4), None, np.int64(8), onesided=0)),
        [_f(2, 20, 1)]),
    "pads_of_axes_of_the_call": (lambda b, x, p, a: b.Pad(x, p, None, a),
                                 [_f(2, 3, 4), np.array([1, 2, 0, 3]), np.array([-1, 0])]),
    "bytes_pooled": (lambda b, x: b.MaxPool(x, kernel_shape=[2, 2], num_outputs=2),
                     [_random.integers(0, 255, (1, 2, 4, 4)).astype(np.uint8)]),
    "batches_gathered": (lambda b, x, i: b.GatherND(x, i, batch_dims=1),
                         [_f(2, 3, 4), np.array([[[0], [2]], [[-1], [1]]])]),
    "truths_reduced": (lambda b, x: (b.ReduceMax(x, b.ints(1)), b.ReduceMin(x, b.ints(0), keepdims=0)),
                       [_random.integers(0, 2, (3, 4)).astype(bool)]),
    "moved_kernels": (lambda b, x, o, m: (
        b.DeformConv(x, b.constant(_f(6, 2, 2, 3)), o, b.constant(_f(6)), m, group=2, offset_group=2,
                     kernel_shape=[2, 3], pads=[0, 1, 1, 0], strides=[2, 1], dilations=[1, 2]),
        b.DeformConv(x, b.constant(_f(3, 4, 2, 3)), o, group=1, offset_group=2, kernel_shape=[2, 3],
                     pads=[0, 1, 1, 0], strides=[2, 1], dilations=[1, 2])),
        [_f(2, 4, 6, 5), _f(2, 24, 3, 2), _f(2, 12, 3, 2)]),
    "of_constants_alone": (lambda b, x: b.Add(x, b.MelWeightMatrix(
        np.int64(3), np.int64(8), np.int64(8000), np.float32(100), np.float32(3000))), [_f(5, 3)]),
    "wrapped": (lambda b, x: b.Pad(x, b.ints(1, 0, 2, 0, 7, 1), mode="wrap"), [_f(2, 3, 4)]),
    **{f"projected_rows_{first}": (_projected(first), [
        _f(*((2, 6, 5) if first else (6, 2, 5))), np.array([6, 3], np.int32), _f(*((2, 2, 3) if first else (2, 2, 3)))])
       for first in (0, 1)},
    "digits": (lambda b, x, y: (
        b.BitwiseAnd(x, y), b.BitwiseOr(x, y), b.BitwiseXor(x, y), b.BitwiseNot(x)), [_bits, _bits[::-1].copy()]),
    "digits_of_bytes": (lambda b, x, y: (
        b.BitwiseAnd(x, y), b.BitwiseOr(x, y), b.BitwiseXor(x, y), b.BitwiseNot(x)),
        [_bits.astype(np.uint8), _bits[::-1].astype(np.uint8)]),
    "digits_of_large": (lambda b, x, y: (
        b.BitwiseAnd(x, y), b.BitwiseOr(x, y), b.BitwiseXor(x, y), b.BitwiseNot(x)),
        [_bits.astype(np.uint64), _bits[::-1].astype(np.uint64)]),
    "shifts": (lambda b, x, y: (
        b.BitShift(x, y, direction="LEFT"), b.BitShift(x, y, direction="RIGHT"), b.ge.ArithmeticShift(x, y)),
        [_bits, np.array([0, 1, 5, 63, 64, 70, -1, 3])]),
    "shifts_of_unsigned": (lambda b, x, y: b.ge.ArithmeticShift(x, y),
                           [_bits.astype(np.uint64), np.array([0, 1, 5, 63, 64, 70, 9, 3], np.uint64)]),
    "shifts_of_bytes": (lambda b, x, y: (
        b.BitShift(x, y, direction="LEFT"), b.BitShift(x, y, direction="RIGHT"), b.ge.ArithmeticShift(x, y)),
        [_bits.astype(np.int8), np.array([0, 1, 5, 6, 7, 8, -1, 3], np.int8)]),
    **{f"reaching_{include}_{divisor}": (_reaching(include, divisor), [_f(2, 3, 7, 6)])
       for include, divisor in ((0, 0), (1, 0), (1, 5))},
    "holes": (lambda b, x: (
        b.AveragePool(x, kernel_shape=[2, 3], dilations=[2, 2], pads=[1, 1, 0, 1]),
        b.AveragePool(x, kernel_shape=[3, 2], dilations=[1, 2], pads=[1, 0, 1, 1], strides=[2, 2], ceil_mode=1,
                      count_include_pad=1),
        b.AveragePool(x, kernel_shape=[2, 2], dilations=[2, 1], auto_pad="SAME_UPPER"),
        b.LpPool(x, kernel_shape=[2, 2], dilations=[2, 1], pads=[1, 1, 1, 1], p=3)), [_f(2, 3, 7, 6)]),
    "adaptive": (lambda b, x: (
        b.ge.AdaptivePool(x, output_size=[3, 4], mode="max"), b.ge.AdaptivePool(x, output_size=[3, 4], mode="average"),
        *b.ge.AdaptivePool(x, output_size=[3, 4], mode="max", num_outputs=2),
        *b.ge.AdaptivePool(x, output_size=[5], mode="max", num_outputs=2)), [_f(2, 3, 7, 6)]),
}  # fmt: skip


@pytest.mark.parametrize("opset", [11, 13, 17, 21, 28])
@pytest.mark.parametrize("name", _CASES)
def test_every_opset_says_it(name: str, opset: int, tmp_path: Path) -> None:
    build, arrays = _CASES[name]
    double = all(a.dtype == np.float64 for a in arrays)
    check(tmp_path / "net.onnx", built(build, arrays), arrays, opset, 1e-14 if double else 2e-5)


@pytest.mark.parametrize("opset", [11, 21])
@pytest.mark.parametrize(("name", "seed", "offset"), [*((name, 7, 2**32 - 3) for name in _RANDOM),
                                                      ("normal", -(2**40) - 9, -2)])  # fmt: skip
def test_random_numbers_are_the_same(name: str, seed: int, offset: int, opset: int, tmp_path: Path) -> None:
    graph = built(lambda b, s: b.ge.Random(b.ints(3, 7), s, np.int64(offset), **_RANDOM[name]), [np.array(seed)])
    check(tmp_path / "net.onnx", graph, [np.array(seed)], opset, 1e-6)


@pytest.mark.parametrize("opset", [11, 13, 14, 21])
@pytest.mark.parametrize("rows", [0, 3])
def test_reshape_to_a_size_that_may_be_0(rows: int, opset: int, tmp_path: Path) -> None:
    """Below 14 a 0 in the shape would copy the size that the input has there."""
    n = symbol("n", 0)

    def build(b: Builder, x: Value, y: Value) -> Any:
        given = b.Shape(b.Concat([x, x], axis=1))
        return (
            b.Reshape(x, b.ints(2, n * 2), allowzero=1),  # one size may be 0, where the input has another
            b.Reshape(x, b.ints(n, 2, 2), allowzero=1),  # the size that would be copied is the one that is meant
            b.Reshape(y, b.ints(n * n, 2, n), allowzero=1),  # two may be
            b.Reshape(b.Concat([x, x], axis=1), b.Concat([b.Gather(given, b.ints(1)), b.ints(n)], axis=0), allowzero=1),
            b.Reshape(b.Slice(x, b.ints(0), b.ints(0), b.ints(0)), b.ints(3, 0, 5), allowzero=1),  # always empty
        )

    arrays = [_f(rows, 4), _f(rows, 2 * rows, rows)]
    graph = built(build, arrays, [(n, 4), (n, 2 * n, n)])
    check(tmp_path / "net.onnx", graph, arrays, opset)


@pytest.mark.parametrize("opset", [11, 17])
@pytest.mark.parametrize("shape", [[6, 2], [0, 5]])
def test_reshape_to_a_shape_that_comes_with_the_call(shape: list[int], opset: int, tmp_path: Path) -> None:
    arrays = [_f(4, 3) if shape[0] else _f(0, 3), np.array(shape)]
    graph = built(lambda b, x, s: b.Reshape(x, s, allowzero=1), arrays, [(symbol("n"), 3), (2,)])
    check(tmp_path / "net.onnx", graph, arrays, opset)


@pytest.mark.parametrize("opset", [11, 18])
def test_pools_over_sizes_that_are_not_known(opset: int, tmp_path: Path) -> None:
    h, w = symbol("h", 4), symbol("w", 4)

    def build(b: Builder, x: Value) -> Any:
        return (
            *b.ge.AdaptivePool(x, output_size=[3, w // 2], mode="max", num_outputs=2),
            b.ge.AdaptivePool(x, output_size=[2, 3], mode="average"),
            _reaching(1, 0)(b, x),
            b.AveragePool(x, kernel_shape=[2, 2], dilations=[2, 2], auto_pad="SAME_LOWER"),
        )

    graph = built(build, [_f(2, 3, 5, 5)], [(symbol("n"), 3, h, w)])
    for rows, columns in ((4, 4), (7, 6), (5, 9)):
        check(tmp_path / "net.onnx", graph, [_f(2, 3, rows, columns)], opset)


@pytest.mark.parametrize("opset", [11, 18])
def test_an_axis_of_a_transform_that_comes_with_the_call(opset: int, tmp_path: Path) -> None:
    graph = built(lambda b, x, a: b.DFT(x, None, a), [_f(2, 6, 5, 2), np.array(1)])
    for axis in (0, 1, -2):
        check(tmp_path / "net.onnx", graph, [_f(2, 6, 5, 2), np.array(axis)], opset)


@pytest.mark.parametrize("opset", [11, 19, 28])
def test_back_from_one_half_of_a_transform(opset: int, tmp_path: Path) -> None:
    def build(b: Builder, z: Value) -> Any:
        back = b.DFT(z, None, np.int64(1), inverse=1, onesided=1)
        return back, b.DFT(z, np.int64(9), np.int64(1), inverse=1, onesided=1)

    half = _f(2, 5, 3, 2)
    half[:, 0, :, 1] = half[:, -1, :, 1] = 0  # as of a real signal
    check(tmp_path / "net.onnx", built(build, [half]), [half], opset)


@pytest.mark.parametrize("opset", [11, 17])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8])
def test_the_extreme_of_nothing_is_that_of_the_type(dtype: type, opset: int, tmp_path: Path) -> None:
    """Also where it is computed in a wider one."""
    arrays = [np.zeros((0, 2), dtype)]
    graph = built(lambda b, x: (b.ReduceMax(x, b.ints(0)), b.ReduceMin(x, b.ints(0))), arrays)
    check(tmp_path / "net.onnx", graph, arrays, opset)


@pytest.mark.parametrize("op", ["LSTM", "GRU", "RNN"])
def test_recurrences_with_the_batch_first(op: str, tmp_path: Path) -> None:
    """ONNX Runtime runs none of them so: the file is compared where the batch stands second."""
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    w, r = _f(2, gates * 4, 3), _f(2, gates * 4, 4)

    def build(b: Builder, x: Value, h: Value) -> Any:
        return b.op(op, x, b.constant(w), b.constant(r), None, None, h, num_outputs=2, hidden_size=4, layout=1,
                    direction="bidirectional")  # fmt: skip

    arrays = [_f(5, 7, 3), _f(5, 2, 4)]
    check(tmp_path / "net.onnx", built(build, arrays), arrays, 13)
