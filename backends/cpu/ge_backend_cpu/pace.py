"""Whether a table is worth the team at the moment: others may use the processors.

A barrier waits for the last thread, and a thread without a processor is late by whole time slices. So the times of
calls with the team and alone are compared: once early, and again when calls with the team have become slower. The
team is left only when all of its last calls were slower than one alone, and is tried again after a while. Results
do not depend on it.
"""

from __future__ import annotations

LAST = 4
"""Calls with the team that must all have been slow."""
FIRST_LOOK = 8
"""The call that is made alone to learn how long that takes."""
SUSPICIOUS = 1.5
"""How much slower than its best the team must have become before that is looked at again."""
AWAY = 32
"""Calls alone before the team is tried again."""


class Pace:
    """The choice for one table; used by several threads, which may lose a measurement but never a result."""

    __slots__ = ("_alone", "_best", "_calls", "_left", "_probe", "_recent")

    def __init__(self) -> None:
        self._recent: list[float] = []
        self._best = self._alone = float("inf")
        self._calls, self._left, self._probe = 0, 0, False

    def wants_team(self) -> bool:
        """Whether the next call is to be made with the team."""
        self._calls += 1
        if self._left > 0:
            self._left -= 1
            return False
        if self._probe or self._calls == FIRST_LOOK:
            self._probe = False
            return False
        return True

    def note(self, with_team: bool, seconds: float) -> None:
        """Learn from a call."""
        if not with_team:
            self._alone = seconds
            if self._left == 0:
                self._judge()
            return
        self._best = min(self._best, seconds)
        self._recent = [*self._recent[-(LAST - 1) :], seconds]
        if len(self._recent) == LAST and min(self._recent) > SUSPICIOUS * self._best:
            self._probe = True
        self._judge()

    def _judge(self) -> None:
        if len(self._recent) == LAST and self._alone < 0.9 * min(self._recent):
            self._left, self._recent = AWAY, []
