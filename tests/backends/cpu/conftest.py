"""Kernels that tests compile in their own process are those that workers make."""

from __future__ import annotations

import pytest

from ge_backend_cpu.worker import set_up_llvm


@pytest.fixture(scope="session", autouse=True)
def as_in_a_worker() -> None:
    set_up_llvm()
