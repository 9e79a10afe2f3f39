"""The collector is paused inside, and afterwards as it was before."""

from __future__ import annotations

import gc

import pytest

from ge_core.collector import paused


def test_pauses_nest_and_end_with_an_error() -> None:
    assert gc.isenabled()
    with pytest.raises(KeyError), paused():
        with paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
        raise KeyError
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    try:
        with paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
