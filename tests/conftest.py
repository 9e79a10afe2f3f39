"""What holds for every test."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

# a model from an earlier run would hide what a test is about; tests of the cache itself turn it on
os.environ["GE_MODEL_CACHE_MB"] = "0"

_states: dict[int, dict[str, Any]] = {}


@pytest.fixture(autouse=True)
def same_numbers(request: pytest.FixtureRequest) -> None:
    """Each test draws the same numbers from its module's generator, whichever tests ran before it in its process."""
    for value in vars(request.module).values():
        if isinstance(value, np.random.Generator):
            value.bit_generator.state = _states.setdefault(id(value), dict(value.bit_generator.state))
