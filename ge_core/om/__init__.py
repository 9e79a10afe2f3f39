"""The offline model: GE's container, its messages, and graphs in them."""

from ge_core.om.attributes import DataTypeNumber, Expression, Named
from ge_core.om.container import Container, Group, Partition, PartitionType, open_container, read_container
from ge_core.om.file import atomic_write
from ge_core.om.header import Header
from ge_core.om.inout import InOutInfo, TensorInfo
from ge_core.om.messages import message_class, parse, serialize
from ge_core.om.seal import stated_digests, verify, verify_partition
from ge_core.om.weights import WeightsWriter
from ge_core.om.writer import Stream, write_container

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
