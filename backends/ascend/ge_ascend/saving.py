"""Writing a compiled model: AIR files, ONNX files for ATC, and ATC's offline models."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ge_ascend.aipp import aipp_config
from ge_ascend.air import import_air, read_air
from ge_ascend.atc import AtcJob, find_atc, missing_atc, run_atc
from ge_ascend.chips import CHIPS
from ge_ascend.lower.scope import bare_symbol
from ge_core.backend import Artifact, Buffer, Options
from ge_core.errors import BackendError, OptionError
from ge_core.image_input import Image, prepend_images
from ge_core.ir.dims import Dim, Size
from ge_core.ir.graph import Graph
from ge_core.om.file import atomic_write
from ge_core.passes.pipeline import optimise
from ge_core.plugins import host

DEVICE_MODEL = "device.om"
"""The item that holds the bytes of a file of ATC, in an artifact that was opened from one."""
_MOST_GEARS = 100
ONNX_OPSET = 17


def save(artifact: Artifact, path: str, options: Options) -> None:
    """Write `net.air`, or `net.om` by ATC; without ATC the file that it takes is left beside, and no .om.

    Raises:
        BackendError: another suffix, no ATC, or ATC failed.
    """
    target = Path(path)
    if DEVICE_MODEL in artifact.items:
        _copy(artifact, target)
        return
    if target.suffix == ".air":
        write_air_files(artifact, target)
        return
    if target.suffix != ".om":
        raise BackendError(f"{target.name}: {artifact.target} has no such file form", expected="net.air or net.om")
    if len(artifact.graphs) > 1:
        raise BackendError(f"{len(artifact.graphs)} entries", fix="save them as .air, and compile each with atc")
    source = _source(artifact, target, options)
    job = _job(artifact, source, target, options)
    atc = find_atc()
    if atc is None:
        raise missing_atc(job)
    run_atc(job, atc)


def _copy(artifact: Artifact, target: Path) -> None:
    """What ATC wrote, as it is."""
    if target.suffix != ".om":
        raise BackendError(f"{target.name}: the model was opened from an offline model of ATC", expected="net.om")
    with atomic_write(target) as file:
        file.write(_plain(artifact.items[DEVICE_MODEL]))


def write_air_files(artifact: Artifact, target: Path) -> None:
    """Write an AIR file for each entry, and the weights that stand beside it."""
    for name in artifact.graphs:
        place = target if name == "main" or len(artifact.graphs) == 1 else target.with_name(f"{target.stem}.{name}.air")
        with atomic_write(place) as file:
            file.write(_plain(artifact.items[f"{name}.air"]))
        for item, data in artifact.items.items():
            if item.startswith(f"weight/{name}/"):
                beside = place.parent / item
                beside.parent.mkdir(parents=True, exist_ok=True)
                with atomic_write(beside) as file:
                    file.write(_plain(data))


def _plain(data: Buffer) -> memoryview:
    return data.data if isinstance(data, np.ndarray) else memoryview(data)


def _source(artifact: Artifact, target: Path, options: Options) -> Path:
    """The file that ATC is to read."""
    if options.get("via", "air") == "air":
        source = target.with_suffix(".air")
        write_air_files(artifact, source)
        return source
    source = target.with_suffix(".onnx")
    (entry,) = artifact.graphs
    with stored_graph(artifact, entry) as graph:
        optimise(graph, frozenset({"dce"}))
        host().frontend("onnx").export_graph(graph, os.fspath(source), ONNX_OPSET)
    return source


@contextmanager
def stored_graph(artifact: Artifact, entry: str) -> Iterator[Graph]:
    """What an entry's file says, as a graph that takes what the caller gives; valid inside the block."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.air"
        write_air_files(artifact, path)
        alone = entry == "main" or len(artifact.graphs) == 1
        graph = import_air(read_air(path if alone else path.with_name(f"net.{entry}.air"))).graph
        given = artifact.metadata.get("preprocess")
        if given:
            prepend_images(graph, {name: Image(**image) for name, image in given.items()})
        yield graph


def _job(artifact: Artifact, source: Path, target: Path, options: Options) -> AtcJob:
    ((_, graph),) = artifact.graphs.items()
    shapes, gears = geared(graph, options.get("gears"))
    if source.suffix != ".onnx":  # the file has the model's own inputs, which AIPP makes of the images
        for name in shapes.keys() & artifact.metadata.get("preprocess", {}).keys():
            n, h, w, c = shapes[name]
            shapes[name] = [n, c, h, w]
    extra = options.get("atc_options") or ()
    if isinstance(extra, str) or not isinstance(extra, (list, tuple)):
        raise OptionError(f"atc_options={extra!r}", expected="a list of texts")
    return AtcJob(
        source,
        target,
        str(options.get("soc_version") or CHIPS[artifact.target].soc),
        onnx=source.suffix == ".onnx",
        shapes=shapes,
        gears=gears,
        external_weight=bool(options.get("external_weight")),
        aipp=None if source.suffix == ".onnx" else _aipp(graph, target, artifact),
        extra=[str(option) for option in extra],
        places=artifact.metadata.get("places", {}),
    )


def _aipp(graph: Graph, target: Path, artifact: Artifact) -> Path | None:
    given = artifact.metadata.get("preprocess")
    if not given:
        return None
    path = target.with_suffix(".aipp.cfg")
    with atomic_write(path) as file:
        file.write(aipp_config(graph, {name: Image(**image) for name, image in given.items()}).encode())
    return path


def _open_shapes(graph: Graph) -> dict[str, list[int | str]]:
    """Input shapes with a range, or -1, for each size that is known at run time only; none when all are known."""
    if not any(isinstance(size, Dim) for value in graph.inputs for size in value.shape):
        return {}
    return {value.name: [_open_size(size) for size in value.shape] for value in graph.inputs}


def _open_size(size: Size) -> int | str:
    symbol = bare_symbol(size)
    if isinstance(size, int):
        return size
    return -1 if symbol is None or symbol.hi is None else f"{max(symbol.lo, 1)}~{symbol.hi}"


def geared(graph: Graph, given: object) -> tuple[dict[str, list[int | str]], list[list[int]]]:
    """Input shapes with -1 and the listed sizes for them, in the order of the shapes."""
    if not given:
        return _open_shapes(graph), []
    if not isinstance(given, dict):
        raise OptionError(f"gears={given!r}", expected="listed sizes by symbol, such as {'batch': [1, 8]}")
    shapes: dict[str, list[int | str]] = {}
    order: list[str] = []
    for value in graph.inputs:
        sizes: list[int | str] = []
        for size in value.shape:
            symbol = bare_symbol(size)
            if isinstance(size, Dim):
                if symbol is None or symbol.name not in given:
                    raise OptionError(
                        f"the size {size} of {value.name} has no listed values", expected="one per symbol"
                    )
                order.append(symbol.name)
                sizes.append(-1)
            else:
                sizes.append(int(size))
        shapes[value.name] = sizes
    names = list(dict.fromkeys(order))
    combinations: list[dict[str, int]] = [{}]
    for name in names:
        combinations = [{**c, name: int(size)} for c in combinations for size in given[name]]
    if len(combinations) > _MOST_GEARS:
        raise OptionError(f"{len(combinations)} combinations of gears", expected=f"at most {_MOST_GEARS}")
    return shapes, [[c[name] for name in order] for c in combinations]


__all__ = ["geared", "save", "write_air_files"]
