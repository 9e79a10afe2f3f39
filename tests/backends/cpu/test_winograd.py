"""Winograd's forms: exact transforms, error bounds, tails, and both ways of cutting the work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ge_backend_cpu import implementations
from ge_backend_cpu.contract.winograd_forms import Form, error
from ge_backend_cpu.ops import winograd
from ge_core.backend import Implementation
from ge_core.ir import Builder, Graph, symbol
from ge_core.plan.states import StateStore
from ge_core.reference.interpret import interpret
from tests.backends.cpu.native import check, executable, kernels, plan_of, widths

RNG = np.random.default_rng(41)


def data(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that leaves one form as the only implementation of convolutions."""

    def choose(outputs: int, late: bool = False) -> None:
        def offer(*arguments: Any) -> list[Implementation]:
            found = [i for i in winograd.winograd(*arguments) if i.name.startswith(f"winograd{outputs}")]
            return [i for i in found if (".late" in i.name) == late]

        implementations.native_operators()
        for op in ("Conv", "ge.Fused"):
            kept = [o for o in implementations._OFFERS[op] if "conv" not in o.__module__ and o is not winograd.winograd]
            monkeypatch.setitem(implementations._OFFERS, op, [*kept, offer])

    return choose


def layer(x: tuple[Any, ...], w: tuple[int, ...], **attrs: Any) -> Graph:
    g = Graph()
    b = Builder(g)
    y = b.Conv(b.input("x", "float32", x), b.constant(data(*w)), b.constant(data(w[0])), **attrs)
    b.outputs(b.Relu(y))
    return g


@pytest.mark.parametrize("form", [Form(2), Form(4), Form(2, 2)])
def test_transforms_are_exact_on_paper(form: Form) -> None:
    bt, g, at = form.matrices()
    d, w = RNG.standard_normal((form.points, form.points)), RNG.standard_normal((3, 3))
    got = at @ ((g @ w @ g.T) * (bt @ d @ bt.T)) @ at.T
    windows = np.lib.stride_tricks.sliding_window_view(d, (3, 3))[:: form.stride, :: form.stride]
    assert np.abs(got - np.einsum("yxkl,kl->yx", windows, w)).max() < 1e-13


LATE = [
    # sums in registers where there are 32, and in memory; two blocks of tiles; rests of channels and of panels
    ((1, 70, 7, 7), (40, 70, 3, 3), [1, 1, 1, 1]),
    ((1, 32, 9, 10), (24, 32, 3, 3), [1, 1, 1, 1]),
    ((2, 17, 5, 7), (50, 17, 3, 3), [1, 2, 0, 1]),
    ((1, 16, 3, 18), (16, 16, 3, 3), [2, 0, 2, -1]),
]


@pytest.mark.parametrize("isa", widths())
@pytest.mark.parametrize(("outputs", "stride"), [(4, 1), (2, 1), (2, 2)])
@pytest.mark.parametrize("x, w, pads", LATE)
def test_weights_as_they_are(
    only: Any, x: tuple[int, ...], w: tuple[int, ...], pads: list[int], outputs: int, stride: int, isa: str
) -> None:
    only(outputs, late=True)
    plan = check(layer(x, w, pads=pads, strides=[stride, stride]), [[data(*x)]], isa=isa)
    assert f"winograd{outputs}{'.stride2' if stride == 2 else ''}.late.fused" in kernels(plan)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("size", [7, 14])
def test_threads_share_the_panels(only: Any, size: int, threads: int) -> None:
    only(4, late=True)
    w = data(150, 32, 3, 3)
    g = Graph()
    b = Builder(g)
    x = b.input("x", "float32", (1, 32, size, size))
    shortcut = b.input("s", "float32", (1, 150, size, size))
    b.outputs(b.Relu(b.Add(b.Conv(x, b.constant(w), pads=[1, 1, 1, 1]), shortcut)))
    check(g, [[data(1, 32, size, size), data(1, 150, size, size)]], threads=threads)


def test_weights_as_they_are_are_kept_once(only: Any) -> None:
    only(4, late=True)
    plan = plan_of(layer((1, 32, 7, 7), (150, 32, 3, 3), pads=[1, 1, 1, 1]))
    executable(plan)
    large = [layout for c, layout in zip(plan.constants, plan.layouts, strict=True) if c.nbytes >= 150 * 32 * 9 * 4]
    assert [layout is not None and layout.blocks for layout in large] == [((0, 16),)]


def test_few_tiles_of_large_weights_are_late() -> None:
    def chosen(size: int) -> list[str]:
        g = layer((1, 512, size, size), (512, 512, 3, 3), pads=[1, 1, 1, 1])
        return [name for name in kernels(plan_of(g)) if "Relayout" not in name]

    assert chosen(7) == ["winograd4.late.fused"]
    assert chosen(56) == ["winograd4.fused"]


@pytest.mark.parametrize("isa", widths())
@pytest.mark.parametrize("outputs", [2, 4])
@pytest.mark.parametrize(
    "x, w, pads",
    [
        ((1, 32, 9, 10), (24, 32, 3, 3), [1, 1, 1, 1]),
        ((2, 17, 40, 37), (40, 17, 3, 3), [1, 2, 0, 1]),
        ((3, 20, 12, 12), (33, 20, 3, 3), [0, 0, 0, 0]),
        ((1, 16, 3, 70), (16, 16, 3, 3), [2, 0, 2, -1]),
        ((0, 16, 9, 9), (16, 16, 3, 3), [0, 0, 0, 0]),
    ],
)
def test_tails(only: Any, x: tuple[int, ...], w: tuple[int, ...], pads: list[int], outputs: int, isa: str) -> None:
    only(outputs)
    plan = check(layer(x, w, pads=pads), [[data(*x)]], isa=isa)
    assert f"winograd{outputs}.fused" in kernels(plan)


