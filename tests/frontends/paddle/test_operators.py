"""Every variant of every operator against Paddle, read from the form in which Paddle stores programs."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.frontends.paddle.agreement import Variant, check_variants, names_in
from tests.frontends.paddle.variants.tables import VARIANTS


@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_operator(name: str) -> None:
    variants: Sequence[Variant] = VARIANTS[name]
    traced = check_variants(variants)
    assert name in names_in(traced.program)


def test_each_operator_has_three_variants() -> None:
    few = [name for name, variants in VARIANTS.items() if len(variants) < 3]
    assert not few
