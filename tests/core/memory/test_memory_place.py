"""The planner: valid, bounded, deterministic plans on generated problems; capacities, alignments, fixed places."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ge_core.errors import OptionError, PlanError
from ge_core.memory import CompoundBuffer, MemoryPlan, Rect, fit, lower_bound, place, skyline, validate
from ge_core.memory.lowest import learn, log2
from ge_core.memory.problem import prepare
from ge_core.memory.profile import granule_of
from tests.core.memory.problems import painted_faults, plain_problems, problems, random_buffers

EFFORTS = ("fast", "default", "exact")
buffer = CompoundBuffer.simple


@given(problems, st.sampled_from(EFFORTS))
@settings(max_examples=150, deadline=None)
def test_a_plan_is_valid_and_bounded(buffers, effort):
    plan = place(buffers, effort=effort)
    assert validate(buffers, plan) == []
    assert not painted_faults(buffers, plan)
    assert lower_bound(buffers) == plan.lower_bound <= plan.size
    assert plan.ratio >= 1.0
    assert list(plan.offsets) == [b.name for b in buffers]


@given(plain_problems)
@settings(max_examples=200, deadline=None)
def test_the_bound_is_the_largest_live_sum(buffers):
    granule = granule_of(buffers)
    live = [
        sum(-(-r.size // granule) * granule for b in buffers for r in b.rects if r.start <= step < r.end)
        for step in range(14)
    ]
    plan = place(buffers)
    assert plan.lower_bound == max(live)
    steps = dict(plan.timeline())
    now = 0
    for step, size in enumerate(live):
        now = steps.get(step, now)
        assert now == size
    if len({b.alignment for b in buffers}) == 1:
        assert plan.size <= plan.no_reuse


@given(problems, st.randoms())
@settings(max_examples=100, deadline=None)
def test_names_and_order_do_not_change_the_peak(buffers, shuffler):
    renamed = [replace(b, name=f"x{i}") for i, b in enumerate(buffers)]
    shuffler.shuffle(renamed)
    assert place(renamed).size == place(buffers).size


@given(plain_problems, st.integers(2, 50))
@settings(max_examples=100, deadline=None)
def test_scaling_all_sizes_scales_the_plan(buffers, factor):
    def scaled(b: CompoundBuffer) -> CompoundBuffer:
        shape = tuple(Rect(r.offset, r.size * factor, r.start, r.end) for r in b.rects)
        return CompoundBuffer(b.name, shape, b.alignment * factor)

    plan = place(buffers)
    again = place([scaled(b) for b in buffers])
    assert (again.size, again.lower_bound) == (plan.size * factor, plan.lower_bound * factor)


@given(problems)
@settings(max_examples=100, deadline=None)
def test_dropping_or_shortening_never_raises_the_bound(buffers):
    bound = lower_bound(buffers)
    for i, b in enumerate(buffers):
        rest = buffers[:i] + buffers[i + 1 :]
        if granule_of(rest) == granule_of(buffers):
            assert lower_bound(rest) <= bound
        shorter = tuple(Rect(r.offset, r.size, r.start, max(r.start, r.end - 1)) for r in b.rects)
        assert lower_bound([*rest, replace(b, rects=shorter)]) <= bound


@given(problems)
@settings(max_examples=100, deadline=None)
def test_reversing_time_keeps_the_bound_and_the_optimum(buffers):
    mirrored = [
        replace(b, rects=tuple(Rect(r.offset, r.size, 20 - r.end, 20 - r.start) for r in b.rects)) for b in buffers
    ]
    assert lower_bound(mirrored) == lower_bound(buffers)


@given(problems)
@settings(max_examples=100, deadline=None)
def test_every_member_of_the_portfolio_is_valid(buffers):
    """No member's plan is ever refused by the check, and none is better than the plan that wins."""
    problem = prepare(buffers, granule_of(buffers), 10**6)
    if not len(problem):
        return
    best = place(buffers)
    orders = [getattr(fit, name)(problem) for name in ("by_size", "by_width", "by_area", "by_breadth", "by_start")]
    found = [fit.best_fit(problem, order) for order in orders]
    found += [skyline.on_top(problem, order) for order in orders]
    lessons = learn(problem, problem.neighbours(), best.lower_bound)
    found += [next(lessons) for _ in range(3)]
    for places in found:
        offsets = {b.name: 0 for b in buffers} | dict(zip(problem.names, places, strict=True))
        size = max(map(int.__add__, places, problem.size))
        assert validate(buffers, replace(best, size=size, offsets=offsets)) == []
        assert best.size <= size


@given(problems, st.data())
@settings(max_examples=100, deadline=None)
def test_fixed_places_are_kept(buffers, data):
    plan = place(buffers)
    keep = {b.name for b in buffers if data.draw(st.booleans())}
    fixed = [replace(b, fixed_offset=plan.offsets[b.name]) if b.name in keep else b for b in buffers]
    again = place(fixed)
    assert validate(fixed, again) == []
    assert not painted_faults(fixed, again)


def test_the_same_plan_under_every_hash_seed():
    program = (
        "from tests.core.memory.problems import random_buffers as r; from ge_core.memory import place;"
        "print(place(r(120, 9, seed=5)))"
    )
    root = Path(__file__).parents[3]
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed},
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert len(outputs) == 1


def test_the_staircase_of_a_concat_shares_the_bytes_of_parts_not_yet_born():
    """Two parts of one output: what lives only before the second part is born lies in the second part's bytes."""
    concat = CompoundBuffer("out", (Rect(0, 64, 0, 6), Rect(64, 64, 3, 6)))
    early = buffer("early", 64, 0, 3)
    plan = place([concat, early])
    assert (plan.size, plan.offsets) == (128, {"out": 0, "early": 64})


