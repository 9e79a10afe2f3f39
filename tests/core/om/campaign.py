"""Opens damaged and hostile offline models by the thousand: each must end in a GeError, soon and in little memory.

Five valid files are changed in many ways: as bytes, where the checksums must find it, and field by field with the
checksums put right again, where the readers must. A changed file may also turn out to be a valid one; nothing else may
happen. Changes are numbered: a number stands for the same file on every machine.

Each change is opened in a worker process that may take two seconds and one GiB for it.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import resource
import signal
import struct
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

import ge_core
from ge_core.cli.arguments import example_array
from ge_core.errors import GeError
from ge_core.ir import Builder, Graph, Value, symbol
from ge_core.ir.constant import Constant
from ge_core.ir.dtype import DType
from ge_core.model_description import describe_file
from ge_core.om import PartitionType, parse, read_container, serialize, write_container
from ge_core.om.attributes import encode_map
from tests.core.om.messages_changed import NUMBERS, TEXTS, changed_fields

SECONDS = 2.0
BYTES = 1 << 30
SEAL = ("ge.pad", "ge.sha256")


# --- five valid files -----------------------------------------------------------------------------------------------


def vision() -> Graph:
    graph = Graph("vision")
    b = Builder(graph)
    rng = np.random.default_rng(0)
    x = b.input("image", "float32", (symbol("batch", 1, 16), 3, 8, 8))
    for width in (4, 8):
        weight = rng.standard_normal((width, int(x.shape[1]), 3, 3)).astype(np.float32)  # type: ignore[arg-type]
        x = b.Relu(b.Conv(x, weight, np.zeros(width, np.float32), pads=[1, 1, 1, 1], strides=[2, 2]))
    flat = b.Reshape(x, b.ints(0, -1))
    b.outputs(b.Softmax(b.MatMul(flat, rng.standard_normal((32, 5)).astype(np.float32))))
    return graph


def control() -> Graph:
    graph = Graph("control")
    b = Builder(graph)
    n = symbol("n", 1)
    x, flag = b.input("x", "float32", (n, 4)), b.input("flag", "bool", ())
    total = b.state("total", np.zeros((1, 4), np.float32))

    def body(r: Builder, i: Value, go: Value, s: Value) -> list[Value]:
        s = r.If(flag, then_branch=lambda t: [t.Tanh(s)], else_branch=lambda t: [t.Add(s, x)])
        return [r.Less(r.ReduceSum(s, keepdims=0), 99.0), s, r.ReduceMax(s, np.array([0]))]

    last, tops = b.Loop(np.int64(3), np.array(True), [x], body=body)
    after, rows = b.Scan(total.read, last, num_scan_inputs=1,
                         body=lambda r, s, row: [r.Add(s, row), r.Exp(row)])  # fmt: skip
    graph.set_state_write(total, after)
    found = b.Squeeze(b.NonZero(b.Greater(b.ReduceSum(rows, b.ints(1), keepdims=0), 1.0)), b.ints(0))
    b.outputs(b.Gather(rows, found), tops, after)
    return graph


def kinds() -> Graph:
    graph = Graph("kinds")
    b = Builder(graph)
    x = b.input("x", "float32", (4, 6))
    small = Constant.of(np.array([[1, -2, 3, 0, 5, -6]], DType.of("int4").numpy), DType.of("int4"))
    half = b.Cast(b.constant(np.arange(6, dtype=np.float32)), to="bfloat16")
    y = b.Mul(b.Cast(b.constant(small), to="float32"), x)
    scale, zero = np.array(0.1, np.float32), np.array(3, np.uint8)
    scaled = b.DequantizeLinear(b.QuantizeLinear(y, scale, zero), scale, zero)
    parts = b.SplitToSequence(b.Add(scaled, b.Cast(half, to="float32")), axis=0)
    words = b.constant(Constant.of(np.array(["one", "zwei", "三"], object), DType.of("string")))
    b.outputs(b.SequenceAt(parts, np.int64(1)), b.Identity(words), b.Cast(y, to="float16"))
    return graph


def entries() -> ge_core.CompiledModel:
    weight = np.random.default_rng(1).standard_normal((8, 8)).astype(np.float32)
    prefill, decode = Graph("prefill"), Graph("decode")
    for graph, rows in ((prefill, symbol("rows", 1)), (decode, 1)):
        b = Builder(graph)
        cache = b.state("cache", np.zeros((1, 8), np.float32))
        h = b.MatMul(b.input("h", "float32", (rows, 8)), weight)
        after = b.Add(cache.read, b.ReduceSum(h, b.ints(0)))
        graph.set_state_write(cache, after)
        b.outputs(b.Add(h, after))
    specs = {"prefill": ge_core.EntrySpec(prefill), "decode": ge_core.EntrySpec(decode)}
    return ge_core.compile_entries(specs, target="reference")


def with_plan() -> ge_core.CompiledModel:
    """As native targets write them: with plans, and with named binaries."""
    model = ge_core.compile(control(), target="reference")
    model.artifact.store_plans = True
    model.artifact.items["kernels/none"] = bytes(range(200))
    return model


def originals(folder: Path) -> list[bytes]:
    """The five files."""
    models = [
        ge_core.compile(vision(), target="reference", options={"gears": {"batch": [1, 8]}}),
        ge_core.compile(control(), target="reference"),
        ge_core.compile(kinds(), target="reference"),
        entries(),
        with_plan(),
    ]
    for i, model in enumerate(models):
        model.save(folder / f"original{i}.om")
    return [(folder / f"original{i}.om").read_bytes() for i in range(len(models))]


# --- changes --------------------------------------------------------------------------------------------------------

Change = Callable[[bytes, random.Random], bytes]


def cut(data: bytes, choose: random.Random) -> bytes:
    return data[: choose.randrange(len(data))]


def flipped(data: bytes, choose: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(choose.choice([1, 1, 2, 8])):
        changed[choose.randrange(len(data))] ^= 1 << choose.randrange(8)
    return bytes(changed)


def overwritten(data: bytes, choose: random.Random) -> bytes:
    at, size = choose.randrange(len(data)), choose.choice([1, 4, 8, 64, 512])
    filling = choose.choice([b"\0", b"\xff", b"\x7f", choose.randbytes(1)])
    return data[:at] + (filling * size)[: len(data) - at] + data[at + size :]


def shifted(data: bytes, choose: random.Random) -> bytes:
    at, size = choose.randrange(len(data)), choose.choice([1, 3, 8, 100])
    return data[:at] + choose.randbytes(size) + data[at:] if choose.random() < 0.5 else data[:at] + data[at + size :]


def doubled(data: bytes, choose: random.Random) -> bytes:
    """A piece of the file copied over another place."""
    source, target, size = (choose.randrange(len(data)) for _ in range(3))
    piece = data[source : source + min(size, 2000)]
    return data[:target] + piece + data[target + len(piece) :]


def numbers(data: bytes, choose: random.Random) -> bytes:
    """Hostile numbers in the header and the partition table."""
    changed = bytearray(data)
    for _ in range(choose.choice([1, 1, 2, 4])):
        wide = choose.random() < 0.5
        at = choose.randrange(0, 256 + 8 + 24 * 5 - 8, 4)
        number = choose.choice(NUMBERS) & (2**64 - 1 if wide else 2**32 - 1)
        struct.pack_into("<Q" if wide else "<I", changed, at, number)
    return bytes(changed)


def resealed(data: bytes, act: Callable[[dict[PartitionType, bytes]], None]) -> bytes:
    """The file with changed partitions and checksums that fit."""
    container = read_container(data)
    partitions = {p.type: bytes(p.data) for p in container.groups[0].partitions}
    model = parse("ModelDef", partitions[PartitionType.MODEL_DEF])
    for name in SEAL:
        del model.attr[name]
    partitions[PartitionType.MODEL_DEF] = serialize(model)
    act(partitions)
    file = BytesIO()
    write_container(file, partitions, container.header)
    return file.getvalue()


def model_fields(data: bytes, choose: random.Random) -> bytes:
    """Fields of MODEL_DEF: operators, edges, shapes, attributes, symbols, regions."""

    def act(partitions: dict[PartitionType, bytes]) -> None:
        model = parse("ModelDef", partitions[PartitionType.MODEL_DEF])
        changed_fields(model, choose, choose.choice([1, 1, 1, 2, 4]))
        partitions[PartitionType.MODEL_DEF] = serialize(model)

    return resealed(data, act)


def partition_bytes(data: bytes, choose: random.Random) -> bytes:
    """Any partition as bytes, the checksums put right."""

    def act(partitions: dict[PartitionType, bytes]) -> None:
        kind = choose.choice(sorted(partitions))
        change = choose.choice([cut, flipped, overwritten, shifted, doubled])
        partitions[kind] = change(partitions[kind], choose) if partitions[kind] else b"\0"
        if not partitions[PartitionType.MODEL_DEF]:
            partitions[PartitionType.MODEL_DEF] = b"\0"

    return resealed(data, act)


def metadata(data: bytes, choose: random.Random) -> bytes:
    """The JSON that tells target, signatures, plans, report."""

    def act(partitions: dict[PartitionType, bytes]) -> None:
        model = parse("ModelDef", partitions[PartitionType.MODEL_DEF])
        tree = json.loads(model.attr["ge.metadata"].s)
        for _ in range(choose.choice([1, 1, 2, 4])):
            _change_tree(tree, choose)
        encode_map(model.attr, {"ge.metadata": json.dumps(tree)})
        partitions[PartitionType.MODEL_DEF] = serialize(model)

    return resealed(data, act)


def _change_tree(tree: Any, choose: random.Random) -> None:
    """Change one place of JSON data, deep places as likely as shallow ones."""
    places: list[tuple[Any, Any]] = []
    stack = [tree]
    while stack:
        node = stack.pop()
        for key in range(len(node)) if isinstance(node, list) else list(node):
            places.append((node, key))
            if isinstance(node[key], (list, dict)):
                stack.append(node[key])
    if not places:
        return
    node, key = choose.choice(places)
    act = choose.choice(["set", "set", "set", "drop", "nest", "copy"])
    if act == "drop":
        del node[key]
    elif act == "nest":
        node[key] = [node[key]]
    elif act == "copy":
        other, place = choose.choice(places)
        try:
            node[key] = json.loads(json.dumps(other[place]))
        except (IndexError, KeyError):
            node[key] = None
    else:
        node[key] = choose.choice([*NUMBERS, *TEXTS, None, True, 0.5, [], {}, "reference", -1, 10**40])


BYTEWISE: tuple[Change, ...] = (cut, flipped, overwritten, shifted, doubled, numbers)
FIELDWISE: tuple[Change, ...] = (model_fields, model_fields, model_fields, metadata, metadata, partition_bytes)


def changed(files: list[bytes], number: int) -> tuple[str, bytes, bool]:
    """(name, bytes, whether the checksums must find it) of one change."""
    choose = random.Random(number)
    data = files[number % len(files)]
    bytewise = number // len(files) % 3 == 0
    change = choose.choice(BYTEWISE if bytewise else FIELDWISE)
    while (result := change(data, choose)) == data:
        pass
    return change.__name__, result, bytewise


# --- opening --------------------------------------------------------------------------------------------------------


class TooSlow(BaseException):
    """Two seconds are over; no `except Exception` may swallow it."""


def outcome(path: Path) -> str:
    """Open a file in every way and run it: "error" for a GeError, "valid" when it gives what its graphs say."""
    try:
        describe_file(path, verify_weights=True).summary()
        ge_core.load(path, trust=True)
        found = answers(ge_core.load(path))
        wanted = answers(ge_core.load(path, target="reference", rebuild=True))
    except GeError as error:
        str(error)
        return "error"
    return "valid" if _equal(found, wanted) else f"wrong: {found} instead of {wanted}"[:300]


def answers(model: ge_core.CompiledModel) -> list[Any]:
    """The results of each entry in a session of its own, for data that is the same for equal signatures."""
    found: list[Any] = []
    for name, entry in model.entries.items():
        given = [example_array(spec, {}, number) for number, spec in enumerate(entry.inputs)]
        found += model.executable.run(given, model.session().states, name)
    return found


def _equal(a: Any, b: Any) -> bool:
    """Equal to the bit, sequences item by item."""
    if isinstance(a, list) or isinstance(b, list):
        return type(a) is type(b) and len(a) == len(b) and all(map(_equal, a, b))
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return a.tolist() == b.tolist() if a.dtype.hasobject else a.tobytes() == b.tobytes()


@dataclass
class Tally:
    """What came out of some changes.

    Attributes:
        counts: by change and outcome.
        failures: number, change, and what happened instead.
        slowest: seconds of the slowest one.
        memory: the most resident bytes of a worker beyond its start.
    """

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: list[tuple[int, str, str]] = field(default_factory=list)
    slowest: float = 0.0
    memory: int = 0

    def add(self, other: Tally) -> None:
        self.counts += other.counts
        self.failures += other.failures
        self.slowest, self.memory = max(self.slowest, other.slowest), max(self.memory, other.memory)

    def errors(self) -> int:
        return sum(n for (_, found), n in self.counts.items() if found == "error")


def attempt(files: list[bytes], number: int, path: Path, tally: Tally) -> None:
    """One change, under the clock."""
    name, data, must_fail = changed(files, number)
    path.write_bytes(data)

    def stop(*_: object) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, stop)
    started = time.process_time()
    signal.setitimer(signal.ITIMER_REAL, 10 * SECONDS)  # other processes may have the processor; judged below
    try:
        found = outcome(path)
    except TooSlow:
        found = "endless"
    except MemoryError:
        found = "too much memory"
    except BaseException as error:  # noqa: BLE001  anything that is no GeError is what the campaign looks for
        found = f"{type(error).__name__}: {error}"[:200]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    seconds = time.process_time() - started
    tally.slowest = max(tally.slowest, seconds)
    if seconds > SECONDS:
        found = f"took {seconds:.1f} s"
    if found == "valid" and must_fail:
        found = "not found by the checksums"
    tally.counts[name, found if found in ("error", "valid") else "FAILED"] += 1
    if found not in ("error", "valid"):
        tally.failures.append((number, name, found))


def _work(files: list[bytes], numbers: range, folder: str, results: Any) -> None:
    path = Path(folder) / f"changed{os.getpid()}.om"
    path.write_bytes(files[0])
    outcome(path)  # everything that is loaded once is loaded
    started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + BYTES, mapped + BYTES))
    tally = Tally()
    for number in numbers:
        results.put(number)
        attempt(files, number, path, tally)
    tally.memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10) - started
    path.unlink()
    results.put(tally)


def in_worker(files: list[bytes], numbers: range, folder: Path) -> Tally:
    """Try changes in a process of its own; one that kills it, or hangs where no signal helps, is a failure."""
    tally, left = Tally(), numbers
    context = multiprocessing.get_context("fork")
    while len(left):
        results = context.Queue()
        worker = context.Process(target=_work, args=(files, left, os.fspath(folder), results))
        worker.start()
        last, done = left[0] - 1, False
        quiet_since = time.monotonic()
        while not done:
            try:
                told = results.get(timeout=1)
            except Exception:  # noqa: BLE001  queue.Empty, and what a killed writer leaves in a pipe
                if worker.is_alive() and time.monotonic() - quiet_since < 60:
                    continue
                break
            quiet_since = time.monotonic()
            if isinstance(told, Tally):
                tally.add(told)
                done = True
            else:
                last = told
        worker.kill()
        worker.join()
        if not done:
            tally.failures.append((last, changed(files, last)[0], f"killed its process ({worker.exitcode})"))
        left = range(numbers.stop if done else last + 1, numbers.stop)
    return tally
