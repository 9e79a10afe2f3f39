from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ge_core.om import layout_weights, weight_chunks


@given(st.lists(st.integers(0, 300), max_size=20))
def test_tensors_are_aligned_and_do_not_overlap(sizes: list[int]) -> None:
    layout = layout_weights(sizes)
    tensors = [bytes([i + 1]) * size for i, size in enumerate(sizes)]
    data = b"".join(weight_chunks(layout, [lambda t=t: t for t in tensors]))  # type: ignore[misc]
    assert len(data) == layout.size
    for offset, tensor in zip(layout.offsets, tensors, strict=True):
        assert offset % 64 == 0
        assert data[offset : offset + len(tensor)] == tensor
    assert layout.size - sum(sizes) <= 64 * len(sizes)


def test_a_tensor_is_loaded_when_its_turn_comes() -> None:
    loaded = []

    def load(i: int) -> bytes:
        loaded.append(i)
        return b"x" * 64

    chunks = weight_chunks(layout_weights([64, 64]), [lambda: load(0), lambda: load(1)])
    next(chunks)
    assert loaded == [0]
