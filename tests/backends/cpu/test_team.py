"""The team of threads: barriers after errors, nested and concurrent calls, fork, ends of the process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from ge_backend_cpu import walker
from ge_backend_cpu.elf import Code
from ge_backend_cpu.generate import compile_text
from ge_backend_cpu.image import Mapped
from ge_backend_cpu.isa import host
from ge_backend_cpu.team import Team, thread_count
from ge_core.errors import BackendError

KERNELS = """
target triple = "TRIPLE"
; adds 1 to every item of params[1] + bases[params[0]]; fails on the item params[2]
define i32 @count(ptr %params, ptr %bases, i64 %lo, i64 %hi) {
entry:
  %number = load i64, ptr %params
  %base.p = getelementptr i64, ptr %bases, i64 %number
  %base = load ptr, ptr %base.p
  %offset.p = getelementptr i64, ptr %params, i64 1
  %offset = load i64, ptr %offset.p
  %items = getelementptr i8, ptr %base, i64 %offset
  %bad.p = getelementptr i64, ptr %params, i64 2
  %bad = load i64, ptr %bad.p
  br label %head
head:
  %i = phi i64 [ %lo, %entry ], [ %next, %go ]
  %more = icmp slt i64 %i, %hi
  br i1 %more, label %body, label %done
body:
  %fails = icmp eq i64 %i, %bad
  br i1 %fails, label %fail, label %go
go:
  %item = getelementptr i64, ptr %items, i64 %i
  %old = load i64, ptr %item
  %new = add i64 %old, 1
  store i64 %new, ptr %item
  %next = add i64 %i, 1
  br label %head
fail:
  ret i32 2
done:
  ret i32 0
}
; items[i] = items[n - 1 - i] + 1 from the first half of the memory into the second (params[2] = 0) or back
define i32 @swap(ptr %params, ptr %bases, i64 %lo, i64 %hi) {
entry:
  %base = load ptr, ptr %bases
  %n.p = getelementptr i64, ptr %params, i64 1
  %n = load i64, ptr %n.p
  %back.p = getelementptr i64, ptr %params, i64 2
  %back = load i64, ptr %back.p
  %from = mul i64 %back, %n
  %other = sub i64 1, %back
  %to = mul i64 %other, %n
  br label %head
head:
  %i = phi i64 [ %lo, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %hi
  br i1 %more, label %body, label %done
body:
  %mirror.a = sub i64 %n, %i
  %mirror = sub i64 %mirror.a, 1
  %source = add i64 %from, %mirror
  %target = add i64 %to, %i
  %s = getelementptr i64, ptr %base, i64 %source
  %t = getelementptr i64, ptr %base, i64 %target
  %old = load i64, ptr %s
  %new = add i64 %old, 1
  store i64 %new, ptr %t
  %next = add i64 %i, 1
  br label %head
done:
  ret i32 0
}
"""


@pytest.fixture(scope="module")
def code() -> Mapped:
    found = compile_text(KERNELS.replace("TRIPLE", host().triple), host())
    assert isinstance(found, Code)
    return Mapped(found)


@pytest.fixture(params=[1, 2, 3, 7])
def team(request: pytest.FixtureRequest) -> Iterator[Team]:
    found = Team(request.param)
    found.start()
    yield found
    found.close()


class Job:
    """A table over one piece of memory, ready to run."""

    def __init__(self, code: Mapped, name: str, rows: int, extent: int, chunks: int, flags: int, bad: int = -1) -> None:
        self.memory = np.zeros(2 * extent, np.int64)
        self.params = np.array([[0, 0 if name == "count" else extent, bad] for _ in range(rows)], np.int64)
        if name == "swap":
            self.params[1::2, 2], self.params[::2, 2] = 1, 0
        self.rows = np.zeros(rows, walker.ROW)
        self.rows["function"], self.rows["extent"] = code.address(name), extent
        self.rows["chunks"], self.rows["flags"] = chunks, flags
        self.rows["params"] = self.params.ctypes.data + 24 * np.arange(rows)
        if flags & walker.UNEVEN:
            self.rows["counter"] = np.arange(rows)
        self.bases = np.array([self.memory.ctypes.data], np.uint64)
        self.counters = np.zeros(rows, np.int64)
        uneven = rows if flags & walker.UNEVEN else 0
        self.context = np.array(
            [(self.rows.ctypes.data, rows, self.bases.ctypes.data, self.counters.ctypes.data, uneven, 0)],
            walker.CONTEXT,
        )

    def run(self, team: Team, alone: bool = False) -> int:
        return int(team.runtime.run(team.address, self.context.ctypes.data, alone))


@pytest.mark.parametrize("flags", [walker.BARRIER, walker.BARRIER | walker.UNEVEN])
@pytest.mark.parametrize("extent", [1, 5, 1000])
def test_barriers_order_the_rows(code: Mapped, team: Team, flags: int, extent: int) -> None:
    job = Job(code, "swap", 40, extent, min(extent, 8), flags)
    for call in range(1, 20):
        assert job.run(team) == 0
        assert (job.memory[:extent] == 40 * call).all()


def test_every_item_runs_once(code: Mapped, team: Team) -> None:
    for flags in (0, walker.UNEVEN, walker.BARRIER):
        job = Job(code, "count", 1, 999, 16, flags)
        for call in range(1, 50):
            assert job.run(team, alone=call % 7 == 0) == 0
            assert (job.memory[:999] == call).all()


def test_an_error_keeps_the_barriers(code: Mapped, team: Team) -> None:
    job = Job(code, "count", 30, 64, 8, walker.BARRIER)
    job.params[11, 2] = 40
    for _ in range(50):
        assert job.run(team) == (11 + 1) * 256 + 2
    good = Job(code, "count", 30, 64, 8, walker.BARRIER)
    assert good.run(team) == 0
    assert (good.memory[:64] == 30).all()


def test_concurrent_callers_run_alone(code: Mapped, team: Team) -> None:
    wrong: list[int] = []

    def caller() -> None:
        job = Job(code, "swap", 10, 200, 4, walker.BARRIER)
        for call in range(1, 200):
            if job.run(team) or not (job.memory[:200] == 10 * call).all():
                wrong.append(call)

    threads = [threading.Thread(target=caller) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_sleeping_team_wakes(code: Mapped, team: Team) -> None:
    job = Job(code, "swap", 4, 100, 4, walker.BARRIER)
    for call in range(1, 6):
        time.sleep(0.02)
        assert job.run(team) == 0
        assert (job.memory[:100] == 4 * call).all()


def test_a_closed_team_runs_in_its_caller(code: Mapped) -> None:
    team = Team(3)
    team.start()
    job = Job(code, "swap", 2, 50, 4, walker.BARRIER)
    assert job.run(team) == 0
    team.close()
    team.close()
    assert job.run(team) == 0
    assert (job.memory[:50] == 4).all()
    assert not [t for t in threading.enumerate() if t.name.startswith("ge-cpu") and t in team._workers]


def test_one_processor_for_all_threads(code: Mapped) -> None:
    """Over-subscription: more threads than processors make progress, since nobody spins for long."""
    team, cores = Team(6), os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(cores)})
        team.start()
        job = Job(code, "swap", 100, 64, 6, walker.BARRIER)
        started = time.perf_counter()
        for call in range(1, 11):
            assert job.run(team) == 0
            assert (job.memory[:64] == 100 * call).all()
        assert time.perf_counter() - started < 20
    finally:
        os.sched_setaffinity(0, cores)
        team.close()


PROGRAM = """
import os, signal, sys, threading, time
import numpy as np
from tests.backends.cpu.vehicle import executable
from ge_core.ir import Builder, Graph
from ge_core.plan.states import StateStore

g = Graph(); b = Builder(g)
x = b.input("x", "float32", (64,))
b.outputs(b.Neg(b.Neg(b.Neg(x))))
run = executable(g, num_threads=3)
data = np.arange(64, dtype=np.float32)

def call():
    assert np.array_equal(run.run([data], StateStore())[0], -data)

call()
"""


def ends(body: str) -> subprocess.CompletedProcess[str]:
    """Run a program that has a running team, then this."""
    return subprocess.run(
        [sys.executable, "-c", PROGRAM + textwrap.dedent(body)],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=os.getcwd(),
    )


BUSY = """
def forever():
    while True:
        call()
threading.Thread(target=forever, daemon=True).start()
time.sleep(0.05)
"""


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("", 0),
        ("sys.exit(5)", 5),
        ("os._exit(6)", 6),
        ("raise ValueError", 1),
        ("os.kill(os.getpid(), signal.SIGTERM); time.sleep(5)", -signal.SIGTERM),
        (BUSY, 0),
        (BUSY + "sys.exit(5)", 5),
    ],
)
def test_the_process_ends(body: str, code: int) -> None:
    done = ends(body)
    assert done.returncode == code, done.stderr


def test_forks() -> None:
    done = ends(
        """
        for k in range(8):
            busy = threading.Thread(target=lambda: [call() for _ in range(300)])
            busy.start()
            child = os.fork()
            if child == 0:
                for _ in range(20):
                    call()
                os._exit(0)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            busy.join()
            call()
        print("fine")
        """
    )
    assert done.stdout == "fine\n", done.stderr


def test_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    assert thread_count(3) == 3
    monkeypatch.setenv("GE_NUM_THREADS", "5")
    assert thread_count() == 5
    monkeypatch.delenv("GE_NUM_THREADS")
    assert thread_count() == len(os.sched_getaffinity(0))
    for wrong in (0, -1, "many", 100000):
        with pytest.raises(BackendError, match="num_threads"):
            thread_count(wrong)
