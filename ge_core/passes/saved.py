"""A graph in a file: its text, and beside it the data of the constants that the text names by digest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ge_core.errors import PassError
from ge_core.ir.constant import Constant
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Graph
from ge_core.ir.parser import parse_graph
from ge_core.ir.printer import constants_by_digest, print_graph


@dataclass(frozen=True)
class Snapshot:
    """The text of a graph and the constants that the text names by digest."""

    text: str
    constants: Mapping[str, Constant]

    @staticmethod
    def of(graph: Graph) -> Snapshot:
        return Snapshot(print_graph(graph, locations=True), constants_by_digest(graph))

    def save(self, path: Path) -> Path:
        """Write `path` (text) and `path` + `.npz` (constants: raw bytes by digest)."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.text, encoding="utf-8")
        data = {
            _key(digest, c): np.ascontiguousarray(c.array()).reshape(-1).view(np.uint8)
            for digest, c in self.constants.items()
            if c.type.dtype.kind != "string"
        }
        with _constants_path(path).open("wb") as f:
            np.savez(f, **data)  # type: ignore[arg-type]
        return path


def load_graph(path: Path) -> Graph:
    """The graph that `Snapshot.save` wrote.

    Raises:
        PassError: there is no such file.
        TextFormError: the text is malformed.
    """
    if not path.exists():
        raise PassError(f"there is no saved graph {path}")
    constants: dict[str, np.ndarray | Constant] = {}
    data = _constants_path(path)
    if data.exists():
        with np.load(data, allow_pickle=False) as stored:
            constants = dict(_entry(name, stored[name]) for name in stored.files)
    return parse_graph(path.read_text(encoding="utf-8"), constants)


def _constants_path(path: Path) -> Path:
    return path.with_name(path.name + ".npz")


def _key(digest: str, constant: Constant) -> str:
    assert constant.type.shape is not None
    return "-".join([digest, constant.type.dtype.name, *map(str, constant.type.shape)])


def _entry(key: str, raw: np.ndarray) -> tuple[str, Constant]:
    digest, dtype_name, *sizes = key.split("-")
    dtype = DType.of(dtype_name)
    return digest, Constant.of(raw.view(dtype.numpy).reshape(tuple(map(int, sizes))), dtype)
