"""The independent check finds every fault, and agrees with painting each byte at each step."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from ge_core.memory import CompoundBuffer, MemoryPlan, Rect, place, validate
from tests.core.memory.problems import painted_faults, problems

buffer = CompoundBuffer.simple
PAIR = [buffer("a", 64, 0, 2), buffer("b", 64, 1, 3)]


def kinds(buffers: list[CompoundBuffer], size: int, offsets: dict[str, int], bound: int = 0) -> list[str]:
    return [verdict.kind for verdict in validate(buffers, MemoryPlan(size, offsets, bound, 0, "test"))]


def test_each_fault_has_its_name():
    assert kinds(PAIR, 128, {"a": 0, "b": 64}) == []
    assert kinds(PAIR, 128, {"a": 0, "b": 0}) == ["overlap"]
    assert kinds(PAIR, 128, {"a": 0}) == ["missing"]
    assert kinds(PAIR, 128, {"a": 0, "b": 64, "c": 0}) == ["unknown"]
    assert kinds(PAIR, 200, {"a": 0, "b": 65}) == ["misaligned"]
    assert kinds(PAIR, 100, {"a": 0, "b": 64}) == ["out_of_arena"]
    assert kinds(PAIR, 128, {"a": -64, "b": 0}) == ["out_of_arena"]
    assert kinds(PAIR, 128, {"a": 0, "b": 64}, bound=129) == ["below_bound"]
    assert kinds([*PAIR, PAIR[0]], 128, {"a": 0, "b": 64}) == ["duplicate", "overlap"]
    fixed = [replace(PAIR[0], fixed_offset=64), PAIR[1]]
    assert kinds(fixed, 192, {"a": 0, "b": 64}) == ["fixed_moved"]


def test_an_overlap_names_both_and_the_bytes():
    (verdict,) = validate(PAIR, MemoryPlan(128, {"a": 0, "b": 0}, 0, 0, "test"))
    assert {verdict.buffer, verdict.other} == {"a", "b"}
    assert verdict.detail == "bytes [0, 64) and [0, 64) at step 1"


def test_touching_in_time_or_bytes_is_no_overlap():
    assert kinds([buffer("a", 64, 0, 2), buffer("b", 64, 2, 3)], 64, {"a": 0, "b": 0}) == []


def test_an_overlap_of_inner_rectangles_is_found():
    concat = CompoundBuffer("out", (Rect(0, 64, 0, 6), Rect(64, 64, 3, 6)))
    assert kinds([concat, buffer("x", 64, 2, 4)], 128, {"out": 0, "x": 64}) == ["overlap"]
    assert kinds([concat, buffer("x", 64, 1, 3)], 128, {"out": 0, "x": 64}) == []


@given(problems, st.data())
@settings(max_examples=150, deadline=None)
def test_it_agrees_with_painting(buffers, data):
    plan = place(buffers)
    moved = dict(plan.offsets)
    for b in buffers:
        if data.draw(st.booleans()):
            moved[b.name] = data.draw(st.integers(0, 6)) * b.alignment
    tried = replace(plan, offsets=moved)
    found = {verdict.kind for verdict in validate(buffers, tried)}
    assert bool(found & {"overlap", "out_of_arena"}) == painted_faults(buffers, tried)
