"""One contestant of `cpu_peers.py` in a process of its own: builds a model, then runs it when it is told to.

    python bench/peer_worker.py CONTESTANT MODEL THREADS FOLDER

FOLDER holds what "prepare" wrote there: arguments and PyTorch's results (call.npz) and the model as ONNX. The
contestant "machine" has no model and tells what the processor and the memory do at best. Commands are lines of JSON
on the standard input, answers lines on the standard output.
"""

from __future__ import annotations

import gc
import json
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)  # not this folder: transformers would take kernels.py for a package of that name
THREADS = int(sys.argv[3]) if __name__ == "__main__" else 1
OFFLINE = "ge.om"
Arrays = list[np.ndarray]
Run = Callable[[], Any]


class Contestant:
    """A built model.

    Attributes:
        run: one call with the arguments that it holds.
        results: arrays of what `run` returned.
        compile: seconds from the framework's model, or the file, to the first call.
        more: what else is told.
    """

    def __init__(self, run: Run, results: Callable[[Any], Arrays], compile: float, **more: Any) -> None:
        self.run, self.results, self.compile, self.more = run, results, compile, more


def stored(folder: Path, prefix: str) -> Arrays:
    with np.load(folder / "call.npz") as found:
        return [found[f"{prefix}{i}"] for i in range(sum(k.startswith(prefix) for k in found.files))]


def flat(results: Any) -> Arrays:
    results = results if isinstance(results, (tuple, list)) else [results]
    return [np.asarray(r) for r in results]


def torch_model(name: str) -> Any:
    import torch

    from bench.peer_models import built

    torch.set_num_threads(THREADS)
    return built(name)


def with_torch(name: str, folder: Path, mode: str) -> Contestant:
    import torch

    model, arguments = torch_model(name)
    started = time.perf_counter()
    if mode != "torch":
        import torch._inductor.config as inductor

        inductor.freezing = mode == "freezing"
        model = torch.compile(model)
    with torch.no_grad():
        model(*arguments)
    seconds = time.perf_counter() - started

    def run() -> Any:
        with torch.no_grad():
            return model(*arguments)

    return Contestant(run, lambda r: flat([t.numpy() for t in (r if isinstance(r, tuple) else (r,))]), seconds)


def with_ge(name: str, folder: Path, mode: str) -> Contestant:
    import ge_core
    from bench.peer_models import model_of

    options: dict[str, Any] = {"num_threads": THREADS}
    optimize, _, cache = mode.partition("/")
    if cache == "cold":
        options["cache"] = False
    model, arguments = torch_model(name)
    given = stored(folder, "in")
    started = time.perf_counter()
    graph = ge_core.import_model(str(model) if isinstance(model, Path) else model, arguments)
    imported = time.perf_counter() - started
    started = time.perf_counter()
    wanted: Any = set(optimize.split("+")) if optimize not in ("default", "none", "max") else optimize
    compiled = ge_core.compile(
        graph, target="cpu", precision=model_of(name).precision, options=options, optimize=wanted
    )  # fmt: skip
    seconds = time.perf_counter() - started
    for thread in threading.enumerate():
        if thread.name == "ge-model-cache":  # writes the model aside: no part of a call
            thread.join()
    del model, arguments, graph
    gc.collect()
    steps = compiled.plan.all_steps() if compiled.plan else ()
    kinds = [type(step).__name__ for step in steps]

    def profile(rounds: int) -> list[Any]:
        runs = [compiled.profile(*given) for _ in range(rounds)]
        best = [min(times, key=lambda t: t.seconds) for times in zip(*runs, strict=True)]
        return [(t.name, t.kind, t.operator, t.seconds, getattr(t, "gflops", 0.0), getattr(t, "share", 0.0),
                 getattr(t, "gigabytes", 0.0)) for t in best]  # fmt: skip

    return Contestant(
        lambda: compiled(*given), flat, seconds, import_seconds=imported, host_steps=kinds.count("HostStep"),
        profile=profile, save=lambda: compiled.save(folder / OFFLINE),
    )  # fmt: skip


def with_offline_model(name: str, folder: Path, mode: str) -> Contestant:
    """What ge saved, in a process that has no PyTorch."""
    import ge_core

    started = time.perf_counter()
    loaded = ge_core.load(folder / OFFLINE, trust=True)
    seconds, given = time.perf_counter() - started, stored(folder, "in")
    return Contestant(lambda: loaded(*given), flat, seconds)


def with_onnxruntime(name: str, folder: Path, mode: str) -> Contestant:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = THREADS, 1
    started = time.perf_counter()
    session = onnxruntime.InferenceSession(onnx_path(name, folder), options, providers=["CPUExecutionProvider"])
    seconds = time.perf_counter() - started
    feeds = dict(zip([i.name for i in session.get_inputs()], stored(folder, "in"), strict=True))
    return Contestant(lambda: session.run(None, feeds), flat, seconds)


