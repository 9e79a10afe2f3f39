"""GE's protobuf messages, of package `ge.proto` and, for tasks, `domi`."""

from __future__ import annotations

from ge_core.errors import OfflineModelError
from ge_core.om import wire
from ge_core.om.message_table import Message, MessageTable

_ATTR_MAP = "map<string, AttrDef>"

_PACKAGES = {
    "ge.proto": {
        "ModelDef": f"""name 1 string; version 2 uint32; custom_version 3 string; graph 7 *GraphDef;
            attr 11 {_ATTR_MAP}""",
        "GraphDef": f"name 1 string; input 4 *string; output 5 *string; op 6 *OpDef; attr 11 {_ATTR_MAP}",
        "OpDef": f"""name 1 string; type 2 string; input 5 *string; attr 10 {_ATTR_MAP}; has_out_attr 20 bool;
            id 21 int64; stream_id 22 int64; input_name 23 *string; src_name 24 *string; src_index 25 *int64;
            dst_name 26 *string; dst_index 27 *int64; input_i 28 *int64; output_i 29 *int64;
            workspace 30 *int64; workspace_bytes 31 *int64; is_input_const 32 *bool;
            input_desc 33 *TensorDescriptor; output_desc 34 *TensorDescriptor; subgraph_name 35 *string""",
        "TensorDescriptor": f"""name 1 string; dtype 2 int32; shape 3 ShapeDef; layout 4 string;
            attr 5 {_ATTR_MAP}; has_out_attr 9 bool; size 10 int64; weight_size 11 int64; reuse_input 12 bool;
            output_tensor 13 bool; device_type 14 string; input_tensor 15 bool; real_dim_cnt 16 int64;
            reuse_input_index 17 int64; data_offset 18 int64; cmps_size 19 int64; cmps_tab 20 string;
            cmps_tab_offset 21 int64""",
        "TensorDef": "desc 1 TensorDescriptor; data 2 bytes",
        "ShapeDef": "dim 1 *int64",
        "NamedAttrs": f"name 1 string; attr 2 {_ATTR_MAP}",
        "AttrDef": """list 1 ListValue /value; s 2 bytes /value; i 3 int64 /value; f 4 float /value;
            b 5 bool /value; bt 7 bytes /value; func 10 NamedAttrs /value; td 11 TensorDescriptor /value;
            t 12 TensorDef /value; g 13 GraphDef /value; list_list_int 14 ListListInt /value;
            dt 15 int64 /value; list_list_float 16 ListListFloat /value; expression 17 string /value""",
        "ListValue": """s 2 *bytes; i 3 *int64; f 4 *float; b 5 *bool; bt 7 *bytes; td 8 *TensorDescriptor;
            t 9 *TensorDef; g 10 *GraphDef; na 11 *NamedAttrs; dt 12 *int64; val_type 20 int32""",
        "ListListInt": "list_list_i 1 *ListInt",
        "ListInt": "list_i 1 *int64",
        "ListListFloat": "list_list_f 1 *ListFloat",
        "ListFloat": "list_f 1 *float",
    },
    "domi": {
        "ModelTaskDef": """version 1 string; attr 9 map<string, string>; task 10 *TaskDef; memory_size 11 uint64;
            stream_num 12 uint32; event_num 13 uint32; weight_size 14 uint64; base_addr 16 uint64;
            weight_addr 17 uint64; batch_num 18 uint32""",
        "TaskDef": "id 1 uint32; type 2 uint32; stream_id 10 uint32",
    },
}
_TABLE = MessageTable(_PACKAGES)

_SCAN_ABOVE = 64 << 10
"""Messages of at most this size are bounded by themselves, and protobuf bounds their depth in C."""


def message_class(name: str) -> type[Message]:
    """The class of a message, by its short name in the table."""
    return _TABLE.message_class(name)


def parse(name: str, data: bytes | memoryview) -> Message:
    """Parse bytes that nobody vouches for.

    Raises:
        OfflineModelError: too large, too deep, growing beyond proportion, or no valid message of this type.
    """
    if len(data) > wire.MAX_BYTES:
        raise OfflineModelError(f"a {name} of {len(data)} bytes", expected=f"at most {wire.MAX_BYTES} bytes")
    from google.protobuf.message import DecodeError

    if len(data) > _SCAN_ABOVE:
        wire.check(memoryview(data), name, _TABLE.schema)
    message = message_class(name)()
    try:
        message.ParseFromString(bytes(data))
    except (DecodeError, RecursionError, ValueError, OverflowError) as error:
        raise OfflineModelError(
            f"not a valid {name} message: {error}",
            fix="the file is damaged; write it again from its source model",
        ) from error
    return message


def serialize(message: Message) -> bytes:
    """The bytes of a message; the same message always gives the same bytes (maps are sorted by key).

    Raises:
        OfflineModelError: the message is larger than protobuf allows.
    """
    from google.protobuf.message import EncodeError

    try:
        data: bytes = message.SerializeToString(deterministic=True)
    except (EncodeError, ValueError, RecursionError) as error:
        raise OfflineModelError(f"a {message.DESCRIPTOR.name} cannot be written: {error}") from error
    if len(data) > wire.MAX_BYTES:
        raise OfflineModelError(
            f"a {message.DESCRIPTOR.name} of {len(data)} bytes", expected=f"at most {wire.MAX_BYTES} bytes"
        )
    return data


def field_number(message: str, field: str) -> int:
    """The number of a field, for code that writes the wire format itself."""
    return _TABLE.field_number(message, field)
