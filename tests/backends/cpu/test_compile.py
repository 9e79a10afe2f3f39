"""Compiling in worker processes and the user's cache: damage, foreign folders, crashes."""

from __future__ import annotations

import errno
import os
import signal
import tempfile
from pathlib import Path
from typing import Any

import pytest

import ge_backend_cpu.cache as caches
import ge_core
from ge_backend_cpu.cache import Cache
from ge_backend_cpu.compile import Coming, compiled, worker_count
from ge_backend_cpu.elf import Code
from ge_backend_cpu.generate import generate
from ge_backend_cpu.isa import Isa, host
from ge_backend_cpu.kernel import Kernel
from ge_backend_cpu.moves import COPY
from ge_backend_cpu.workers import Worker, Workers, started
from ge_core.errors import BackendError
from ge_core.ir import Builder, Graph


def kernels(count: int) -> list[Kernel]:
    return [Kernel("moves.copy", {"block": 64 * (k + 1)}) for k in range(count)]


def code_of(cache: Cache | None, workers: int = 0) -> Code:
    return compiled([COPY], host(), workers=workers, cache=cache)[COPY.symbol]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[Kernel]:
    """The kernels that were really compiled."""
    import ge_backend_cpu.generate as generate

    made: list[Kernel] = []
    original = generate.generate

    def count(kernel: Kernel, isa: Isa) -> Code:
        made.append(kernel)
        return original(kernel, isa)

    monkeypatch.setattr(generate, "generate", count)
    return made


def test_each_kernel_once(tmp_path: Path, counted: list[Kernel]) -> None:
    wanted = kernels(3)
    found = compiled([*wanted, *wanted, wanted[0]], host(), workers=0, cache=Cache(tmp_path))
    assert len(counted) == 3 and set(found) == {k.symbol for k in wanted}
    again = compiled(wanted, host(), workers=0, cache=Cache(tmp_path))
    assert len(counted) == 3 and again == found
    compiled(wanted, Isa.of("aarch64"), workers=0, cache=Cache(tmp_path))
    assert len(counted) == 6


def test_workers_make_the_same_code() -> None:
    wanted = kernels(4)
    assert compiled(wanted, host(), workers=2) == compiled(wanted, host(), workers=0)


def test_errors_in_a_worker_name_the_family() -> None:
    with pytest.raises(BackendError, match=r"family 'nothing\.at_all'"):
        compiled([Kernel("nothing.at_all", {})], host(), workers=1)
    with pytest.raises(BackendError, match="KeyError") as caught:
        compiled([Kernel("moves.copy", {})], host(), workers=1)
    assert any("emit_copy" in line for line in caught.value.details)
    assert code_of(None, workers=1).symbols


def test_a_worker_that_went_away_is_replaced() -> None:
    workers = Workers()
    (worker,) = started(1)
    worker.origin.process.kill()
    workers._idle.put(worker)
    assert workers.compile(COPY, host()).symbols
    workers.close()


def test_workers_that_begin_as_one_process_end_apart() -> None:
    first, second = started(2)
    assert first.compile(COPY, host()) == second.compile(COPY, host())
    process = first.origin.process
    first.close()
    assert process.poll() is None and second.alive
    assert second.compile(COPY, host()).symbols
    second.close()
    assert process.returncode == 0 and not second.alive


def test_a_worker_outlives_the_one_it_began_with() -> None:
    first, second = started(2)
    assert second.compile(COPY, host()).symbols
    first.origin.process.kill()
    assert second.compile(COPY, host()).symbols
    for worker in (first, second):
        worker.close()
    assert first.origin.process.returncode == -signal.SIGKILL


def test_a_kernel_that_ends_the_process_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    workers, tried = Workers(), []

    def stopped(count: int) -> list[Worker]:
        (worker,) = started(count)
        process = worker.origin.process
        tried.append(worker)
        os.kill(process.pid, signal.SIGSTOP)  # the request is written, the answer never comes
        process.kill()
        return [worker]

    monkeypatch.setattr("ge_backend_cpu.workers.started", stopped)
    with pytest.raises(BackendError, match=r"status -9.*'moves\.copy'"):
        workers.compile(COPY, host())
    assert len(tried) == 2


def test_number_of_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GE_CPU_WORKERS", "0")
    assert worker_count() == 0
    monkeypatch.delenv("GE_CPU_WORKERS")
    assert worker_count() == len(os.sched_getaffinity(0))
    assert worker_count(3) == 3
    for wrong in (-1, "x", 1000):
        with pytest.raises(BackendError, match="compiling processes"):
            worker_count(wrong)


def entries(folder: Path) -> list[Path]:
    return [p for p in folder.glob("*/*") if p.is_file()]


