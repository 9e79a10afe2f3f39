from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ge_core.om import PartitionType, write_container


def test_netron_shows_the_graph_and_the_weights(
    partitions: dict[PartitionType, bytes], netron: Callable[[Path], Any], tmp_path: Path
) -> None:
    write_container(tmp_path / "sample.om", partitions)

    seen = netron(tmp_path / "sample.om")

    assert seen["format"] == "DaVinci OM"
    (module,) = seen["modules"]
    assert module["name"] == "main"
    assert [node["type"] for node in module["nodes"]] == ["Data", "Add", "NetOutput"]
    add = module["nodes"][1]
    x, c = add["inputs"][0][0], add["inputs"][1][0]
    assert x == {"name": "x:0", "type": {"dtype": "float32", "shape": [4]}, "bytes": None}
    assert bytes(c["bytes"]) == partitions[PartitionType.WEIGHTS_DATA]
    assert add["attributes"] == {"note": "sum", "axes": [1, -1], "scale": 0.5}
