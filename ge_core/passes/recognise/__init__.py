"""Recognition of composites in the open-coded forms in which frameworks hand them over."""

from __future__ import annotations

from ge_core.passes.base import Pass
from ge_core.passes.recognise.activations import RecogniseActivations
from ge_core.passes.recognise.attention import RecogniseAttention
from ge_core.passes.recognise.norms import RecogniseNorms
from ge_core.passes.recognise.rotary import RecogniseRotary

RECOGNISERS: tuple[Pass, ...] = (
    RecogniseActivations(),
    RecogniseNorms(),
    RecogniseRotary(),
    RecogniseAttention(),
)

__all__ = ["RECOGNISERS", "RecogniseActivations", "RecogniseAttention", "RecogniseNorms", "RecogniseRotary"]