@pytest.mark.parametrize("damage", ["empty", "short", "flipped", "folder"])
def test_a_damaged_entry_is_made_again(tmp_path: Path, counted: list[Kernel], damage: str) -> None:
    cache = Cache(tmp_path)
    good = code_of(cache)
    (entry,) = entries(tmp_path)
    raw = bytearray(entry.read_bytes())
    if damage == "folder":
        entry.unlink()
        entry.mkdir()
    else:
        raw[len(raw) // 2] ^= 1
        entry.write_bytes({"empty": b"", "short": bytes(raw[:50]), "flipped": bytes(raw)}[damage])
    assert code_of(cache) == good
    assert len(counted) == 2
    assert code_of(cache) == good
    assert len(counted) == (3 if damage == "folder" else 2)
    assert not [p for p in entries(tmp_path) if p.name.startswith(".new")]


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    assert code_of(Cache(tmp_path / "file" / "below")).symbols
    assert code_of(Cache(Path("/proc/nothing/here"))).symbols


def test_a_full_disk_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counted: list[Kernel]) -> None:
    """/dev/full takes no byte, as a full disk does."""
    cache, made = Cache(tmp_path), tempfile.mkstemp

    def full(**options: Any) -> tuple[int, str]:
        file, name = made(**options)
        os.close(file)
        return os.open("/dev/full", os.O_WRONLY), name

    with monkeypatch.context() as patch:
        patch.setattr(caches.tempfile, "mkstemp", full)
        assert code_of(cache).symbols
    assert entries(tmp_path) == []
    assert code_of(cache).symbols and len(counted) == 2
    assert len(entries(tmp_path)) == 1


def test_a_folder_that_refuses_new_files_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**options: Any) -> tuple[int, str]:
        raise PermissionError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(caches.tempfile, "mkstemp", refuse)
    assert code_of(Cache(tmp_path)).symbols
    assert entries(tmp_path) == []


def test_kernels_are_begun_before_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def make(self: Workers, kernel: Kernel, isa: Isa) -> Code:
        made.append(kernel.symbol)
        return generate(kernel, isa)

    monkeypatch.setattr(Workers, "compile", make)
    early, late = kernels(2)
    coming = Coming(host(), 1, None)
    coming.add([early, early])
    coming._begun[early.symbol].result()
    assert made == [early.symbol]
    assert list(coming.codes([late, early])) == [late.symbol, early.symbol]
    assert made == [early.symbol, late.symbol]


def test_a_model_begins_its_kernels_when_they_are_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    monkeypatch.setattr(Coming, "add", lambda self, kernels: order.append("kernels"))
    monkeypatch.setattr("ge_core.plan.build.plan_selected", lambda *rest: order.append("memory") or 1 / 0)
    graph = Graph()
    b = Builder(graph)
    b.outputs(b.Neg(b.input("x", "float32", (5,))))
    with pytest.raises(ZeroDivisionError):
        ge_core.compile(graph, target="cpu", options={"cache": False, "workers": 0})
    assert order == ["kernels", "memory"]
    order.clear()
    with pytest.raises(ZeroDivisionError):
        ge_core.coverage(graph, target="cpu")
    assert order == ["memory"]


def test_processes_start_before_there_is_work() -> None:
    workers = Workers()
    workers.start(2)
    assert workers._idle.qsize() == 2
    workers.start(2)
    assert workers._idle.qsize() == 2
    assert workers.compile(COPY, host()).symbols
    workers.close()


@pytest.mark.parametrize("known", [False, True])
def test_processes_start_for_models_that_are_new(known: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[int] = []
    monkeypatch.setenv("GE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("ge_backend_cpu.compile.start_workers", begun.append)
    monkeypatch.setattr(Workers, "compile", lambda self, kernel, isa: generate(kernel, isa))

    def compile_one(size: int) -> None:
        graph = Graph()
        b = Builder(graph)
        b.outputs(b.Neg(b.input("x", "float32", (size,))))
        ge_core.compile(graph, target="cpu", options={"workers": 3})

    compile_one(5)
    compile_one(5 if known else 6)
    assert begun == ([3] if known else [3, 3])


def test_a_folder_that_others_may_write_to_is_not_used(tmp_path: Path, counted: list[Kernel]) -> None:
    cache = Cache(tmp_path)
    code_of(cache)
    for folder in tmp_path.iterdir():
        folder.chmod(0o777)
    code_of(cache)
    assert len(counted) == 2


def test_the_cache_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path)
    monkeypatch.setattr(caches, "LIMIT", 5000)
    monkeypatch.setattr(caches, "_SWEEP_AFTER", 0.0)
    for k in range(20):
        cache.put(f"{k:064}", bytes(900))
        os.utime(cache.folder / f"{k:064}"[:2] / f"{k:064}"[2:], (k, k))
    cache._sweep()
    kept = sorted(int(p.parent.name + p.name) for p in entries(tmp_path))
    assert kept == [15, 16, 17, 18, 19]


def test_a_full_folder_is_looked_through_now_and_then_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Cache(tmp_path).put("0" * 64, bytes(900))
    monkeypatch.setattr(caches, "LIMIT", 1000)
    Cache(tmp_path).put("1" * 64, bytes(900))
    assert len(entries(tmp_path)) == 2
    os.utime(tmp_path / "swept", (0, 0))
    Cache(tmp_path).put("2" * 64, bytes(900))
    assert len(entries(tmp_path)) == 1


def test_entries_depend_on_the_generators(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counted: list[Kernel]
) -> None:
    import ge_backend_cpu.compile as compile_module

    code_of(Cache(tmp_path))
    monkeypatch.setattr(compile_module, "generator_version", lambda: "other sources")
    code_of(Cache(tmp_path))
    assert len(counted) == 2


def test_where_the_cache_lies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GE_CACHE_DIR", str(tmp_path))
    assert Cache().folder == tmp_path / "cpu"
    monkeypatch.delenv("GE_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert Cache().folder == Path("/x/ge/cpu")
