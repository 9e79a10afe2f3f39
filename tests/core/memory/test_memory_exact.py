"""The exact tier: optimal where brute force can tell, the same with and without numba, MiniMalloc's capacities met."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_core.errors import PlanError
from ge_core.memory import CompoundBuffer, lower_bound, place, validate
from tests.core.memory.problems import random_buffers, stored

HARD = {name: buffers for name, buffers in stored("minimalloc").items() if not name.startswith("example")}


def optimum(buffers: list[CompoundBuffer]) -> int:
    """The least arena: some order reaches it in which each buffer goes to the lowest place that is free."""
    best = sum(b.rects[0].size + b.alignment for b in buffers)
    for order in itertools.permutations(buffers):
        taken: list[tuple[int, int, int, int]] = []
        for b in order:
            rect = b.rects[0]
            near = [(low, high) for s, e, low, high in taken if s < rect.end and rect.start < e]
            here = 0
            while any(low < here + rect.size and here < high for low, high in near):
                here += b.alignment
            taken.append((rect.start, rect.end, here, here + rect.size))
        best = min(best, max((high for *_, high in taken), default=0))
    return best


@given(
    st.lists(
        st.builds(
            lambda size, start, life, alignment: (size, start, start + life, alignment),
            st.integers(1, 6),
            st.integers(0, 5),
            st.integers(1, 4),
            st.sampled_from([1, 1, 2]),
        ),
        max_size=6,
    )
)
@settings(max_examples=150, deadline=None)
def test_small_problems_are_solved_to_optimality(drawn):
    granule = 1 if any(row[3] == 1 for row in drawn) else 2
    buffers = [
        CompoundBuffer.simple(f"b{i}", -(-size // granule) * granule, start, end, alignment)
        for i, (size, start, end, alignment) in enumerate(drawn)
    ]
    plan = place(buffers, effort="exact")
    assert validate(buffers, plan) == []
    assert plan.size == optimum(buffers)


@pytest.mark.parametrize("name", HARD)
def test_published_capacities_are_met(name):
    pytest.importorskip("numba")
    capacity = int(name.split(".")[1])
    start = time.process_time()
    plan = place(HARD[name], effort="exact", capacity=capacity)
    assert time.process_time() - start < 60
    assert validate(HARD[name], plan) == []
    assert plan.size <= capacity


def test_the_same_plan_without_numba():
    pytest.importorskip("numba")
    program = (
        "import sys; {block}\n"
        "from tests.core.memory.problems import stored; from ge_core.memory import place\n"
        "plan = place(stored('minimalloc')['G.1048576'], effort='exact', capacity=1048576)\n"
        "assert plan.planner == 'exact' and ('numba.core' in sys.modules) == {numba}; print(plan)"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program.format(block=block, numba=numba)],
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])},
            cwd=Path(__file__).parents[3],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for block, numba in (("", True), ("sys.modules['numba'] = None", False))
    }
    assert len(outputs) == 1


def test_what_cannot_fit_is_refused_at_once():
    buffers = random_buffers(40, 5)
    bound = lower_bound(buffers)
    start = time.process_time()
    with pytest.raises(PlanError, match=f"at least {bound} bytes, whatever the plan"):
        place(buffers, effort="exact", capacity=bound - 1)
    assert time.process_time() - start < 5
