"""Times ge's CPU backend against PyTorch, torch.compile, ONNX Runtime and OpenVINO; `make bench` prints the table.

    python bench/cpu_peers.py [names ...]        run the rows that have no result at this commit yet
    python bench/cpu_peers.py --threads 2        with two threads (the results of each number of threads are kept)
    python bench/cpu_peers.py --again            run them again
    python bench/cpu_peers.py --peers a,b        only against these; the others' results stay
    python bench/cpu_peers.py --table            print the results, in Markdown
    python bench/cpu_peers.py --profile NAME     print where ge's time goes
    python bench/cpu_peers.py --throughput 32    ge's own switches against each other, ResNet-50

Every contestant is a process of its own that stands still while it is not its turn. Ge and one peer take turns in
short rounds; of each, the fastest quarter of the rounds counts (the median call of a round), so that other work on
the machine spoils rounds and not results. Between the rounds another process measures what the machine does at best.
At most two models are in memory at a time. Every result is compared with PyTorch in float32 first. Ge's peak of memory
is that of a process that loads the offline model, without PyTorch; a peer's that of its own.

Needs torch, torchvision, transformers and bench/requirements.txt, and g++ for torch.compile. Results are written to
bench/results/cpu_peers.json at once. All rows take about half an hour.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "cpu_peers.json"
WORKER = Path(__file__).with_name("peer_worker.py")
LEAST_ROUNDS, PAIR_SECONDS = 4, 12.0
ROUND_SECONDS = 0.15
THROUGHPUT_ROUNDS = 12
"""Rounds of the throughput table: two columns that run the same plan must not differ by the machine's other work."""
PEERS = ("onnxruntime", "openvino", "torch", "compile", "freezing")
PACKAGES = ("torch", "onnxruntime", "openvino", "numpy", "llvmlite")
HEADINGS = (
    "model", "ge per second", "ge ÷ best peer", "bar", *(f"÷ {kind}" for kind in PEERS), "share of the limit",
    "peak MB: ge, best peer", "compile s: ge, best peer",
)  # fmt: skip
SWITCHES = {
    "none": "ge:select",
    "fusion": "ge:select+fusion+dce+fold",
    "fusion + memory": "ge:select+fusion+dce+fold+memory",
    "all": "ge:default",
}
"""Selection is always on, so that all of them compute with the same kernels."""


