"""When the team is left and taken again, on made-up times."""

from __future__ import annotations

from collections.abc import Callable

from ge_backend_cpu.pace import AWAY, FIRST_LOOK, Pace


def play(calls: int, seconds: Callable[[int, bool], float]) -> list[bool]:
    """Which calls were made with the team."""
    pace, made = Pace(), []
    for call in range(calls):
        team = pace.wants_team()
        pace.note(team, seconds(call, team))
        made.append(team)
    return made


def test_an_idle_machine_looks_once() -> None:
    made = play(500, lambda call, team: 1.0 if team else 1.9)
    assert [i for i, team in enumerate(made) if not team] == [FIRST_LOOK - 1]


def test_single_slow_calls_change_nothing() -> None:
    made = play(500, lambda call, team: (30.0 if call % 5 == 0 else 1.0) if team else 1.9)
    assert made.count(False) == 1


def test_a_busy_machine_from_the_start() -> None:
    made = play(400, lambda call, team: 20.0 if team else 2.0)
    assert made[:FIRST_LOOK] == [True] * (FIRST_LOOK - 1) + [False]
    assert made.count(True) < 80


def test_a_machine_that_becomes_busy_and_idle_again() -> None:
    made = play(900, lambda call, team: (20.0 if 100 <= call < 500 else 1.0) if team else 1.9)
    assert all(made[20:100])
    assert made[110:500].count(True) < 100
    assert all(made[500 + AWAY + 8 :])
