"""The result of planning: where each buffer lies in the arena, and how good that is."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class MemoryPlan:
    """Offsets of all buffers in one arena. All sizes are in bytes and count whole granules.

    The granule is the greatest common divisor of the buffers' alignments: a buffer of 10 bytes among
    64-aligned ones takes 64.

    Attributes:
        size: bytes of the arena.
        offsets: buffer name -> byte offset of its place in the arena.
        lower_bound: no plan is smaller: the largest sum of live bytes over time (or the end of a fixed buffer).
        no_reuse: the arena if no byte were used twice, each buffer rounded up to its own alignment.
        planner: the member of the portfolio that found the plan.
        profile: see `timeline`.
    """

    size: int
    offsets: dict[str, int]
    lower_bound: int
    no_reuse: int
    planner: str
    profile: tuple[tuple[int, int], ...] = field(default=(), repr=False)

    @property
    def ratio(self) -> float:
        """Arena divided by lower bound; 1.0 is proven optimal. 1.0 when the bound is 0."""
        return self.size / self.lower_bound if self.lower_bound else 1.0

    def timeline(self) -> list[tuple[int, int]]:
        """Live bytes per time: pairs (step, bytes live from this step until the next pair's), last bytes 0."""
        return list(self.profile)
