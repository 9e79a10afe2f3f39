"""Every variant of every primitive against MindSpore in graph mode; a family's variants run in a few cells."""

from __future__ import annotations

import pytest

from tests.frontends.mindspore.agreement import Variant, check_variants
from tests.frontends.mindspore.variants.table import FAMILIES, family

_CELL = 24


def _groups() -> list[tuple[str, list[Variant]]]:
    found = []
    for name in FAMILIES:
        group: list[Variant] = []
        for variant in family(name):
            if len(group) >= _CELL and variant.op != group[-1].op:
                found.append((f"{name}-{group[0].op}", group))
                group = []
            group.append(variant)
        found.append((f"{name}-{group[0].op}", group))
    return found


@pytest.mark.parametrize(("group"), [g for _, g in _groups()], ids=[name for name, _ in _groups()])
def test_variants_agree(group):
    check_variants(group)
