"""The stored tables: no real model's arena is above its lower bound, and hard instances stay near theirs."""

from __future__ import annotations

import time

import pytest

from ge_core.memory import place, validate
from tests.core.memory.problems import expected, stored

LIVES = stored("lifetimes")
HARD = stored("minimalloc")


def test_all_tables_are_here():
    assert len(LIVES) == 60
    assert len(HARD) == 12


@pytest.mark.parametrize("name", LIVES)
def test_real_models_reach_the_bound(name):
    start = time.process_time()
    plan = place(LIVES[name])
    assert time.process_time() - start < 1
    assert validate(LIVES[name], plan) == []
    assert plan.size == plan.lower_bound == expected("lifetimes", "summary.csv", "table", "LB")[name]
    assert plan.no_reuse == expected("lifetimes", "summary.csv", "table", "no_reuse")[name]


@pytest.mark.parametrize("name", HARD)
def test_hard_instances_come_within_15_percent(name):
    start = time.process_time()
    plan = place(HARD[name])
    assert time.process_time() - start < 10
    assert validate(HARD[name], plan) == []
    bounds = expected("minimalloc", "gap.csv", "inst", "LB") | {"example": 12}
    assert plan.lower_bound == bounds[name.split(".")[0]]
    assert plan.ratio <= 1.15
