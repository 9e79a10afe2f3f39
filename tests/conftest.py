"""What holds for every test."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

_states: dict[int, dict[str, Any]] = {}


@pytest.fixture(autouse=True)
def same_numbers(request: pytest.FixtureRequest) -> None:
    """Each test draws the same numbers from its module's generator, whichever tests ran before it in its process."""
    for value in vars(request.module).values():
        if isinstance(value, np.random.Generator):
            value.bit_generator.state = _states.setdefault(id(value), dict(value.bit_generator.state))