def with_openvino(name: str, folder: Path, mode: str) -> Contestant:
    import openvino

    config = {"INFERENCE_NUM_THREADS": THREADS, "INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}
    started = time.perf_counter()
    core = openvino.Core()
    compiled = core.compile_model(core.read_model(onnx_path(name, folder)), "CPU", config)
    seconds = time.perf_counter() - started
    request = compiled.create_infer_request()
    arrays = stored(folder, "in")
    for i, array in enumerate(arrays):
        request.set_input_tensor(i, openvino.Tensor(array, shared_memory=array.ndim > 0))
    outputs = len(compiled.outputs)

    def results(_: Any) -> Arrays:
        return [np.array(request.get_output_tensor(i).data) for i in range(outputs)]

    return Contestant(request.infer, results, seconds, keep=(core, compiled, arrays))


def onnx_path(name: str, folder: Path) -> str:
    path = (folder / "model.txt").read_text().strip()
    return path


CONTESTANTS: dict[str, Callable[[str, Path, str], Contestant]] = {
    "torch": with_torch, "compile": with_torch, "freezing": with_torch, "ge": with_ge,
    "offline": with_offline_model, "onnxruntime": with_onnxruntime, "openvino": with_openvino,
}  # fmt: skip


def prepare(name: str, folder: Path) -> None:
    """Write the arguments, PyTorch's results and the ONNX file."""
    import torch

    model, arguments = torch_model(name)
    path = folder / "model.onnx"
    if isinstance(model, Path):  # there is no torch module: ONNX Runtime's results without its rewrites
        import onnxruntime

        path, options = model, onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(str(path), options)
        names = [i.name for i in session.get_inputs()]
        outputs = session.run(None, {n: a.numpy() for n, a in zip(names, arguments, strict=True)})
    else:
        with torch.no_grad():
            found = model(*arguments)
            outputs = [t.numpy() for t in (found if isinstance(found, tuple) else (found,))]
            torch.onnx.export(model, arguments, str(path), dynamo=True, external_data=True, verbose=False)
    named = {f"in{i}": a.numpy() for i, a in enumerate(arguments)} | {f"out{i}": a for i, a in enumerate(outputs)}
    np.savez(folder / "call.npz", **named)
    (folder / "model.txt").write_text(str(path))


def status(field: str) -> int:
    """A figure of this process in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    return 0


def error(results: Sequence[np.ndarray], expected: Sequence[np.ndarray]) -> float:
    """The largest difference, relative to the largest value of each result."""
    assert len(results) == len(expected), (len(results), len(expected))
    worst = 0.0
    for got, want in zip(results, expected, strict=True):
        assert got.shape == want.shape, (got.shape, want.shape)
        scale = max(float(np.abs(want).max(initial=0)), 1e-30)
        difference = float(np.abs(got.astype(np.float64) - want).max(initial=0)) / scale
        worst = max(worst, difference if difference == difference else float("inf"))
    return worst


def timed(run: Run, seconds: float) -> list[float]:
    """Times of calls, for so long but at least one; very short calls are timed many at once.

    With one thread it is the time that the process had a processor, so that others do not count.
    """
    clock = time.process_time if THREADS == 1 else time.perf_counter
    begun = time.perf_counter()
    started = clock()
    run()
    first = clock() - started
    batch = max(1, min(1000, int(0.002 / max(first, 1e-7))))
    times = [first] if batch == 1 else []
    while not times or time.perf_counter() < begun + seconds:
        started = clock()
        for _ in range(batch):
            run()
        times.append((clock() - started) / batch)
    return times


class Machine:
    """What as many threads do at best: multiply-adds in registers and reads from memory, measured again and again."""

    def __init__(self) -> None:
        from ge_backend_cpu.isa import host
        from ge_backend_cpu.probe import works

        self.works = [works(host()) for _ in range(THREADS)]

    def rates(self) -> dict[str, float]:
        """Operations and bytes per second now."""
        return {"flops": self._together(0), "bytes": self._together(2)}

    def _together(self, number: int) -> float:
        rates: list[float] = []

        def measure(call: Run, amount: float) -> None:
            rates.append(amount / min(timed(call, 0.02)))

        threads = [Thread(target=measure, args=works[number]) for works in self.works]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sum(rates)


def main() -> int:
    contestant, name, _, where = sys.argv[1:5]
    folder = Path(where)
    if contestant == "prepare":
        prepare(name, folder)
        return 0
    if contestant == "machine":
        machine = Machine()
        print("{}", flush=True)
        for _ in sys.stdin:
            print(json.dumps(machine.rates()), flush=True)
        return 0
    kind, _, mode = contestant.partition(":")
    before = status("VmRSS")
    built = CONTESTANTS[kind](name, folder, mode or ("default" if kind == "ge" else kind))
    expected = stored(folder, "out")
    answer: dict[str, Any] = {"compile": built.compile, "error": error(built.results(built.run()), expected)}
    answer["peak_build"] = status("VmHWM") - before
    del expected
    for key in ("import_seconds", "host_steps"):
        if key in built.more:
            answer[key] = built.more[key]
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins again
    print(json.dumps(answer), flush=True)
    for line in sys.stdin:
        command = json.loads(line)
        if command["do"] == "round":
            answer = {"times": timed(built.run, command["seconds"])}
        elif command["do"] == "profile":
            answer = {"steps": built.more["profile"](command["rounds"])}
        elif command["do"] == "save":
            built.more["save"]()
            answer = {}
        elif command["do"] == "memory":
            answer = {"peak": status("VmHWM")}
        print(json.dumps(answer), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
