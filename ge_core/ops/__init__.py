"""Operators: schemas, type rules by family, effects, pointwise rows, decompositions."""

import ge_core.ir  # noqa: F401  first: the builder there and the rules here import each other's modules
