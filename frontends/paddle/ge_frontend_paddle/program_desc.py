"""The protobuf messages of a legacy program (`.pdmodel`).

Texts are bytes: what they hold is checked when they are read.
"""

from __future__ import annotations

from ge_core.errors import ModelImportError
from ge_core.om.message_table import Message, MessageTable

_FIELDS = {
    "ProgramDesc": "blocks 1 *BlockDesc; version 4 Version; op_version_map 5 bytes",
    "Version": "version 1 int64",
    "BlockDesc": "idx 1 int32; parent_idx 2 int32; vars 3 *VarDesc; ops 4 *OpDesc; forward_block_idx 5 int32",
    "OpDesc": "inputs 1 *OpVar; outputs 2 *OpVar; type 3 bytes; attrs 4 *Attr; is_target 5 bool",
    "OpVar": "parameter 1 bytes; arguments 2 *bytes",
    "Attr": """name 1 bytes; type 2 int32; i 3 int32; f 4 float; s 5 bytes; ints 6 *int32; floats 7 *float;
        strings 8 *bytes; b 10 bool; bools 11 *bool; block_idx 12 int32; l 13 int64; blocks_idx 14 *int32;
        longs 15 *int64; float64s 16 *double; var_name 17 bytes; vars_name 18 *bytes; float64 19 double;
        scalar 20 Scalar; scalars 21 *Scalar""",
    "Scalar": "type 1 int32; b 2 bool; i 3 int64; r 4 double; c 5 bytes",
    "VarDesc": "name 1 bytes; type 2 VarType; persistable 3 bool; is_parameter 5 bool; stop_gradient 6 bool",
    "VarType": "type 1 int32; dense_tensor 3 DenseTensor; tensor_array 4 DenseTensor",
    "DenseTensor": "tensor 1 TensorDesc; lod_level 2 int32",
    "TensorDesc": "data_type 1 int32; dims 2 *int64",
}
_TABLE = MessageTable({"ge.paddle": _FIELDS}, syntax="proto2")


def parse_program(data: bytes, name: str) -> Message:
    """The ProgramDesc of a file's bytes.

    Raises:
        ModelImportError: the bytes are none.
    """
    from google.protobuf.message import DecodeError

    program = _TABLE.message_class("ProgramDesc")()
    try:
        program.ParseFromString(data)
    except (DecodeError, RecursionError) as error:
        raise ModelImportError(f"{name} is no Paddle program: {error}", expected="a .pdmodel file") from error
    if not program.blocks:
        raise ModelImportError(f"{name} is no Paddle program: it has no blocks", expected="a .pdmodel file")
    return program


def new_program() -> Message:
    """An empty ProgramDesc."""
    return _TABLE.message_class("ProgramDesc")()
