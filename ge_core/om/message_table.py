"""Protobuf messages built at run time from a table of field numbers.

Each table has a descriptor pool of its own: generated modules would register in the default pool, where the framework
that owns the format has its messages in the same process. Protobuf is imported at the first use, so that making a
table is cheap.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, TypeAlias

Message: TypeAlias = Any
"""An instance of a class of a table; protobuf has no static types for it."""

_SCALARS = frozenset({"int32", "int64", "uint32", "uint64", "bool", "float", "double", "bytes", "string", "fixed32"})


class MessageTable:
    """The messages of one or more protobuf packages.

    Args:
        packages: per package and message its fields as `name number type`, separated by semicolons. `*` before a type
            is repeated, `/value` behind it makes the field a member of the message's oneof, and `map<string, T>` is
            a map. Fields that are left out are skipped when a message is read.
        syntax: `proto3`, or `proto2` where fields tell whether they were set.
    """

    def __init__(self, packages: Mapping[str, Mapping[str, str]], syntax: str = "proto3") -> None:
        self._packages = packages
        self._syntax = syntax

    def message_class(self, name: str) -> type[Message]:
        """The class of a message, by its name in the table."""
        return self._classes[name]

    def field_number(self, message: str, field: str) -> int:
        """The number of a field, for code that writes the wire format itself."""
        return next(number for name, number, _ in self._fields[message] if name == field)

    @cached_property
    def schema(self) -> dict[str, dict[int, str | None]]:
        """For `wire.check`: per message, field number to inner message; map entries under `Message.field`."""
        schema: dict[str, dict[int, str | None]] = {}
        for message, fields in self._fields.items():
            numbers: dict[int, str | None] = {}
            for name, number, kind in fields:
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

    @cached_property
    def _fields(self) -> dict[str, list[tuple[str, int, list[str]]]]:
        return {
            message: [
                (name, int(number), kind)
                for name, number, *kind in (entry.split() for entry in text.split(";") if entry.strip())
            ]
            for group in self._packages.values()
            for message, text in group.items()
        }

    @cached_property
    def _classes(self) -> dict[str, type[Message]]:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

        pool = descriptor_pool.DescriptorPool()
        found: dict[str, type[Message]] = {}
        for package, group in self._packages.items():
            file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax=self._syntax)
            for message in group:
                self._describe(file.message_type.add(name=message), package)
            pool.Add(file)
            for message in group:
                found[message] = message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{message}"))
        return found

    def _describe(self, described: Any, package: str) -> None:
        for name, number, kind in self._fields[described.name]:
            value = _map_value(kind)
            if value is not None:
                entry_name = "".join(part.capitalize() for part in name.split("_")) + "Entry"
                entry = described.nested_type.add(name=entry_name)
                entry.options.map_entry = True
                _add_field(entry.field, package, "key", 1, "string")
                _add_field(entry.field, package, "value", 2, value)
                _add_field(described.field, package, name, number, f"*{described.name}.{entry_name}")
                continue
            new = _add_field(described.field, package, name, number, kind[0])
            if kind[1:]:
                if not described.oneof_decl:
                    described.oneof_decl.add(name=kind[1].lstrip("/"))
                new.oneof_index = 0


def _map_value(kind: list[str]) -> str | None:
    return kind[1].rstrip(">") if kind[0] == "map<string," else None


def _add_field(fields: Any, package: str, name: str, number: int, kind: str) -> Any:
    new = fields.add(name=name, number=number)
    new.label = new.LABEL_REPEATED if kind.startswith("*") else new.LABEL_OPTIONAL
    plain = kind.lstrip("*")
    if plain in _SCALARS:
        new.type = getattr(new, f"TYPE_{plain.upper()}")
    else:
        new.type, new.type_name = new.TYPE_MESSAGE, f".{package}.{plain}"
    return new
