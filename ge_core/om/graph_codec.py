"""Graphs in the offline model: `encode_entries` writes MODEL_DEF and WEIGHTS_DATA, `decode_entries` reads them.

Apart from the container's modules, so that reading a header imports neither the IR nor its operators.
"""

from ge_core.om.graph_decoder import DecodedModel, decode_entries
from ge_core.om.graph_encoder import describe_inout, encode_entries

__all__ = ["DecodedModel", "decode_entries", "describe_inout", "encode_entries"]