@pytest.mark.parametrize("isa", widths())
@pytest.mark.parametrize(
    "x, w, pads",
    [
        ((1, 32, 9, 10), (24, 32, 3, 3), [1, 1, 1, 1]),
        ((2, 17, 41, 38), (40, 17, 3, 3), [1, 2, 0, 1]),
        ((1, 16, 3, 70), (16, 16, 3, 3), [2, 0, 2, -1]),
        ((0, 16, 9, 9), (16, 16, 3, 3), [0, 0, 0, 0]),
    ],
)
def test_stride_2(only: Any, x: tuple[int, ...], w: tuple[int, ...], pads: list[int], isa: str) -> None:
    only(2)
    plan = check(layer(x, w, pads=pads, strides=[2, 2]), [[data(*x)]], isa=isa)
    assert "winograd2.stride2.fused" in kernels(plan)


def test_other_strides_are_left_to_others() -> None:
    g = layer((1, 64, 57, 57), (64, 64, 3, 3), strides=[2, 1])
    assert not [name for name in kernels(plan_of(g)) if "winograd" in name]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38])
@pytest.mark.parametrize(
    ("outputs", "stride", "late"), [(4, 1, False), (2, 1, False), (2, 2, False), (4, 1, True), (2, 2, True)]
)
def test_what_is_not_finite_stays_in_its_tiles(only: Any, outputs: int, stride: int, late: bool, value: float) -> None:
    """As docs/cpu.md says: no other tile changes, and a window with a NaN gives a NaN."""
    only(outputs, late)
    size = (19, 18) if late else (23, 22)
    g = layer((1, 16, *size), (16, 16, 3, 3), strides=[stride, stride])
    plan = plan_of(g)
    assert any(name.startswith("winograd") for name in kernels(plan))
    x = data(1, 16, *size)
    spoilt = x.copy()
    spoilt[0, 5, 11, 9] = value
    run = executable(plan)
    (clean,), (got,) = (run.run([v], StateStore(())) for v in (x, spoilt))
    (want,), _ = interpret(g, [spoilt], {})
    rows, columns = (_tiles(at, outputs, stride) for at in (11, 9))
    own = np.zeros(clean.shape, bool)
    own[:, :, rows, columns] = True
    assert (got[~own] == clean[~own]).all()
    assert np.isnan(got[np.isnan(want)]).all()
    assert own[np.isnan(want)].all() and np.isnan(want).any() == np.isnan(value)


def _tiles(place: int, outputs: int, stride: int) -> slice:
    """The outputs along an axis of all tiles that read an input."""
    step = outputs * stride
    read = (outputs - 1) * stride + 3
    first = max(-(-(place - read + 1) // step), 0)
    return slice(first * outputs, (place // step + 1) * outputs)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_give_the_same_bits(only: Any, threads: int) -> None:
    only(4)
    check(layer((1, 32, 50, 50), (32, 32, 3, 3), pads=[1, 1, 1, 1]), [[data(1, 32, 50, 50)]], threads=threads)


@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_read_large_weights_again(only: Any, threads: int) -> None:
    """Neither do the weights stay in the cache, nor are the tiles few: items of several blocks."""
    channels, size = 88, 92
    tiles, points = 23 * 23, 36
    apart, grain, block = winograd._cut(tiles, points * 2 * 96 * 4, points * channels * channels * 4)
    assert not apart and isinstance(grain, int) and isinstance(block, int) and 0 < block <= grain < tiles
    only(4)
    x = data(1, channels, size, size)
    check(layer(x.shape, (channels, channels, 3, 3), pads=[1, 1, 1, 1]), [[x]], threads=threads)


def test_sizes_of_the_call(only: Any) -> None:
    only(4)
    g = layer((symbol("n", 1), 16, symbol("h", 3), symbol("w", 3)), (20, 16, 3, 3), pads=[1, 1, 1, 1])
    check(g, [[data(*shape)] for shape in ((1, 16, 9, 10), (3, 16, 5, 4), (1, 16, 60, 61), (2, 16, 3, 3))])


def test_precision_decides() -> None:
    g = layer((1, 64, 56, 56), (64, 64, 3, 3), pads=[1, 1, 1, 1])
    assert "winograd4.fused" in kernels(plan_of(g))
    assert not [name for name in kernels(plan_of(g, precision="accuracy")) if "winograd" in name]


def test_error_of_weights() -> None:
    smooth = data(32, 32, 3, 3)
    assert error(smooth, Form(2)) < error(smooth, Form(4)) < winograd.ALLOWED
    assert error(smooth, Form(2, 2)) < 1e-6
    for form in (Form(4), Form(2), Form(2, 2)):
        early, late = error(smooth, form), error(smooth, form, late=True)
        assert early != late < winograd.ALLOWED
    # a tap that outweighs the others by far costs their digits
    steep = np.zeros((16, 16, 3, 3), np.float32)
    steep[:, :, 0, 0], steep[:, :, 1, 1] = 1e-6, 1.0
    steep[:, :, 2, 2] = np.float32(np.inf)
    with np.errstate(all="ignore"):
        assert not error(steep, Form(4)) <= winograd.ALLOWED
