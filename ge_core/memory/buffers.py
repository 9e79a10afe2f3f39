"""The one input form of the memory planner: rigid sets of rectangles in time x bytes.

A plain tensor is one rectangle. Several rectangles with fixed relative offsets describe a concat whose inputs are
computed inside its output (each part is live from its own producer: a staircase), a split whose parts die one by
one, a window of a cache, or a tensor with a halo. Rectangles of one buffer may overlap each other (in-place and
views share bytes); rectangles of different buffers may not.
"""

from __future__ import annotations

from dataclasses import dataclass

from ge_core.errors import PlanError


@dataclass(frozen=True, slots=True)
class Rect:
    """Bytes ``[offset, offset + size)`` of a buffer, live in steps ``[start, end)``.

    Args:
        offset: first byte, relative to the buffer; not negative.
        size: bytes; 0 is legal and occupies nothing.
        start: first step (inclusive) in which the bytes are live.
        end: step before which they die; ``end == start`` is legal and occupies nothing.

    Raises:
        PlanError: a negative offset or size, or an interval that ends before it starts.
    """

    offset: int
    size: int
    start: int
    end: int

    def __post_init__(self) -> None:
        if self.size < 0 or self.offset < 0 or self.end < self.start:
            raise PlanError(
                f"rectangle of {self.size} bytes at {self.offset}, steps [{self.start}, {self.end}), is not valid",
                expected="offset >= 0, size >= 0, start <= end",
            )

    @property
    def occupies(self) -> bool:
        """Whether the rectangle holds any byte at any time."""
        return self.size > 0 and self.end > self.start


@dataclass(frozen=True, slots=True)
class CompoundBuffer:
    """A buffer that the planner moves as one piece.

    Args:
        name: unique in one planning problem.
        rects: its rectangles; offsets are relative to the place that the planner chooses.
        alignment: the chosen place is a multiple of this many bytes.
        fixed_offset: the caller's choice of the place (a multiple of `alignment`); the planner keeps it.

    Raises:
        PlanError: an alignment below 1, or a fixed offset that is negative or not aligned.
    """

    name: str
    rects: tuple[Rect, ...]
    alignment: int = 64
    fixed_offset: int | None = None

    def __post_init__(self) -> None:
        if self.alignment < 1:
            raise PlanError(f"buffer {self.name!r} has alignment {self.alignment}", expected="a number of at least 1")
        fixed = self.fixed_offset
        if fixed is not None and (fixed < 0 or fixed % self.alignment):
            raise PlanError(
                f"buffer {self.name!r} has fixed offset {fixed}",
                expected=f"a multiple of its alignment {self.alignment}, not negative",
            )

    @classmethod
    def simple(cls, name: str, size: int, start: int, end: int, alignment: int = 64) -> CompoundBuffer:
        """A plain tensor: `size` bytes live in steps ``[start, end)``."""
        return cls(name, (Rect(0, size, start, end),), alignment)
