"""Generated and stored planning problems, and the obvious way to judge a plan: paint every byte at every step."""

from __future__ import annotations

import csv
import io
import random
import zipfile
from pathlib import Path

from hypothesis import strategies as st

from ge_core.memory import CompoundBuffer, MemoryPlan, Rect, read_table

DATA = Path(__file__).parent / "data"


def stored(archive: str) -> dict[str, list[CompoundBuffer]]:
    """The tables of `data/<archive>.zip` by name, summaries left out."""
    with zipfile.ZipFile(DATA / f"{archive}.zip") as pack:
        return {
            name.removesuffix(".csv"): read_table(io.StringIO(pack.read(name).decode()))
            for name in pack.namelist()
            if name.endswith(".csv") and name not in ("summary.csv", "gap.csv")
        }


def expected(archive: str, summary: str, key: str, column: str) -> dict[str, int]:
    """One column of numbers from a summary inside an archive."""
    with zipfile.ZipFile(DATA / f"{archive}.zip") as pack:
        rows = csv.DictReader(io.StringIO(pack.read(summary).decode()))
        return {row[key]: int(row[column]) for row in rows}


def random_buffers(count: int, life: float, seed: int = 0, alignment: int = 64) -> list[CompoundBuffer]:
    """One buffer born at each step, with sizes up to a MiB and lives of `life` steps on average."""
    draw = random.Random(seed)
    return [
        CompoundBuffer.simple(
            f"b{step}", draw.randint(1, 1 << 20), step, step + 1 + int(draw.expovariate(1 / life)), alignment
        )
        for step in range(count)
    ]


def painted_faults(buffers: list[CompoundBuffer], plan: MemoryPlan) -> bool:
    """Whether two buffers hold one byte at one step or a byte lies outside the arena."""
    owner: dict[tuple[int, int], str] = {}
    for buffer in buffers:
        for rect in buffer.rects:
            low = plan.offsets[buffer.name] + rect.offset
            for step in range(rect.start, rect.end):
                for byte in range(low, low + rect.size):
                    if not 0 <= byte < plan.size or owner.setdefault((step, byte), buffer.name) != buffer.name:
                        return True
    return False


rects = st.builds(
    lambda offset, size, start, life: Rect(offset, size, start, start + life),
    st.integers(0, 6),
    st.integers(0, 6),
    st.integers(0, 8),
    st.integers(0, 4),
)
plain = st.builds(
    lambda size, start, life, alignment: ((Rect(0, size, start, start + life),), alignment),
    st.integers(0, 9),
    st.integers(0, 8),
    st.integers(0, 4),
    st.sampled_from([1, 2, 4]),
)
compound = st.tuples(st.lists(rects, max_size=4).map(tuple), st.sampled_from([1, 2, 4]))


def named(shapes: list[tuple[tuple[Rect, ...], int]]) -> list[CompoundBuffer]:
    """Buffers b0, b1, … of the drawn shapes."""
    return [CompoundBuffer(f"b{i}", shape, alignment) for i, (shape, alignment) in enumerate(shapes)]


plain_problems = st.lists(plain, max_size=9).map(named)
problems = st.lists(st.one_of(plain, compound), max_size=9).map(named)
