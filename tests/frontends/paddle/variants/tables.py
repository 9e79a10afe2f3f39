"""All variants by operator; the tests and the table of coverage are made of them."""

from __future__ import annotations

from tests.frontends.paddle.agreement import merged
from tests.frontends.paddle.variants import algebra, flow, indexing, layers, losses, pointwise, shape

VARIANTS = merged(
    *(table for module in (pointwise, shape, indexing, algebra, layers, losses, flow) for table in module.TABLES)
)
