"""Layouts in bytes: what is written is what is read, halo and padding hold the fill, sizes are those of the IR."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_core.errors import PlanError
from ge_core.ir import DType, Layout, TensorType
from ge_core.plan.aligned import aligned_bytes
from ge_core.plan.storage import Codec, codec

few = settings(max_examples=120, deadline=None, derandomize=True, database=None)


@st.composite
def layouts(draw) -> tuple[Layout, tuple[int, ...]]:  # type: ignore[no-untyped-def]
    rank = draw(st.integers(0, 4))
    shape = tuple(draw(st.integers(0, 5)) for _ in range(rank))
    order = tuple(draw(st.permutations(range(rank))))
    halo = tuple((draw(st.integers(0, 2)), draw(st.integers(0, 2))) for _ in range(rank)) if draw(st.booleans()) else ()
    blocks = tuple((axis, draw(st.integers(2, 4))) for axis in range(rank) if draw(st.integers(0, 3)) == 0)
    return Layout(order, blocks, halo, draw(st.sampled_from([0.0, 1.0, -1.0]))), shape


@few
@given(form=layouts(), dtype=st.sampled_from(["float32", "int8", "bfloat16", "bool", "int4", "uint2", "float64"]))
def test_round_trip(form: tuple[Layout, tuple[int, ...]], dtype: str) -> None:
    layout, shape = form
    kind = DType.of(dtype)
    place = Codec(kind, layout)
    assert place.nbytes(shape) == layout.nbytes(TensorType(kind, shape))
    rng = np.random.default_rng(0)
    array = rng.integers(0, 2, shape).astype(kind.numpy)
    data = aligned_bytes(place.nbytes(shape) + 7)
    data.fill(0x5A)
    if kind.name in ("int4", "uint2", "bool") and layout.fill < 0:
        layout = Layout(layout.order, layout.blocks, layout.halo, 1.0)
        place = Codec(kind, layout)
    place.store(data, shape, array)
    assert np.array_equal(place.load(data, shape).astype(np.float64), array.astype(np.float64))
    assert (data[place.nbytes(shape) :] == 0x5A).all()
    if place.direct:
        assert np.shares_memory(place.view(data, shape), data) or not array.size


def test_halo_holds_the_fill() -> None:
    place = codec(DType.of("float32"), Layout((1, 0), halo=((1, 0), (0, 2)), fill=-3.0))
    data = aligned_bytes(place.nbytes((2, 3)))
    place.store(data, (2, 3), np.arange(6, dtype=np.float32).reshape(2, 3))
    stored = data.view(np.float32).reshape(place.storage_shape((2, 3)))
    assert stored.shape == (5, 3)
    assert stored.tolist() == [[-3, 0, 3], [-3, 1, 4], [-3, 2, 5], [-3, -3, -3], [-3, -3, -3]]


def test_blocks_are_the_innermost_axes() -> None:
    place = codec(DType.of("int8"), Layout((0, 1), blocks=((1, 4),)))
    data = aligned_bytes(place.nbytes((2, 6)))
    place.store(data, (2, 6), np.arange(12, dtype=np.int8).reshape(2, 6))
    assert data.reshape(2, 2, 4).tolist() == [[[0, 1, 2, 3], [4, 5, 0, 0]], [[6, 7, 8, 9], [10, 11, 0, 0]]]
    with pytest.raises(PlanError, match="has no view"):
        place.view(data, (2, 6))


@pytest.mark.parametrize("turned", [False, True])
def test_large_matrices_are_copied_in_parts(turned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ge_core.plan.storage._LARGE", 1)
    monkeypatch.setattr("ge_core.plan.storage.processors", lambda: 3)
    for dtype in ("int8", "float16", "float32", "float64"):
        for shape in ((5, 7), (70, 40), (33, 16)):
            array = (np.random.default_rng(0).standard_normal(shape) * 50).astype(dtype)
            place = Codec(DType.of(dtype), Layout((1, 0), ((1, 16),)))
            data = aligned_bytes(place.nbytes(shape))
            place.store(data, shape, np.asfortranarray(array) if turned else array)
            wide = np.zeros((shape[0], -(-shape[1] // 16) * 16), dtype)
            wide[:, : shape[1]] = array
            want = wide.reshape(shape[0], -1, 16).transpose(1, 0, 2)
            assert data.tobytes() == want.tobytes()
            assert np.array_equal(place.load(data, shape), array)


def test_copying_needs_no_threads_when_the_interpreter_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    monkeypatch.setattr("ge_core.plan.storage._LARGE", 1)
    monkeypatch.setattr("ge_core.plan.storage.processors", lambda: 3)
    monkeypatch.setattr("ge_core.plan.storage.ThreadPoolExecutor.map", refuse)
    place = codec(DType.of("int8"), Layout((1, 0)))
    data = aligned_bytes(place.nbytes((5, 7)))
    array = np.arange(35, dtype=np.int8).reshape(5, 7)
    place.store(data, (5, 7), array)
    assert data.tobytes() == array.T.tobytes()
