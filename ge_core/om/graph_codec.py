"""Graphs in the offline model: whole files, and MODEL_DEF and WEIGHTS_DATA alone.

Apart from the container's modules, so that reading a header imports neither the IR nor its operators.
"""

from ge_core.om.graph_decoder import DecodedModel, decode_entries
from ge_core.om.graph_encoder import describe_inout, encode_entries
from ge_core.om.model_file import StoredModel, open_model, write_model

__all__ = [
    "DecodedModel",
    "StoredModel",
    "decode_entries",
    "describe_inout",
    "encode_entries",
    "open_model",
    "write_model",
]
