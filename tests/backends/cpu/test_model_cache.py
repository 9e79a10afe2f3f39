"""Compiled models in the user's cache: found for equal requests alone, and right whatever became of the folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ge_core
from ge_backend_cpu import fingerprint as prints
from ge_backend_cpu.backend import CpuBackend
from ge_backend_cpu.cache import Cache
from ge_backend_cpu.figures import figures_key
from ge_backend_cpu.isa import Isa
from ge_core import model_cache
from ge_core.errors import GeError, OptionError
from ge_core.image_input import Image
from ge_core.ir import Builder, Graph, symbol
from ge_core.ir.constant import Constant
from ge_core.ir.location import Location
from ge_core.ir.printer import print_graph
from ge_core.model import CompiledModel
from ge_core.plugins import host

RNG = np.random.default_rng(4)
W = RNG.standard_normal((3, 8, 8)).astype(np.float32)
X = RNG.standard_normal((2, 3, 8, 8)).astype(np.float32)
OPTIONS: dict[str, object] = {"num_threads": 1, "workers": 0}


def net(weight: np.ndarray = W, name: str = "x", line: int = 1, slope: float = 0.5, batch: Any = 2) -> Graph:
    g = Graph()
    b = Builder(g)
    x = b.input(name, "float32", (batch, 3, 8, 8))
    w = b.constant(weight, name="w")
    y = b.Mul(x, w)
    y.producer.loc = Location("torch", "net", "net.py", line, "mul")
    b.outputs(b.Elu(y, alpha=slope))
    return g


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache that keeps every model, and has done so when `compile` returns."""
    monkeypatch.setenv("GE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv(model_cache.LIMIT_VARIABLE, "64")
    monkeypatch.setattr(model_cache, "WORTH", 0.0)
    keep = model_cache.keep

    def settled(*arguments: Any) -> None:
        thread = keep(*arguments)
        if thread is not None:
            thread.join()

    monkeypatch.setattr(model_cache, "keep", settled)
    return tmp_path / "cache" / "models"


def compiled(graph: Graph, options: Mapping[str, object] | None = None, **given: Any) -> tuple[CompiledModel, bool]:
    """A model, and whether it came from the cache."""
    model = ge_core.compile(graph, target="cpu", options={**OPTIONS, **(options or {})}, **given)
    return model, "optimise" not in model.report.seconds


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/*.om"))


def same(a: Any, b: Any) -> bool:
    return bool(a.tobytes() == b.tobytes())


def test_hit_is_the_model_that_was_compiled(folder: Path, tmp_path: Path) -> None:
    first, hit = compiled(net())
    assert not hit and len(entries(folder)) == 1
    again, hit = compiled(net())
    assert hit
    assert same(first(X), again(X))
    before, after = first.report.to_json(), again.report.to_json()
    assert set(after.pop("seconds")) == {"import", "look up"}
    before.pop("seconds")
    assert before == after
    assert first.provenance == again.provenance
    assert print_graph(first.graph) == print_graph(again.graph)
    first.save(tmp_path / "a.om")
    again.save(tmp_path / "b.om")
    assert (tmp_path / "a.om").read_bytes() == (tmp_path / "b.om").read_bytes()
    assert same(first(X), ge_core.load(tmp_path / "b.om", trust=True)(X))


def test_dynamic_sizes_and_states_come_back(folder: Path) -> None:
    def graph() -> Graph:
        g = Graph()
        b = Builder(g)
        x = b.input("x", "float32", (symbol("n", 1), 4))
        total = b.state("total", np.zeros((1, 4), np.float32))
        new = b.Add(total.read, b.ReduceSum(x, b.constant(np.array([0])), keepdims=1))
        g.set_state_write(total, new)
        b.outputs(b.Add(x, new))
        return g

    first, _ = compiled(graph())
    again, hit = compiled(graph())
    assert hit
    for n in (3, 1, 7):
        x = RNG.standard_normal((n, 4)).astype(np.float32)
        assert first(x).tobytes() == again(x).tobytes()


def _changed(**fields: Any) -> Callable[[], tuple[CompiledModel, bool]]:
    return lambda: compiled(net(**fields))


def _flipped() -> tuple[CompiledModel, bool]:
    weight = W.copy()
    weight.view(np.uint32)[-1, -1, -1] ^= 1
    return compiled(net(weight))


def _transposed() -> tuple[CompiledModel, bool]:
    return compiled(net(np.ascontiguousarray(W.transpose(0, 2, 1))))


@pytest.mark.parametrize(
    "other",
    [
        _flipped,
        _transposed,
        _changed(name="y"),
        _changed(line=2),
        _changed(slope=0.25),
        _changed(batch=3),
        _changed(batch=symbol("n", 1)),
        _changed(batch=symbol("n", 1, 9)),
        lambda: compiled(net(), precision="accuracy"),
        lambda: compiled(net(), optimize="none"),
        lambda: compiled(net(), optimize={"fold", "dce"}),
        lambda: compiled(net(), {"num_threads": 2}),
        lambda: compiled(net(), {"isa": "x86-64-v3"}),
        lambda: compiled(net(), {"stop_after": 1}),
        lambda: compiled(net(), {"explain": True}),
        lambda: compiled(net(), {"preprocess": {"x": Image("uint8", "NHWC", mean=2.0)}}),
    ],
)
def test_any_other_request_is_compiled(folder: Path, other: Callable[[], tuple[CompiledModel, bool]]) -> None:
    compiled(net())
    _, hit = other()
    assert not hit
    assert len(entries(folder)) == 2
    assert other()[1]


def test_gears_and_images_are_part_of_the_request(folder: Path) -> None:
    batch = symbol("n", 1, 9)
    for sizes in ([], [1, 4], [1, 5]):
        gears = {"gears": {"n": sizes}} if sizes else {}
        assert not compiled(net(batch=batch), gears)[1]
        assert compiled(net(batch=batch), gears)[1]
    for mean in (1.0, 2.0):
        images = {"preprocess": {"x": Image("uint8", "NHWC", mean=mean)}}
        assert not compiled(net(), images)[1]
        assert compiled(net(), images)[1]


def test_what_the_backend_and_the_plugins_say_is_part_of_the_request(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled(net())
    with monkeypatch.context() as m:
        m.setattr(CpuBackend, "stamp", lambda *_: "another version")
        assert not compiled(net())[1]
        m.setattr(CpuBackend, "stamp", lambda *_: None)
        assert not compiled(net())[1]
        assert not compiled(net())[1]
    with monkeypatch.context() as m:
        m.setattr(type(host()), "additions", lambda self: ["pass mine frontend mine of mine 2"])
        assert not compiled(net())[1]
    plugin = host().backend("cpu")
    with monkeypatch.context() as m:
        m.setattr(plugin, "source", replace(plugin.source, version="99"))
        assert not compiled(net())[1]
    assert compiled(net())[1]


def test_stamp_names_instruction_set_threads_and_figures(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    backend = CpuBackend()
    stamps = {
        backend.stamp("cpu", {}),
        backend.stamp("cpu", {"num_threads": 17}),
        backend.stamp("cpu", {"isa": "aarch64"}),
    }
    monkeypatch.setattr("ge_backend_cpu.figures.figures_stamp", lambda cache: "faster")
    stamps.add(backend.stamp("cpu", {}))
    assert len(stamps) == 4 and None not in stamps
    assert backend.stamp("cpu", {"cache": False}) is None


@pytest.mark.parametrize(
    "options", [{"cache": False}, {"share_weights": True}, {"save_graphs": "here"}, {"print_after": ["none"]}]
)
def test_compilations_that_do_more_are_not_kept(
    folder: Path, options: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert not compiled(net(), options)[1]
    assert not entries(folder)


def test_absent_weights_debugging_and_switched_off(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as m:
        m.setenv(model_cache.LIMIT_VARIABLE, "0")
        compiled(net())
    with monkeypatch.context() as m:
        m.setenv("GE_DEBUG", "1")
        compiled(net())
    with monkeypatch.context() as m:
        m.setattr(model_cache, "WORTH", 1e9)
        compiled(net())
    assert not entries(folder)
    with monkeypatch.context() as m:
        m.setenv(model_cache.LIMIT_VARIABLE, "much")
        with pytest.raises(OptionError, match="GE_MODEL_CACHE_MB"):
            compiled(net())


def test_a_later_edit_of_the_weights_does_no_harm(folder: Path) -> None:
    mine = W.copy()
    first, _ = compiled(net(mine))
    wanted = first(X)
    mine += 1.0
    other, hit = compiled(net(mine))
    assert not hit
    again, hit = compiled(net(W.copy()))
    assert hit and same(again(X), wanted)
    assert not same(other(X), wanted)


def _truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _flip(place: float) -> Callable[[Path], None]:
    def flip(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[int(place * (len(data) - 1))] ^= 0x10
        path.write_bytes(data)

    return flip


def _flip_unseen(path: Path) -> None:
    """Damage in the part that checksums cover, by something that sets the time of change back."""
    state = path.stat()
    data = bytearray(path.read_bytes())
    data[300] ^= 0x10
    path.write_bytes(data)
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))


@pytest.mark.parametrize(
    "damage", [_truncate, _empty, _flip_unseen, *(_flip(k / 8) for k in range(9)), lambda path: path.chmod(0)]
)
def test_damaged_entries_are_replaced(folder: Path, damage: Callable[[Path], None]) -> None:
    wanted = compiled(net())[0](X)
    (path,) = entries(folder)
    good = path.read_bytes()
    damage(path)
    model, hit = compiled(net())
    assert same(model(X), wanted)
    if os.access(path, os.R_OK) and path.read_bytes() == good and hit:
        return  # root reads everything
    assert not hit
    assert compiled(net())[1]
    assert path.read_bytes() == good


def test_a_folder_that_others_can_write_to_is_not_used(folder: Path) -> None:
    compiled(net())
    (path,) = entries(folder)
    path.parent.chmod(0o777)
    assert not compiled(net())[1]
    path.parent.chmod(0o700)
    assert compiled(net())[1]
    folder.chmod(0o770)
    assert not compiled(net())[1]
    folder.chmod(0o700)
    (folder / "secret").chmod(0o644)
    assert not compiled(net())[1]


@pytest.mark.parametrize("place", ["/proc/ge", os.devnull])
def test_a_folder_that_cannot_be_written_is_no_error(folder: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    monkeypatch.setenv("GE_CACHE_DIR", place)
    for _ in range(2):
        model, hit = compiled(net())
        assert not hit
        assert model(X).shape == X.shape


def test_a_full_disk_is_no_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    monkeypatch.setattr("ge_core.om.file._give_name", full)
    model, _ = compiled(net())
    assert model(X).shape == X.shape
    assert not [path for path in folder.rglob("*") if path.is_file() and path.suffix == ".om"]


def test_what_was_not_used_for_longest_goes(folder: Path) -> None:
    for line in range(4):
        compiled(net(line=line))
    paths = entries(folder)
    size = paths[0].stat().st_size
    for age, path in enumerate(paths):
        os.utime(path, ns=(10**18 - age, path.stat().st_mtime_ns))
    left = folder / "00" / ".left"
    left.parent.mkdir()
    left.touch()
    model_cache.sweep(folder, 2 * size + size // 2)
    assert sorted(entries(folder)) == sorted(paths[:2])
    assert left.exists()  # its writer may live
    assert {compiled(net(line=line))[1] for line in range(4)} == {True, False}


def test_a_hit_is_a_use(folder: Path) -> None:
    compiled(net())
    (path,) = entries(folder)
    os.utime(path, ns=(1, path.stat().st_mtime_ns))
    assert compiled(net())[1]
    assert path.stat().st_atime_ns > 1


def test_models_too_large_for_the_folder_are_not_looked_at(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(model_cache.LIMIT_VARIABLE, "1")
    monkeypatch.setattr(CpuBackend, "fingerprint", lambda *_: pytest.fail("it was looked at"))
    big = Graph()
    b = Builder(big)
    x = b.input("x", "float32", (1, 4))
    b.outputs(b.MatMul(x, b.constant(np.zeros((4, 20_000), np.float32))))
    assert not compiled(big)[1]


def test_threads_compile_the_same_model_at_once(folder: Path) -> None:
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(compiled(net())[0](X))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all(same(found[0], each) for each in found)
    assert len(entries(folder)) == 1


_PROGRAM = """
import sys, numpy as np
from ge_core import model_cache
model_cache.WORTH = 0.0
from tests.backends.cpu.test_model_cache import X, compiled, net
model, hit = compiled(net())
sys.stdout.buffer.write(bytes([hit]) + model(X).tobytes())
"""


def test_processes_share_it(folder: Path) -> None:
    """Two at once, and one that finds what they left; each waits for its writer before it ends."""

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-c", _PROGRAM], stdout=subprocess.PIPE, cwd=Path(__file__).parents[3])

    figures = {"flops": 1e10, "near": 1e10, "far": 1e10, "looks": 9, "last": 0.0}  # else each measures its own
    Cache().put(figures_key(), json.dumps(figures).encode())
    together = [start(), start()]
    outputs = [process.communicate()[0] for process in together]
    outputs.append(start().communicate()[0])
    assert outputs[2][0] == 1
    assert len({output[1:] for output in outputs}) == 1 and len(outputs[0]) == 1 + X.nbytes
    assert len(entries(folder)) == 1
    assert not list(folder.glob("*/.*"))


@pytest.mark.parametrize("level", ["x86-64-v3", "x86-64-v4", "aarch64"])
def test_fingerprint_is_nh_of_every_block(level: str) -> None:
    """The native sums against the formula, with the vectors of each level; those of others run here all the same."""
    lanes = Isa.of(level).lanes
    isa = replace(Isa.of("host"), lanes=lanes)
    native, key = prints._Native(prints.native_code(isa)), prints._key(b"k" * 32)
    blocks = RNG.integers(0, 256, (3, prints.BLOCK)).astype(np.uint8)
    sums = np.empty((3, prints.PASSES), np.uint64)
    apart = ([blocks.ctypes.data, 1, sums.ctypes.data], [blocks[1:].ctypes.data, 2, sums[1:].ctypes.data])
    native(np.array(apart, np.int64), key)
    for block, got in zip(blocks, sums, strict=True):
        for p in range(prints.PASSES):
            words = key[p * lanes * 4 :][: prints.BLOCK].view(np.uint32)
            pairs = (block.view(np.uint32) + words).astype(np.uint64)
            assert got[p] == (pairs[::2] * pairs[1::2]).sum()


def test_fingerprint_tells_data_apart() -> None:
    secret, data = b"s" * 32, RNG.integers(0, 256, 3 * prints.BLOCK + 5).astype(np.uint8)
    known = {prints.fingerprint(secret, [data])}
    for place in range(0, len(data), 997):
        other = data.copy()
        other[place] ^= 0x80
        known.add(prints.fingerprint(secret, [other]))
    known |= {prints.fingerprint(secret, parts) for parts in ([data[:-1]], [data[:9], data[9:]], [data, data[:0]], [])}
    known.add(prints.fingerprint(secret, [np.append(data, np.uint8(0))]))
    known.add(prints.fingerprint(secret, [data[: prints.BLOCK][::-1].copy(), data[prints.BLOCK :]]))
    known.add(prints.fingerprint(b"t" * 32, [data]))
    assert len(known) == 1 + len(range(0, len(data), 997)) + 7
    assert prints.fingerprint(secret, [data.copy()]) in known


def test_constants_of_all_kinds_are_fingerprinted() -> None:
    from ge_core.ir.dtype import DType
    from ge_core.request_key import data_of

    turned = RNG.standard_normal((3, 4)).astype(np.float32).T
    text = np.array(["a", "bc"], object)
    nibbles = np.array([1, 2, 3], DType.of("int4").numpy)
    arrays = data_of(
        [Constant.of(turned), Constant.of(text, DType.of("string")), Constant.of(nibbles, DType.of("int4"))]
    )
    assert arrays[0].tobytes() == np.ascontiguousarray(turned).tobytes()
    assert arrays[1].tobytes() == b'["a", "bc"]'
    assert len(arrays[2]) == 2 and all(array.dtype == np.uint8 for array in arrays)


def test_graphs_stay_as_they_are_and_invalid_ones_are_refused(folder: Path) -> None:
    graph = net()
    before = print_graph(graph, locations=True)
    for _ in range(2):
        compiled(graph)
        assert print_graph(graph, locations=True) == before
    wrong = net()
    nodes = list(wrong.nodes)
    nodes[0].set_input(0, nodes[1].output)  # reads what is computed later
    with pytest.raises(GeError):
        compiled(wrong)
