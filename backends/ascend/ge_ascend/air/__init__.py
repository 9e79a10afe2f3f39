"""AIR files: one ModelDef message. Writing, reading, importing."""

from ge_ascend.air.importer import import_air
from ge_ascend.air.model import AirGraph, AirModel, AirNode, TensorDesc
from ge_ascend.air.reader import parse_air, read_air
from ge_ascend.air.writer import AirFile, write_air

__all__ = [
    "AirFile", "AirGraph", "AirModel", "AirNode", "TensorDesc", "import_air", "parse_air", "read_air", "write_air",
]  # fmt: skip
