"""MindIR's protobuf messages, but for the fields that an importer has no use for."""

from __future__ import annotations

from ge_core.errors import ModelImportError, OfflineModelError
from ge_core.om import wire
from ge_core.om.message_table import Message, MessageTable

_FIELDS = {
    "Model": """ir_version 1 string; producer_name 2 string; model_version 5 string; graph 7 Graph;
        functions 8 *Graph; little_endian 10 bool; primitives 12 *Primitive; mind_ir_version 13 int64;
        user_info 14 *UserInfo""",
    "UserInfo": "key 1 string; value 2 string",
    "Graph": """node 1 *Node; name 2 string; parameter 3 *Tensor; input 5 *ValueInfo; output 6 *ValueInfo;
        attribute 8 *Attribute; map_parameter 10 *Unread""",
    "ValueInfo": "name 1 string; tensor 2 *Tensor; attr_info 5 Attribute",
    "Node": """input 1 *string; output 2 *string; name 3 string; op_type 4 string; attribute 5 *Attribute;
        domain 7 string""",
    "Tensor": """dims 1 *int64; data_type 2 int32; name 7 string; raw_data 9 bytes; external_data 12 External;
        ref_key 13 string; compression_type 16 int32; quant_params 17 *Unread""",
    "External": "location 1 string; offset 2 int64; length 3 int64",
    "Attribute": """name 1 string; f 2 float; i 3 int64; d 4 double; s 5 bytes; t 6 Tensor; floats 8 *float;
        doubles 9 *double; ints 10 *int64; strings 11 *bytes; tensors 12 *Tensor; type 16 int32;
        values 17 *Attribute""",
    "Primitive": "name 1 string; op_type 2 string; attribute 3 *Attribute; instance_name 4 string; prim_type 5 int32",
    "Unread": "",
}
_TABLE = MessageTable({"ge.mindir": _FIELDS})

_SCAN_ABOVE = 4 << 20
"""Messages of at most this size are bounded by themselves, and protobuf bounds their depth in C."""


def message_class(name: str) -> type[Message]:
    """The class of a message, by its name in the table."""
    return _TABLE.message_class(name)


def merge(message: Message, data: bytes | bytearray | memoryview) -> None:
    """Add the fields in bytes that nobody vouches for to a message.

    Raises:
        ModelImportError: too deep, growing beyond proportion, or no valid message of this type.
    """
    from google.protobuf.message import DecodeError

    name = message.DESCRIPTOR.name
    if len(data) > _SCAN_ABOVE:
        check(memoryview(data), name)
    try:
        message.MergeFromString(bytes(data))
    except (DecodeError, RecursionError, ValueError, OverflowError) as error:
        raise damaged(f"not a valid {name} message: {error}") from error


def check(data: memoryview, name: str) -> None:
    """Walk a message before it is parsed, so that a small file cannot take much memory.

    Raises:
        ModelImportError: as `merge`.
    """
    try:
        wire.check(data, name, _TABLE.schema)
    except OfflineModelError as error:
        raise damaged(error.what) from error


def damaged(what: str) -> ModelImportError:
    """The error for a file that breaks the form of MindIR."""
    return ModelImportError(f"the MindIR file is damaged: {what}", fix="export it again from its model")
