"""Every variant of every primitive against MindSpore in graph mode; a family's variants run in a few cells."""

from __future__ import annotations

import pytest

from tests.frontends.mindspore.agreement import check_variants
from tests.frontends.mindspore.variants.table import FAMILIES, groups

GROUPS = {f"{name}-{group[0].op}": group for name in FAMILIES for group in groups(name)}


@pytest.mark.parametrize("group", GROUPS.values(), ids=GROUPS)
def test_variants_agree(group):
    check_variants(group)
