from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ge_core.om import WeightsWriter


@given(st.lists(st.integers(0, 300), max_size=20))
def test_tensors_are_aligned_and_do_not_overlap(sizes: list[int]) -> None:
    weights = WeightsWriter()
    tensors = [bytes([i + 1]) * size for i, size in enumerate(sizes)]
    offsets = [weights.add(len(tensor), lambda tensor=tensor: tensor) for tensor in tensors]  # type: ignore[misc]
    stream = weights.stream()
    data = b"".join(stream.chunks)
    assert len(data) == stream.size == weights.size
    for offset, tensor in zip(offsets, tensors, strict=True):
        assert offset % 64 == 0
        assert data[offset : offset + len(tensor)] == tensor
    assert weights.size - sum(sizes) <= 64 * len(sizes)


def test_a_tensor_is_loaded_when_its_turn_comes() -> None:
    loaded = []

    def load(i: int) -> bytes:
        loaded.append(i)
        return b"x" * 64

    weights = WeightsWriter()
    weights.add(64, lambda: load(0))
    weights.add(64, lambda: load(1))
    next(iter(weights.stream().chunks))
    assert loaded == [0]
