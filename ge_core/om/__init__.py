"""The offline model: GE's container, its messages, and graphs in them.

The modules are imported when a name is first read: opening a model that this user trusts needs few of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ge_core.om.attributes import DataTypeNumber, Expression, Named
    from ge_core.om.container import Container, Group, Partition, PartitionType, open_container, read_container
    from ge_core.om.file import atomic_write
    from ge_core.om.header import Header
    from ge_core.om.inout import InOutInfo, TensorInfo
    from ge_core.om.messages import message_class, parse, serialize
    from ge_core.om.seal import stated_digests, verify, verify_partition
    from ge_core.om.weights import WeightsWriter
    from ge_core.om.writer import Stream, write_container

_MODULES = {
    "DataTypeNumber": "ge_core.om.attributes",
    "Expression": "ge_core.om.attributes",
    "Named": "ge_core.om.attributes",
    "Container": "ge_core.om.container",
    "Group": "ge_core.om.container",
    "Partition": "ge_core.om.container",
    "PartitionType": "ge_core.om.container",
    "open_container": "ge_core.om.container",
    "read_container": "ge_core.om.container",
    "atomic_write": "ge_core.om.file",
    "Header": "ge_core.om.header",
    "InOutInfo": "ge_core.om.inout",
    "TensorInfo": "ge_core.om.inout",
    "message_class": "ge_core.om.messages",
    "parse": "ge_core.om.messages",
    "serialize": "ge_core.om.messages",
    "stated_digests": "ge_core.om.seal",
    "verify": "ge_core.om.seal",
    "verify_partition": "ge_core.om.seal",
    "WeightsWriter": "ge_core.om.weights",
    "Stream": "ge_core.om.writer",
    "write_container": "ge_core.om.writer",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


__all__ = [
    "Container",
    "DataTypeNumber",
    "Expression",
    "Group",
    "Header",
    "InOutInfo",
    "Named",
    "Partition",
    "PartitionType",
    "Stream",
    "TensorInfo",
    "WeightsWriter",
    "atomic_write",
    "message_class",
    "open_container",
    "parse",
    "read_container",
    "serialize",
    "stated_digests",
    "verify",
    "verify_partition",
    "write_container",
]
