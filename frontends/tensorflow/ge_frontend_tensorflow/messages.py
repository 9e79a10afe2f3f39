"""TensorFlow's protobuf messages, read without TensorFlow.

Bytes are walked before protobuf sees them, so that a small file
cannot become a large object.
"""

from __future__ import annotations

from ge_core.errors import GeError, ModelImportError
from ge_core.om import wire
from ge_core.om.message_table import Message, MessageTable

_ATTR = "map<string, AttrValue>"

_FIELDS = {
    "GraphDef": "node 1 *NodeDef; library 2 FunctionDefLibrary; versions 4 VersionDef",
    "VersionDef": "producer 1 int32; min_consumer 2 int32",
    "NodeDef": f"name 1 string; op 2 string; input 3 *string; device 4 string; attr 5 {_ATTR}",
    "AttrValue": """list 1 ListValue /value; s 2 bytes /value; i 3 int64 /value; f 4 float /value; b 5 bool /value;
        type 6 int32 /value; shape 7 TensorShapeProto /value; tensor 8 TensorProto /value;
        placeholder 9 string /value; func 10 NameAttrList /value""",
    "ListValue": """s 2 *bytes; i 3 *int64; f 4 *float; b 5 *bool; type 6 *int32; shape 7 *TensorShapeProto;
        tensor 8 *TensorProto; func 9 *NameAttrList""",
    "NameAttrList": f"name 1 string; attr 2 {_ATTR}",
    "TensorShapeProto": "dim 2 *Size; unknown_rank 3 bool",
    "Size": "size 1 int64; name 2 string",
    "TensorProto": """dtype 1 int32; tensor_shape 2 TensorShapeProto; tensor_content 4 bytes; half_val 13 *int32;
        float_val 5 *float; double_val 6 *double; int_val 7 *int32; string_val 8 *bytes; scomplex_val 9 *float;
        int64_val 10 *int64; bool_val 11 *bool; dcomplex_val 12 *double; uint32_val 16 *uint32;
        uint64_val 17 *uint64""",
    "FunctionDefLibrary": "function 1 *FunctionDef",
    "FunctionDef": f"""signature 1 OpDef; node_def 3 *NodeDef; ret 4 map<string, string>; attr 5 {_ATTR};
        control_ret 6 map<string, string>""",
    "OpDef": "name 1 string; input_arg 2 *ArgDef; output_arg 3 *ArgDef; control_output 20 *string",
    "ArgDef": "name 1 string; type 3 int32; type_attr 4 string; number_attr 5 string; type_list_attr 6 string",
    "SavedModel": "saved_model_schema_version 1 int64; meta_graphs 2 *MetaGraphDef",
    "MetaGraphDef": """meta_info_def 1 MetaInfoDef; graph_def 2 GraphDef; saver_def 3 SaverDef;
        signature_def 5 map<string, SignatureDef>""",
    "MetaInfoDef": "tags 4 *string; tensorflow_version 5 string",
    "SaverDef": "filename_tensor_name 1 string; save_tensor_name 2 string; restore_op_name 3 string",
    "SignatureDef": "inputs 1 map<string, TensorInfo>; outputs 2 map<string, TensorInfo>; method_name 3 string",
    "TensorInfo": "name 1 string; dtype 2 int32; tensor_shape 3 TensorShapeProto",
    "BundleHeaderProto": "num_shards 1 int32; endianness 2 int32; version 3 VersionDef",
    "BundleEntryProto": """dtype 1 int32; shape 2 TensorShapeProto; shard_id 3 int32; offset 4 int64; size 5 int64;
        crc32c 6 fixed32; slices 7 *bytes""",
}
_TABLE = MessageTable({"ge.tensorflow": _FIELDS})


def message_class(name: str) -> type[Message]:
    """The class of a message, by its name in the table."""
    return _TABLE.message_class(name)


def parse(name: str, data: bytes | memoryview, what: str) -> Message:
    """Parse bytes that nobody vouches for.

    Args:
        what: names the source in errors.

    Raises:
        ModelImportError: too large, too deep, growing beyond proportion, or no valid message of this type.
    """
    from google.protobuf.message import DecodeError

    if len(data) > wire.MAX_BYTES:
        raise ModelImportError(f"{what} has {len(data)} bytes", expected=f"at most {wire.MAX_BYTES}, protobuf's limit")
    try:
        wire.check(memoryview(data), name, _TABLE.schema)
        return parse_trusted(name, data)
    except GeError as error:
        raise ModelImportError(f"{what} is no {name}: {error.what}", fix="write the file again") from error
    except (DecodeError, RecursionError, ValueError, OverflowError) as error:
        raise ModelImportError(f"{what} is no {name}: {error}", fix="write the file again") from error


def parse_trusted(name: str, data: bytes | memoryview) -> Message:
    """Parse bytes that TensorFlow itself made in this process."""
    message = message_class(name)()
    message.ParseFromString(bytes(data))
    return message
