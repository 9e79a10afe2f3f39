"""Arenas of models whose least memory is known, planned for a target with common fused kernels."""

from __future__ import annotations

import pytest

from bench.memory_models import llama, randwire, unet
from bench.memory_plans import llama_of_transformers, planned
from ge_core.passes.base import SWITCHES

MIB = 1 << 20


def test_unet_computes_skips_inside_its_concats() -> None:
    found = planned(unet())
    assert found.arena == found.bound == 192 * MIB
    assert planned(unet(), switches=SWITCHES - {"memory"}).arena == found.no_reuse - 2 * MIB  # its output


@pytest.mark.parametrize(("last_logits", "peak", "out_of_place"), [(False, 141, 118), (True, 80, 118)])
def test_llama_with_fused_kernels(last_logits: bool, peak: int, out_of_place: int) -> None:
    found = planned(llama(last_logits=last_logits))
    assert found.arena == 80 * MIB
    assert found.peak == found.bound == peak * MIB
    assert found.out_of_place == out_of_place * MIB
    assert 7900 * MIB < found.no_reuse < 8100 * MIB


@pytest.mark.parametrize(("last_logits", "peak"), [(False, 141), (True, 80)])
def test_llama_imported_from_pytorch(last_logits: bool, peak: int) -> None:
    """Two of its 32 layers, between which nothing but the hidden state lives."""
    pytest.importorskip("transformers")
    found = planned(llama_of_transformers(last_logits=last_logits, layers=2))
    assert found.arena == 80 * MIB
    assert found.peak == found.bound == peak * MIB
    assert found.out_of_place == 118 * MIB
    assert found.no_reuse > 520 * MIB


@pytest.mark.parametrize(("scores", "arena", "out_of_place"), [("float16", 320, 544), ("float32", 800, 800)])
def test_llama_with_scores_in_memory(scores: str, arena: int, out_of_place: int) -> None:
    found = planned(llama(scores=scores, layers=4), passes=False)
    assert (found.arena, found.out_of_place) == (arena * MIB, out_of_place * MIB)
    assert found.peak == found.bound


def test_randomly_wired_network_takes_its_best_order() -> None:
    assert round(planned(randwire(), passes=False, switches=SWITCHES - {"reorder"}).peak / MIB, 2) == 4.20
    found = planned(randwire(), passes=False)
    assert found.peak == found.bound
    assert round(found.peak / MIB, 2) == 3.27
    assert found.seconds < 5