def test_rectangles_of_one_buffer_may_share_bytes():
    """In-place: the result takes over the bytes of its operand, and both are live in the step between."""
    taken_over = CompoundBuffer("x", (Rect(0, 64, 0, 3), Rect(0, 64, 2, 5)))
    assert place([taken_over]).size == lower_bound([taken_over]) == 64


def test_alignment_rounds_sizes_and_mixed_alignments_hold():
    plan = place([buffer("a", 10, 0, 2), buffer("b", 10, 0, 2)])
    assert (plan.size, plan.lower_bound, plan.no_reuse) == (128, 128, 128)
    mixed = [buffer("a", 10, 0, 2, 1), buffer("b", 10, 0, 2, 512), buffer("c", 7, 0, 2, 64)]
    plan = place(mixed)
    assert validate(mixed, plan) == []
    assert plan.size <= 64 + 512 + 10


def test_sizes_beyond_all_machine_words():
    huge = [buffer(f"b{i}", 2**70 + i, i, i + 2) for i in range(6)]
    plan = place(huge)
    assert validate(huge, plan) == []
    assert plan.size == plan.lower_bound > 2**71
    problem = prepare(huge, 64, 100)
    assert max(skyline.on_top(problem, range(6))) >= 2**70


def test_nothing_to_place():
    assert place([]) == MemoryPlan(0, {}, 0, 0, "nothing to place")
    assert place([]).ratio == 1.0
    empty = [buffer("never", 100, 3, 3), buffer("nothing", 0, 0, 9), CompoundBuffer("no rectangles", ())]
    assert place(empty).offsets == {"never": 0, "nothing": 0, "no rectangles": 0}
    assert place(empty).size == 0


def test_capacity_is_kept_or_refused_with_the_buffers_at_the_peak():
    buffers = [buffer("a", 64, 0, 2), buffer("big", 128, 1, 3)]
    assert place(buffers, capacity=192).size == 192
    with pytest.raises(PlanError) as error:
        place(buffers, capacity=191)
    assert "192 bytes" in error.value.what
    assert error.value.details == ("alive at step 1: 'big', 128 bytes", "alive at step 1: 'a', 64 bytes")


@pytest.mark.parametrize(
    ("buffers", "what"),
    [
        ([buffer("a", 1, 0, 1), buffer("a", 1, 0, 1)], "one name"),
        ([CompoundBuffer(n, (Rect(0, 64, 0, 2),), 64, 0) for n in "ab"], "overlap"),
        ([CompoundBuffer(n, (Rect(at, 8, 0, 2),), 64, 0) for n, at in (("a", 0), ("b", 8))], "units of 64 bytes"),
    ],
)
def test_contradictions_are_refused(buffers, what):
    with pytest.raises(PlanError, match=what):
        place(buffers)


def test_an_unknown_effort_is_refused():
    with pytest.raises(OptionError, match="heroic"):
        place([], effort="heroic")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Rect(0, -1, 0, 1),
        lambda: Rect(-1, 1, 0, 1),
        lambda: Rect(0, 1, 2, 1),
        lambda: CompoundBuffer("a", (), 0),
        lambda: CompoundBuffer("a", (), 64, 32),
        lambda: CompoundBuffer("a", (), 64, -64),
    ],
)
def test_impossible_buffers_are_refused(make):
    with pytest.raises(PlanError):
        make()


def test_a_dense_problem_falls_back_to_the_skyline():
    """Nested lives, as in a training step: 3,000 buffers that are all alive in the middle."""
    count = 3000
    nested = [buffer(f"b{i}", 64 * (1 + i % 7), i, 2 * count - i) for i in range(count)]
    plan = place(nested, effort="fast")
    assert plan.planner.startswith("skyline")
    assert validate(nested, plan) == []
    assert plan.ratio == 1.0


def test_random_problems_stay_near_the_bound():
    ratios = [
        place(random_buffers(n, life, seed)).ratio for n in (20, 100, 300) for life in (3, 10) for seed in range(3)
    ]
    assert max(ratios) <= 1.05
    assert sum(ratios) / len(ratios) <= 1.005


def test_log2_is_monotone_and_knows_only_ratios():
    draw = random.Random(1)
    values = sorted(draw.randrange(1, 2**60) for _ in range(500))
    logs = [log2(value, values[-1]) for value in values]
    assert logs == sorted(logs)
    assert logs[-1] == 0
    assert [log2(3 * value, 3 * values[-1]) for value in values] == logs


def test_time_grows_as_the_number_of_buffers_does():
    """Ten times as many buffers of about ten neighbours take far less than a hundred times as long; bench/memory.py
    has the seconds."""

    def seconds(count: int) -> float:
        buffers, best = random_buffers(count, 5), float("inf")
        for _ in range(3):
            start = time.process_time()
            place(buffers)
            best = min(best, time.process_time() - start)
        return best

    assert seconds(100_000) < 50 * seconds(10_000)


def test_a_buffer_taken_over_in_place_is_as_plain_as_any():
    """Rectangles of the same bytes that meet in time are one, so that the fast placers and the exact tier apply."""
    chain = CompoundBuffer("x", (Rect(0, 100, 4, 6), Rect(0, 100, 0, 3), Rect(0, 90, 2, 5)))
    gap = CompoundBuffer("y", (Rect(0, 64, 0, 1), Rect(0, 64, 2, 3)))
    problem = prepare([chain], 64, 10)
    assert (problem.links, problem.start, problem.end, problem.size) == (None, [0], [6], [128])
    assert prepare([gap], 64, 10).rects == [[(0, 1, 0, 64), (2, 3, 0, 64)]]