class Contestant:
    """A process that holds a built model; it is stopped between its turns."""

    def __init__(self, kind: str, name: str, threads: int, folder: Path) -> None:
        command = [sys.executable, str(WORKER), kind, name, str(threads), str(folder)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment(threads),
        )
        self.built = self._answer()
        self._pause()

    def ask(self, do: str, **more: Any) -> dict[str, Any]:
        """Let the process work on one command."""
        self.process.send_signal(signal.SIGCONT)
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"do": do, **more}) + "\n")
        self.process.stdin.flush()
        answer = self._answer()
        self._pause()
        return answer

    def _pause(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None and self.process.stderr is not None
        for line in self.process.stdout:
            if line.startswith("{"):
                answer: dict[str, Any] = json.loads(line)
                return answer
        raise RuntimeError(self.process.stderr.read().strip()[-2000:] or f"ended with {self.process.wait()}")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def environment(threads: int) -> dict[str, str]:
    fixed = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    return {**os.environ, **fixed, "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads)}


@contextmanager
def contestant(kind: str, name: str, threads: int, folder: Path) -> Iterator[Contestant]:
    found = Contestant(kind, name, threads, folder)
    try:
        yield found
    finally:
        found.close()


class Exports:
    """Folders with the arguments, the expected results and the ONNX file of models, each made once.

    Args:
        root: where they stay for later runs; by default they go when they are no longer needed.
    """

    def __init__(self, root: str | None) -> None:
        self.keep, self.root = bool(root), Path(root or tempfile.mkdtemp(prefix="ge-peers-"))

    def folder(self, name: str) -> Path:
        """The folder of a model."""
        folder = self.root / name
        if not (folder / "model.txt").exists():
            folder.mkdir(parents=True, exist_ok=True)
            subprocess.run(
                [sys.executable, str(WORKER), "prepare", name, str(os.cpu_count()), str(folder)],
                check=True, env=environment(os.cpu_count() or 1), stdout=subprocess.DEVNULL,
            )  # fmt: skip
        return folder

    def drop(self, name: str) -> None:
        """The model is not needed again."""
        if not self.keep:
            shutil.rmtree(self.root / name, ignore_errors=True)

    def close(self) -> None:
        if not self.keep:
            shutil.rmtree(self.root, ignore_errors=True)


def fast(rounds: Sequence[Sequence[float]]) -> float:
    """The median call of a round, over the fastest quarter of the rounds."""
    found = sorted(median(times) for times in rounds)
    return float(sum(found[: (quarter := -(-len(found) // 4))]) / quarter)


def interleaved(
    contestants: Sequence[Contestant], machine: Contestant, rounds: int, least: int = LEAST_ROUNDS
) -> tuple[list[float], dict[str, float]]:
    """Seconds of a call of each, in turns, and the rates of the machine at its best rounds.

    Slow models have fewer rounds, so that a pair takes some seconds, but at least so many.
    """
    times: list[list[list[float]]] = [[] for _ in contestants]
    rates: list[dict[str, float]] = []
    started = time.monotonic()
    for number in range(rounds):
        if number >= least and time.monotonic() > started + PAIR_SECONDS:
            break
        for own, each in zip(times, contestants, strict=True):
            own.append(each.ask("round", seconds=ROUND_SECONDS)["times"])
        rates.append(machine.ask("machine"))
    best = {key: 1 / fast([[1 / rate[key]] for rate in rates]) for key in ("flops", "bytes")}
    return [fast(own) for own in times], best


def run_model(name: str, threads: int, peers: Sequence[str], rounds: int, exports: Exports) -> dict[str, Any]:
    """One row: ge against each peer in turn."""
    from bench.peer_models import model_of

    model = model_of(name)
    row: dict[str, Any] = {"peers": {}}
    folder = exports.folder(model.same or name)
    with (
        contestant("machine", name, threads, folder) as machine,
        contestant("ge", name, threads, folder) as ge,
    ):
        row |= {key: ge.built[key] for key in ("compile", "import_seconds", "host_steps", "error", "peak_build")}
        checked(ge, "ge", model.tolerance)
        shares = []
        for kind in peers:
            if kind in model.without:
                row["peers"][kind] = {"skipped": model.without[kind]}
                print(f"  {name} x{threads} {kind} is skipped: {model.without[kind]}", flush=True)
                continue
            try:
                with contestant(kind, name, threads, folder) as peer:
                    checked(peer, kind, model.tolerance)
                    (ours, theirs), best = interleaved([ge, peer], machine, rounds)
                    found: dict[str, Any] = {"seconds": theirs, "ge_seconds": ours, "ratio": theirs / ours}
                    found |= {key: peer.built[key] for key in ("compile", "error", "peak_build")}
                    found["peak_calls"] = peer.ask("memory")["peak"]
                    shares.append((model.share(ours, best), best))
            except (RuntimeError, ValueError) as failed:
                found = {"failed": str(failed)[-300:]}
            row["peers"][kind] = found
            print(f"  {name} x{threads} {kind}: {json.dumps(found)}", flush=True)
        ge.ask("save")
        with contestant("offline", name, threads, folder) as offline:
            checked(offline, "ge's offline model", model.tolerance)
            row |= {"load": offline.built["compile"], "peak_calls": offline.ask("memory")["peak"]}
    timed = {kind: found for kind, found in row["peers"].items() if "ratio" in found}
    if not timed:
        raise ValueError("no peer ran")
    seconds = min(found["ge_seconds"] for found in timed.values())
    row |= {"seconds": seconds, "bar": model.bar, "throughput": model.items / seconds}
    if model.bound != "none":
        row["share"], row["machine"] = max(shares, key=lambda found: found[0])
    return row


def checked(found: Contestant, kind: str, tolerance: float) -> None:
    if not found.built["error"] <= tolerance:
        raise ValueError(f"{kind} is wrong by {found.built['error']:.1e} of the largest value")


def run_throughput(threads: int, batch: int, rounds: int, exports: Exports) -> dict[str, Any]:
    """Images per second of ResNet-50 with more and more of ge's switches, all in turns."""
    name = f"resnet50-b{batch}"
    folder = exports.folder(name)
    with contestant("machine", name, threads, folder) as machine:
        found = [Contestant(kind, name, threads, folder) for kind in SWITCHES.values()]
        try:
            for each, kind in zip(found, SWITCHES, strict=True):
                checked(each, kind, 1e-4)
            times, _ = interleaved(found, machine, max(rounds, THROUGHPUT_ROUNDS), THROUGHPUT_ROUNDS)
            peaks = [each.ask("memory")["peak"] for each in found]
        finally:
            for each in found:
                each.close()
    return {
        kind: {"images_per_second": batch / seconds, "peak_calls": peak}
        for kind, seconds, peak in zip(SWITCHES, times, peaks, strict=True)
    }


def run_profile(name: str, threads: int, rounds: int, exports: Exports) -> None:
    with contestant("ge", name, threads, exports.folder(name)) as ge:
        steps = ge.ask("profile", rounds=rounds)["steps"]
    total = sum(step[3] for step in steps)
    kinds: dict[tuple[str, str], list[float]] = {}
    for step_name, kind, operator, seconds, gflops, share, gigabytes in sorted(steps, key=lambda s: -s[3])[:60]:
        print(f"{seconds * 1e6:10.1f} us {100 * seconds / total:5.1f} %  {gflops:7.1f} GF/s {gigabytes:6.1f} GB/s "
              f"{100 * share:5.1f} %  {kind:28s} {operator:28s} {step_name}")  # fmt: skip
    for _, kind, operator, seconds, *_ in steps:
        kinds.setdefault((kind, operator), []).append(seconds)
    print(f"{total * 1e3:.3f} ms in {len(steps)} steps")
    for (kind, operator), times in sorted(kinds.items(), key=lambda k: -sum(k[1])):
        print(f"{sum(times) * 1e3:9.3f} ms {100 * sum(times) / total:5.1f} %  {len(times):4d} x {kind} {operator}")


def table(results: Mapping[str, Any]) -> str:
    """The results in Markdown."""
    made = ", ".join(f"{package} {version}" for package, version in results["versions"].items())
    lines = [f"Measured on {results['cores']} cores of {results['cpu']} with {made}."]
    for threads, rows in sorted(results["threads"].items()):
        lines += ["", f"{threads} thread{'s' if threads != '1' else ''}:", ""]
        lines += ["| " + " | ".join(HEADINGS) + " |", "|" + "---|" * len(HEADINGS)]
        lines += [_line(name, row) for name, row in rows.items()]
    for threads, rows in sorted(results.get("throughput", {}).items()):
        lines += ["", f"ResNet-50, batch {results['batch']}, {threads} thread{'s' if threads != '1' else ''}:", ""]
        lines += ["| what is on | images per second | peak MB |", "|---|---|---|"]
        first = next(iter(rows.values()))["images_per_second"]
        for kind, row in rows.items():
            rate = row["images_per_second"]
            gain = "" if rate == first else f" ({100 * (rate / first - 1):+.0f} %)"
            lines.append(f"| {kind} | {rate:.1f}{gain} | {row['peak_calls'] / 1e6:.0f} |")
    return "\n".join(lines)


def _line(name: str, row: Mapping[str, Any]) -> str:
    """A row: ratios of peers that were left out or refuse the model are –."""
    peers = row["peers"]
    best = peers[row["best"]]
    share = f"{100 * row['share']:.0f} %" if "share" in row else "–"
    memory = f"{row['peak_calls'] / 1e6:.0f}, {best['peak_calls'] / 1e6:.0f}"
    cells = [
        name, f"{row['throughput']:.4g}", f"**{row['ratio']:.2f}**", str(row["bar"]),
        *(f"{peers[k]['ratio']:.2f}" if "ratio" in peers.get(k, {}) else "–" for k in PEERS),
        share, memory, f"{row['compile']:.2f}, {best['compile']:.2f}",
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |"


def read_results() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"threads": {}}
    return found


def write_results(results: Mapping[str, Any]) -> None:
    cpu = [
        line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line
    ]
    versions = {"python": platform.python_version(), **{p: metadata.version(p) for p in PACKAGES}}
    RESULTS.write_text(json.dumps({**results, "cpu": cpu[0], "cores": len(cpu), "versions": versions}, indent=1) + "\n")


def current_commit() -> str:
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--keep", help="folder in which exported models are kept")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--dry", action="store_true", help="write no results")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--throughput", type=int, metavar="BATCH")
    given = parser.parse_args(arguments)
    sys.path[:0] = [str(ROOT)]
    if given.table:
        print(table(read_results()))
        return 0
    exports = Exports(given.keep)
    try:
        if given.throughput:
            return measure_throughput(given, exports)
        return measure_models(given, exports)
    finally:
        exports.close()


def measure_throughput(given: argparse.Namespace, exports: Exports) -> int:
    found = run_throughput(given.threads, given.throughput, given.rounds, exports)
    print(json.dumps(found, indent=1))
    results = read_results()
    results.setdefault("throughput", {})[str(given.threads)] = found
    results["batch"] = given.throughput
    if not given.dry:
        write_results(results)
    return 0


def measure_models(given: argparse.Namespace, exports: Exports) -> int:
    """Run the rows, each of which is written at once; 1 when one could not be measured."""
    from bench.peer_models import MODELS, SHORT, model_of

    commit, failed, threads = current_commit(), 0, str(given.threads)
    names = [n for n in (*MODELS, *SHORT) if n in given.names] if given.names else list(MODELS)
    for number, name in enumerate(names):
        if given.profile:
            run_profile(name, given.threads, given.rounds, exports)
            continue
        known = read_results()["threads"].get(threads, {})
        if not given.again and not given.dry and known.get(name, {}).get("commit") == commit:
            continue
        try:
            row = run_model(name, given.threads, given.peers.split(","), given.rounds, exports)
        except (RuntimeError, ValueError, subprocess.SubprocessError) as error:
            print(f"{name}: {error}", flush=True)
            failed += 1
            continue
        finally:
            own = model_of(name).same or name
            if all((model_of(later).same or later) != own for later in names[number + 1 :]):
                exports.drop(own)
        results = read_results()  # another run may have written its rows meanwhile
        known = results["threads"].setdefault(threads, {})
        known[name] = {**merged(row, known.get(name, {}).get("peers", {})), "commit": commit}
        row = known[name]
        results["threads"][threads] = {n: known[n] for n in MODELS if n in known}
        if not given.dry and name in MODELS:
            write_results(results)
        print(f"{name} x{threads}: {row['ratio']:.2f} of {row['best']} (bar {row['bar']}), "
              f"{row['seconds'] * 1e3:.3f} ms, share {row.get('share', 0):.2f}", flush=True)  # fmt: skip
    return 1 if failed else 0


def merged(row: dict[str, Any], old: Mapping[str, Any]) -> dict[str, Any]:
    """A row with the peers of an earlier run that were not asked for in this one, and its best peer."""
    peers = {kind: row["peers"].get(kind, old.get(kind)) for kind in PEERS if kind in {*row["peers"], *old}}
    timed = {kind: found["ratio"] for kind, found in peers.items() if "ratio" in found}
    best = min(timed, key=lambda kind: timed[kind])
    return {**row, "peers": peers, "best": best, "ratio": timed[best]}


if __name__ == "__main__":
    sys.exit(main())
