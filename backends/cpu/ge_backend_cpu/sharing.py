"""Makes the products of a model share kernels: one that knows all their widths in place of one for each width.

A kernel has code for the numbers of panels that are multiplied at a time. Products that differ in that alone take the
same tiles in a kernel with the code of all of them; what the others need runs no round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ge_backend_cpu.contract.product import FAMILY
from ge_backend_cpu.kernel import Kernel
from ge_core.backend import Implementation

_Launch = Mapping[str, Any]


def shared(implementations: Sequence[Implementation]) -> list[Implementation]:
    """The implementations with kernels that as many of them as possible share."""
    wanted: dict[Kernel, set[int]] = {}
    for implementation in implementations:
        for launch in implementation.data.get("launches", ()):
            if _has_widths(launch):
                wanted.setdefault(_without_widths(launch), set()).update(launch["parameters"]["panels"])

    def widened(launch: _Launch) -> _Launch:
        if not _has_widths(launch):
            return launch
        panels = sorted(wanted[_without_widths(launch)])
        return {**launch, "parameters": {**launch["parameters"], "panels": panels}}

    return [
        replace(i, data={**i.data, "launches": list(map(widened, i.data["launches"]))}) if "launches" in i.data else i
        for i in implementations
    ]


def _has_widths(launch: _Launch) -> bool:
    """Whether it is a product of a known width. A deep one keeps sums on the stack, for each width apart."""
    return launch["family"] == FAMILY and bool(launch["parameters"]["panels"]) and not launch["parameters"]["deep"]


def _without_widths(launch: _Launch) -> Kernel:
    return Kernel(launch["family"], {k: v for k, v in launch["parameters"].items() if k != "panels"})
