"""Netron's own reader shows an AIR file, wrapped into the container that it knows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ge_ascend.air import write_air

from ge_core.om import InOutInfo, PartitionType, write_container
from tests.backends.ascend.roundtrip import graph_of, lowered
from tests.core.om.conftest import netron as netron


def test_netron_shows_operators_and_constants(netron: Callable[[Path], Any], tmp_path: Path) -> None:  # noqa: F811
    graph = graph_of(
        lambda b, x, w: b.Softmax(b.ReduceMean(b.Relu(b.Conv(x, w)), b.ints(2, 3)), axis=1),
        ("float32", (2, 3, 8, 8)),
        ("float32", (4, 3, 3, 3)),
    )
    data = write_air(lowered(graph).program).data
    path = tmp_path / "wrapped.om"
    parts = {PartitionType.MODEL_INOUT_INFO: InOutInfo((), ()).pack(), PartitionType.MODEL_DEF: data}
    write_container(path, parts)
    seen = netron(path)
    assert seen["format"] == "DaVinci OM"
    types = [node["type"] for node in seen["modules"][0]["nodes"]]
    assert types[:2] == ["Data", "Data"] and types[-1] == "NetOutput"
    assert [t for t in types if t in ("Conv2D", "Relu", "ReduceMean", "SoftmaxV2")] == [
        "Conv2D", "Relu", "ReduceMean", "SoftmaxV2",
    ]  # fmt: skip
    conv = next(node for node in seen["modules"][0]["nodes"] if node["type"] == "Conv2D")
    assert conv["attributes"]["strides"] == [1, 1, 1, 1]
