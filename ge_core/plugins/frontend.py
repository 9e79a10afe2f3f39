"""What a frontend hands to the core."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ge_core.ir import Graph
    from ge_core.signature import Signature


@dataclass(frozen=True)
class ImportedModel:
    """The result of `ge_import_model`.

    Args:
        graph: the imported graph; its inputs and outputs are flat.
        signature: how the caller's arguments become the graph's inputs, and its outputs what the caller gets.
    """

    graph: Graph
    signature: Signature
