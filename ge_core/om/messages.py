"""GE's protobuf messages, built at run time from a table of field numbers.

The messages are of package `ge.proto` (and `domi` for tasks) in a descriptor pool of our own: generated
modules would register in the default pool, where TorchAir's `ge.proto` lives in the same process. Protobuf
is imported at the first use, so that importing this module is cheap.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

from ge_core.errors import OfflineModelError
from ge_core.om import wire

Message: TypeAlias = Any
"""An instance of a class made by `message_class`; protobuf has no static types for it."""

_ATTR_MAP = "map<string, AttrDef>"

_TABLE: dict[str, dict[str, str]] = {
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
"""Per package and message: `name number type`; * is repeated, /value a member of the oneof."""

_SCALARS = {"int32", "int64", "uint32", "uint64", "bool", "float", "bytes", "string"}

_SCAN_ABOVE = 64 << 10
"""Messages of at most this size are bounded by themselves, and protobuf bounds their depth in C."""


def message_class(name: str) -> type[Message]:
    """The class of a message, by its short name in the table."""
    return _classes()[name]


def parse(name: str, data: bytes | memoryview) -> Message:
    """Parse bytes that nobody vouches for.

    Raises:
        OfflineModelError: too large, too deep, growing beyond proportion, or no valid message of this type.
    """
    if len(data) > wire.MAX_BYTES:
        raise OfflineModelError(f"a {name} of {len(data)} bytes", expected=f"at most {wire.MAX_BYTES} bytes")
    from google.protobuf.message import DecodeError

    if len(data) > _SCAN_ABOVE:
        wire.check(memoryview(data), name, _schema())
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
    return next(number for name, number, _ in _fields(message) if name == field)


def _fields(message: str) -> list[tuple[str, int, list[str]]]:
    text = next(group[message] for group in _TABLE.values() if message in group)
    parsed = []
    for entry in text.split(";"):
        name, number, *kind = entry.split()
        parsed.append((name, int(number), kind))
    return parsed


def _map_value(kind: list[str]) -> str | None:
    return kind[1].rstrip(">") if kind[0] == "map<string," else None


@lru_cache(maxsize=1)
def _schema() -> dict[str, dict[int, str | None]]:
    """For `wire.check`: per message, field number to inner message; map entries under `Message.field`."""
    schema: dict[str, dict[int, str | None]] = {}
    for group in _TABLE.values():
        for message in group:
            numbers: dict[int, str | None] = {}
            for name, number, kind in _fields(message):
                value = _map_value(kind)
                if value is not None:
                    entry = f"{message}.{name}"
                    schema[entry] = {1: None, 2: None if value in _SCALARS else value}
                    numbers[number] = entry
                else:
                    inner = kind[0].lstrip("*")
                    numbers[number] = None if inner in _SCALARS else inner
            schema[message] = numbers
    return schema


@lru_cache(maxsize=1)
def _classes() -> dict[str, type[Message]]:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    proto = descriptor_pb2.FieldDescriptorProto

    def add(fields: Any, package: str, name: str, number: int, kind: str, *, repeated: bool = False) -> Any:
        new = fields.add(name=name, number=number)
        new.label = proto.LABEL_REPEATED if repeated else proto.LABEL_OPTIONAL
        if kind in _SCALARS:
            new.type = getattr(proto, f"TYPE_{kind.upper()}")
        else:
            new.type, new.type_name = proto.TYPE_MESSAGE, f".{package}.{kind}"
        return new

    pool = descriptor_pool.DescriptorPool()
    found: dict[str, type[Message]] = {}
    for package, group in _TABLE.items():
        file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
        for message in group:
            described = file.message_type.add(name=message)
            for name, number, kind in _fields(message):
                value = _map_value(kind)
                if value is not None:
                    entry_name = "".join(part.capitalize() for part in name.split("_")) + "Entry"
                    entry = described.nested_type.add(name=entry_name)
                    entry.options.map_entry = True
                    add(entry.field, package, "key", 1, "string")
                    add(entry.field, package, "value", 2, value)
                    add(described.field, package, name, number, f"{message}.{entry_name}", repeated=True)
                    continue
                new = add(
                    described.field,
                    package,
                    name,
                    number,
                    kind[0].lstrip("*"),
                    repeated=kind[0].startswith("*"),
                )
                if kind[1:]:
                    if not described.oneof_decl:
                        described.oneof_decl.add(name=kind[1].lstrip("/"))
                    new.oneof_index = 0
        pool.Add(file)
        for message in group:
            found[message] = message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{message}"))
    return found
