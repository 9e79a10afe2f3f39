"""Fourier transforms, windows and the mel scale: ONNX's cases, comparison with PyTorch, symbolic sizes, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from ge_core.errors import TypeRuleError
from ge_core.ir import Builder, Graph, symbol
from ge_core.reference.interpret import interpret
from tests.core.ops.onnx_cases import Case, cases, check_case
from tests.core.ops.single_node import Rule, check_rule, run_node

RNG = np.random.default_rng(0)
WINDOWS = ("HannWindow", "HammingWindow", "BlackmanWindow")


@pytest.mark.parametrize("case", cases("DFT", "STFT", "MelWeightMatrix", *WINDOWS))
def test_onnx(case: Case) -> None:
    # sums of 16 and more terms of size 1 and 10: the last bits of single precision
    check_case(case, atol=2e-5)


I = np.int64  # noqa: E741  scalars of int64
RULES = [
    Rule("DFT", [("a", "b", 2), None, I(1)]),
    Rule("DFT", [("a", 6, 1), I(5), I(-2)], {"onesided": 1}),
    Rule("DFT", [("a", 6, "b", 1)], {"onesided": 1}),
    Rule("DFT", [(3, "b", 2)], {"inverse": 1}),
    Rule("STFT", [("a", 12, 1), I(3), (4,)]),
    Rule("STFT", [("a", 12, 2), I(2), None, I(5)], {"onesided": 0}),
    Rule("HannWindow", [I(7)]),
    Rule("MelWeightMatrix", [I(4), I(16), I(8192), np.float32(0), np.float32(4096)]),
]


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_sizes(rule: Rule) -> None:
    check_rule(rule)


def test_stft_of_a_symbolic_signal() -> None:
    check_rule(Rule("STFT", [(2, "a", 1), I(3), (4,)]), [{"a": 4}, {"a": 9}, {"a": 16}])


def test_irfft_of_a_symbolic_spectrum() -> None:
    check_rule(Rule("DFT", [(2, "a", 2)], {"inverse": 1, "onesided": 1}), [{"a": 4}, {"a": 2}])


def test_sizes_that_come_from_shapes() -> None:
    """A size computed from a symbolic shape is a known content: the results have symbolic sizes, not new ones."""
    b = Builder(Graph())
    n = symbol("n", 1)
    x = b.input("x", "float32", (2, n, 1))
    count = b.scalar(n)
    values = [
        b.HannWindow(count),
        b.MelWeightMatrix(I(4), count, I(8192), np.float32(0), np.float32(4096)),
        b.DFT(x, count, I(1), onesided=1),
        b.STFT(x, b.scalar(n), None, count),
    ]
    assert [v.shape for v in values] == [(n,), (n // 2 + 1, 4), (2, n // 2 + 1, 2), (2, 1, n // 2 + 1, 2)]
    b.outputs(*values)
    interpret(b.graph, [f32(2, 6, 1)])


def f32(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("length", [None, 5, 12])
@pytest.mark.parametrize("axis", [0, 1])
def test_dft_against_torch(length: int | None, axis: int) -> None:
    x = f32(6, 8, 2)
    given = torch.view_as_complex(torch.from_numpy(x))
    n = None if length is None else I(length)
    close: dict[str, Any] = {"rtol": 1e-4, "atol": 1e-5}
    for inverse, function in ((0, torch.fft.fft), (1, torch.fft.ifft)):
        expected = torch.view_as_real(function(given, length, axis)).numpy()
        np.testing.assert_allclose(run_node("DFT", x, n, I(axis), inverse=inverse), expected, **close)
    real = x[..., :1]
    expected = torch.view_as_real(torch.fft.rfft(torch.from_numpy(real[..., 0]), length, axis)).numpy()
    np.testing.assert_allclose(run_node("DFT", real, n, I(axis), onesided=1), expected, **close)
    expected = torch.fft.irfft(given, length, axis).numpy()[..., None]
    np.testing.assert_allclose(run_node("DFT", x, n, I(axis), inverse=1, onesided=1), expected, **close)


@pytest.mark.parametrize("onesided", [False, True])
def test_stft_against_torch(onesided: bool) -> None:
    x, window = f32(2, 20), np.abs(f32(6))
    expected = torch.stft(
        torch.from_numpy(x), 6, 4, window=torch.from_numpy(window), center=False, onesided=onesided, return_complex=True
    )
    got = run_node("STFT", x[..., None], I(4), window, onesided=onesided)
    np.testing.assert_allclose(got, torch.view_as_real(expected).numpy().swapaxes(1, 2), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("size", [1, 2, 9, 16])
@pytest.mark.parametrize(("op", "function"), list(zip(WINDOWS, ("hann", "hamming", "blackman"), strict=True)))
def test_windows_against_torch(op: str, function: str, size: int, periodic: bool) -> None:
    alpha = {"alpha": 25 / 46, "beta": 21 / 46} if op == "HammingWindow" else {}
    expected = getattr(torch, f"{function}_window")(size, periodic, **alpha).numpy()
    if size == 1:
        expected = run_node(op, I(1), periodic=1) if periodic else np.ones(1, np.float32)
    np.testing.assert_allclose(run_node(op, I(size), periodic=periodic), expected, atol=1e-6)


def test_output_types() -> None:
    assert run_node("HannWindow", I(4), output_datatype="float64").dtype == np.float64
    assert run_node("HannWindow", I(4), output_datatype="bfloat16").dtype == "bfloat16"


@pytest.mark.parametrize(
    ("op", "operands", "attrs", "why"),
    [
        ("DFT", [np.ones((2, 3), np.float32)], {}, "last size of the data is 3"),
        ("DFT", [np.ones((2, 4, 2), np.float32)], {"onesided": 1}, "expected 1 \\(real\\)"),
        ("DFT", [np.ones((2, 4, 2), np.float32), None, I(2)], {}, "parts of complex numbers"),
        ("STFT", [np.ones((1, 4, 1), np.float32), I(1), np.ones(6, np.float32)], {}, "longer than the signal of 4"),
    ],
)
def test_refused(op: str, operands: list[Any], attrs: dict[str, Any], why: str) -> None:
    b = Builder(Graph())
    with pytest.raises(TypeRuleError, match=why):
        b.op(op, *operands, **attrs)
