"""Values to try each operator with: the tests and the table of coverage are made from the same data."""

from __future__ import annotations

from .form import Variant
from .indexing import INDEXING
from .linalg import LINALG
from .neural import NEURAL
from .pointwise import POINTWISE
from .random import RANDOM
from .resources import RESOURCES
from .shape import SHAPE
from .sparse import SPARSE

VARIANTS: dict[str, list[Variant]] = {
    **POINTWISE,
    **SHAPE,
    **INDEXING,
    **NEURAL,
    **LINALG,
    **RANDOM,
    **RESOURCES,
    **SPARSE,
}
