"""Weights that lie in a file are read at the first call or while the model is saved; absent ones never."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

import ge_core
from ge_core.compiler import CompileRequest, EntrySource, compile_entries
from ge_core.errors import AbsentDataError, GeError, GraphError
from ge_core.ir import Builder, Graph, Value
from ge_core.ir.constant import Constant, Residence
from ge_core.plugins import host
from ge_core.signature import Signature

RNG = np.random.default_rng(3)
Make = Callable[[], tuple[Graph, list[np.ndarray]]]


def _data(*shape: int, dtype: str = "float32", scale: float = 0.3) -> np.ndarray:
    return (RNG.standard_normal(shape) * scale).astype(dtype)


def _products() -> tuple[Graph, list[np.ndarray]]:
    """Packed, transposed, shared, looked up and added weights, in two types."""
    b = Builder(graph := Graph())
    ids = b.input("ids", "int64", (2, 6))
    table = b.constant(_data(40, 24, dtype="float16"), name="table")
    x = b.Cast(b.Gather(table, ids), to="float32")
    h = b.MatMul(x, b.constant(_data(24, 36), name="up"))
    h = b.Relu(b.Add(h, b.constant(_data(36), name="bias")))
    h = b.MatMul(h, b.Transpose(b.constant(_data(24, 36), name="down"), perm=[1, 0]))
    logits = b.MatMul(b.Cast(h, to="float16"), b.Transpose(table, perm=[1, 0]))
    b.outputs(b.Softmax(logits, axis=-1), b.Reshape(b.constant(_data(4, 6), name="kept"), b.ints(24)))
    return graph, [np.arange(12).reshape(2, 6)]


def _images() -> tuple[Graph, list[np.ndarray]]:
    """Batch normalisation and a factor folded into weights; Winograd, depthwise, transposed and grouped filters."""
    b = Builder(graph := Graph())
    x = b.input("x", "float32", (1, 16, 12, 12))

    def normed(y: Value, channels: int) -> Value:
        gamma, beta, mean = (b.constant(_data(channels)) for _ in range(3))
        return b.Relu(b.BatchNormalization(y, gamma, beta, mean, b.constant(_data(channels) ** 2 + 1)))

    x = normed(b.Conv(x, b.constant(_data(32, 16, 3, 3)), pads=[1, 1, 1, 1]), 32)
    x = normed(b.Conv(x, b.constant(_data(32, 1, 3, 3)), group=32, pads=[1, 1, 1, 1]), 32)
    x = b.Mul(b.Conv(x, b.constant(_data(8, 16, 1, 1)), group=2), b.constant(_data(1, 8, 1, 1)))
    b.outputs(b.ConvTranspose(x, b.constant(_data(8, 4, 2, 2)), strides=[2, 2]))
    return graph, [_data(1, 16, 12, 12)]


def _recurrent() -> tuple[Graph, list[np.ndarray]]:
    """Gates, and a state with its first value."""
    b = Builder(graph := Graph())
    x = b.input("x", "float32", (5, 2, 8))
    y: Value = b.LSTM(
        x, b.constant(_data(1, 24, 8)), b.constant(_data(1, 24, 6)), b.constant(_data(1, 48)), hidden_size=6
    )
    total = graph.add_state("total", Constant.of(_data(5, 1, 2, 6)))
    graph.set_state_write(total, b.Add(total.read, y))
    b.outputs(b.Add(total.read, y))
    return graph, [_data(5, 2, 8)]


MODELS: Sequence[Make] = (_products, _images, _recurrent)


def _moved(graph: Graph, residence: Residence, folder: Path, reads: list[str]) -> Graph:
    """Put all constants of a graph into files of their own, or nowhere; `reads` is told of each look at one."""

    def elsewhere(constant: Constant, number: int) -> Constant:
        path = folder / f"{number}.npy"
        np.save(path, constant.array())

        def load() -> np.ndarray:
            reads.append(path.name)
            if residence == "absent":
                raise GraphError(f"{path.name} has no values")
            found: np.ndarray = np.load(path, mmap_mode="r")
            return found

        return Constant(constant.type, load, f"weight {number}", residence)

    for number, value in enumerate(graph.constants):
        assert value.constant is not None
        if not value.dtype.is_integer:
            value.constant = elsewhere(value.constant, number)
    for number, state in enumerate(graph.states, 100):
        state.initial = elsewhere(state.initial, number)
    return graph


def _compiled(make: Make, residence: Residence | None, folder: Path, **options: object):  # type: ignore[no-untyped-def]
    global RNG
    RNG = np.random.default_rng(3)
    reads: list[str] = []
    graph, inputs = make()
    if residence is not None:
        _moved(graph, residence, folder, reads)
    return ge_core.compile(graph, target="cpu", **options), inputs, reads  # type: ignore[arg-type]


@pytest.mark.parametrize("make", MODELS)
@pytest.mark.parametrize("small", [0, 1 << 20])
def test_files_give_the_same_bits(make: Make, small: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ge_core.ir.constant.SMALL", small)
    if not small:  # what these passes look at would not be small any more
        monkeypatch.setattr("ge_core.passes.scales.FoldScales.rules", ())
        monkeypatch.setattr("ge_core.passes.batchnorm.FoldBatchNorm.rules", ())
    want, inputs, _ = _compiled(make, None, tmp_path)
    got, _, _ = _compiled(make, "file", tmp_path)
    got.save(tmp_path / "first.om")  # before any call, and after
    for _ in range(2):
        for a, b in zip(_flat(got(*inputs)), _flat(want(*inputs)), strict=True):
            assert a.tobytes() == b.tobytes()
    got.save(tmp_path / "second.om")
    assert (tmp_path / "first.om").read_bytes() == (tmp_path / "second.om").read_bytes()
    loaded, again = ge_core.load(tmp_path / "first.om"), _compiled(make, None, tmp_path)[0]
    rebuilt = ge_core.load(tmp_path / "first.om", rebuild=True)
    expected = _flat(again(*inputs))
    for model in (loaded, rebuilt):
        for a, b in zip(_flat(model(*inputs)), expected, strict=True):
            assert a.tobytes() == b.tobytes()


def _flat(outputs: object) -> list[np.ndarray]:
    return list(outputs) if isinstance(outputs, tuple) else [outputs]  # type: ignore[list-item]


def test_large_weights_are_not_read_before_they_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ge_core.ir.constant.SMALL", 0)
    model, inputs, reads = _compiled(_products, "file", tmp_path)
    assert set(reads) <= {"2.npy"}  # of what is added, the first number: were all of them 0, it would vanish
    for file in tmp_path.glob("*.npy"):
        file.rename(file.with_suffix(".away"))
    with pytest.raises(FileNotFoundError):
        model(*inputs)
    for file in tmp_path.glob("*.away"):
        file.rename(file.with_suffix(".npy"))
    first = _flat(model(*inputs))  # an attempt that failed costs nothing but itself
    reads.clear()
    for file in tmp_path.glob("*.npy"):
        np.save(file, np.load(file) * 0)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(first, _flat(model(*inputs)), strict=True))
    assert reads == []


def test_saving_holds_few_weights_at_a_time(tmp_path: Path) -> None:
    size, count = 640 * 768 * 4, 8

    def make() -> tuple[Graph, list[np.ndarray]]:
        b = Builder(graph := Graph())
        x = b.input("x", "float32", (2, 640))
        tables = [b.constant(_data(640, 768)) for _ in range(count)]
        b.outputs(*(b.MatMul(x, table) for table in tables))
        return graph, []

    model, _, reads = _compiled(make, "file", tmp_path)
    assert reads == []
    tracemalloc.start()
    try:
        model.save(tmp_path / "model.om")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert sorted(reads) == [f"{number}.npy" for number in range(count)]
    assert (tmp_path / "model.om").stat().st_size > size * count
    assert peak < 3 * size


def test_entries_pack_a_weight_in_a_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ge_core.ir.constant.SMALL", 0)
    reads: list[str] = []
    weight = next(iter(_moved(_one_product(3), "file", tmp_path, reads).constants)).constant
    entries = {}
    for rows in (3, 7):
        graph = _one_product(rows)
        next(iter(graph.constants)).constant = weight
        entries[f"rows{rows}"] = graph
    sources = {name: EntrySource(graph, Signature.flat(["x"], ["y"])) for name, graph in entries.items()}
    model = compile_entries(sources, CompileRequest(host().backend("cpu"), "cpu"))
    for name, rows in (("rows3", 3), ("rows7", 7)):
        assert model.entries[name](np.ones((rows, 64), np.float32)).shape == (rows, 48)
    assert reads == ["0.npy"]


def _one_product(rows: int) -> Graph:
    b = Builder(graph := Graph())
    b.outputs(b.MatMul(b.input("x", "float32", (rows, 64)), b.constant(_data(64, 48))))
    return graph


@pytest.mark.parametrize("make", MODELS)
def test_absent_weights_are_compiled_but_not_run(make: Make, tmp_path: Path) -> None:
    model, inputs, reads = _compiled(make, "absent", tmp_path)
    assert reads == []
    assert model.plan is not None and model.plan.steps
    assert model.report.memory and model.report.to_json()
    assert str(model.graph)
    with pytest.raises(AbsentDataError, match=r"cannot be called: \d+ of its weights have no values") as caught:
        model(*inputs)
    assert "weight 0" in str(caught.value) and caught.value.fix
    with pytest.raises(AbsentDataError, match="cannot be saved"):
        model.save(tmp_path / "none.om")
    assert not (tmp_path / "none.om").exists()


@pytest.mark.parametrize("target", ["cpu", "reference"])
def test_absent_weights_do_not_change_the_plan(target: str, tmp_path: Path) -> None:
    for make in (_products, _recurrent):
        with_values, inputs, _ = _compiled(make, None, tmp_path)
        without, _, _ = _compiled(make, "absent", tmp_path)
        shapes = [
            [len(m.plan.steps), m.plan.memory.size, sorted(m.report.operators.items())] for m in (with_values, without)
        ]
        assert shapes[0] == shapes[1]
    model = ge_core.compile(_moved(_products()[0], "absent", tmp_path, []), target=target)
    with pytest.raises(GeError, match="no values"):
        model(np.zeros((2, 6), np.int64))


@pytest.mark.parametrize("residence", ["file", "absent"])
def test_weights_elsewhere_in_smaller_types(residence: Residence, tmp_path: Path) -> None:
    def make() -> tuple[Graph, list[np.ndarray]]:
        b = Builder(graph := Graph())
        h = b.MatMul(b.input("x", "float32", (1, 512)), b.constant(_data(512, 600), name="w"))
        h = b.Gemm(h, b.constant(_data(600, 512), name="v"), b.constant(_data(512)))
        many = b.MatMul(b.input("y", "float32", (9, 512)), b.constant(_data(512, 64), name="z"))
        b.outputs(h, many)
        return graph, [_data(1, 512), _data(9, 512)]

    want, inputs, _ = _compiled(make, None, tmp_path, precision="speed")
    got, _, _ = _compiled(make, residence, tmp_path, precision="speed")
    assert [str(c.type) for c in want.plan.constants] == [str(c.type) for c in got.plan.constants]
    assert {"int8", "float16"} <= {c.type.dtype.name for c in got.plan.constants}
    if residence == "file":
        for a, b in zip(got(*inputs), want(*inputs), strict=True):
            assert a.tobytes() == b.tobytes()


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="the platform does not tell what is mapped")
@pytest.mark.parametrize("share", [False, True])
def test_shared_weights_in_mapped_files_stay_there(
    share: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ge_core.ir.constant.SMALL", 1000)

    def mapped() -> tuple[Graph, list[np.ndarray]]:
        """The constants are arrays, of which nobody says that they lie in files."""
        graph, inputs = _products()
        for number, value in enumerate(graph.constants):
            assert value.constant is not None
            np.save(tmp_path / f"{number}.npy", value.constant.array())
            value.constant = Constant.of(np.load(tmp_path / f"{number}.npy", mmap_mode="c"), value.dtype)
        return graph, inputs

    want, inputs, _ = _compiled(_products, None, tmp_path)
    model, _, _ = _compiled(mapped, None, tmp_path, options={"share_weights": share})
    assert {c.residence for c in model.plan.constants if c.nbytes > 1000} == {"file" if share else "memory"}
    for a, b in zip(model(*inputs), want(*inputs), strict=True):
        assert a.tobytes() == b.tobytes()
