"""Lowers the lists of models for the Ascend targets, writes AIR, checks it, reads it back and runs it.

    python bench/zoo_ascend.py [--list torch] [names ...]   run what has no result yet; a name may be a part of names
    python bench/zoo_ascend.py --left                       name what has no result yet
    python bench/zoo_ascend.py --seconds 200                begin no further model after that time
    python bench/zoo_ascend.py --again                      run all of the list again
    python bench/zoo_ascend.py --estimates                  only lower and estimate again
    python bench/zoo_ascend.py --bfloat16                   the round trip in bfloat16, for what has none yet
    python bench/zoo_ascend.py --half                       compare the predicted error with the framework's own
    python bench/zoo_ascend.py --table                      print the table of the results, in Markdown

No Ascend device and no ATC is involved: latencies are estimates from public figures, errors those of running the
file that was read back, compiled for this machine's processor. Results go to bench/results/zoo_ascend.json at once.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "zoo_ascend.json"
SECTIONS = ("models", "bfloat16", "half")
LISTS = ("torch", "tensorflow", "paddle", "mindspore", "onnx")
SECONDS_ALLOWED = 900
TOGETHER = 12
"""Models that one process runs, so that a framework is imported once for all of them."""
HALF = ("hf/llama", "hf/gpt2", "hf/distilbert", "timm/mobilenetv3_large_100", "nn/TransformerEncoder")
"""Models whose own half precision on this machine the prediction is held against."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--list", choices=LISTS, default="torch")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--half", action="store_true")
    parser.add_argument("--estimates", action="store_true")
    parser.add_argument("--bfloat16", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--left", action="store_true")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--work", default="models", help=argparse.SUPPRESS)
    parser.add_argument("--rows", nargs="+", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    began = time.monotonic()
    sys.path[:0] = [str(ROOT)]
    if given.table:
        print(table(read_results()))
        return 0
    if given.rows:
        return _print_rows(given.work, given.list, given.rows, began + given.seconds)
    if given.half:
        return run_all("torch", [n for n in HALF if _chosen(n, given.names)], "half", given.seconds)
    work = "estimates" if given.estimates else "bfloat16" if given.bfloat16 else "models"
    results = read_results()
    names = [n for n in listing(given.list) if _chosen(n, given.names)]
    if work != "models":
        names = [n for n in names if results["models"].get(f"{given.list}:{n}", {}).get("status") == "ok"]
    if not (given.again or given.estimates):
        names = [n for n in names if f"{given.list}:{n}" not in results[work]]
    if given.left:
        print("\n".join(names))
        return 0
    return run_all(given.list, names, work, given.seconds)


def _print_rows(work: str, list_name: str, names: Sequence[str], end: float) -> int:
    """Run models one after another in this process, and print their rows for the process that waits."""
    from bench import ascend_rows

    run = {
        "models": ascend_rows.run_model, "estimates": ascend_rows.run_estimate, "bfloat16": ascend_rows.run_bfloat16,
        "half": lambda _, name: ascend_rows.run_half(name),
    }[work]  # fmt: skip
    for name in names:
        print(json.dumps({"name": name, "row": run(list_name, name)}), flush=True)
        if time.monotonic() > end:
            break
    return 0


def _chosen(name: str, parts: Sequence[str]) -> bool:
    return not parts or any(part in name for part in parts)


def listing(list_name: str) -> list[str]:
    """The names of a list, as its own results have them; a list without results is read."""
    from bench import zoo

    known = list(zoo.read_results(list_name)["models"])
    return known or list(zoo.listing(list_name)["models"])


def run_all(list_name: str, names: Sequence[str], work: str, seconds: float) -> int:
    """Run models in processes that each take one after another; a process that ends early costs one row."""
    failed = False
    end = time.monotonic() + seconds
    left = list(names)
    while left and time.monotonic() < end:
        together = left[:1] if work == "half" else left[:TOGETHER]
        done: list[str] = []
        for name, row in in_process(list_name, work, together, end - time.monotonic()):
            with alone():
                results = read_results()
                said = keep(results, work, f"{list_name}:{name}", row)
                write_results(results)
            failed |= row["status"] == "failed"
            done.append(name)
            print(f"{list_name}:{name}: {said}".rstrip()[:400], flush=True)
        left = [name for name in left if name not in done]
    return int(failed)


def keep(results: dict[str, Any], work: str, key: str, row: dict[str, Any]) -> str:
    """Put a row into the results, and say what it is.

    An estimate alone joins the row of the round trip; where the model is lowered otherwise by now, the row says of how
    many operators the file was that was run.
    """
    if work != "estimates":
        results[work][key] = row
        return f"{row['status']} {row.get('message', '')}"
    old = results["models"][key]
    if row["status"] != "ok":
        return f"{row['status']} {row.get('message', '')}"
    said = "estimated"
    for target in (target for target in row if target != "status"):
        before = old.get(target, {})
        run = before.pop("run_operators", before.get("operators"))
        old[target] = before | row[target]
        if "error" in before and run != row[target]["operators"]:
            old[target]["run_operators"] = run
            said = f"estimated with {row[target]['operators']} operators; its round trip had {run}: run it again"
    return said


def in_process(list_name: str, work: str, names: Sequence[str], seconds: float) -> Iterator[tuple[str, dict[str, Any]]]:
    """Run models in a process of their own; at least the first of them has a row."""
    command = [sys.executable, str(Path(__file__).resolve()), "--list", list_name, "--seconds", str(seconds)]
    command += ["--work", work, "--rows", *names]
    env = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    if platform.machine() in ("x86_64", "AMD64"):
        env.setdefault("GE_CPU_ISA", "x86-64-v3")  # compiles in half the time; speed is not what is looked at
    with tempfile.TemporaryFile("w+") as log:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=env)
        clock = threading.Timer(SECONDS_ALLOWED * len(names), child.kill)
        clock.start()
        count = 0
        try:
            assert child.stdout is not None
            for line in child.stdout:
                if line.startswith('{"name"'):
                    found = json.loads(line)
                    count += 1
                    yield found["name"], found["row"]
        finally:
            clock.cancel()
        code = child.wait()
        if count < len(names) and (code or not count):
            log.seek(0)
            last = (log.read().strip().splitlines() or ["no output"])[-1]
            yield names[count], {"status": "failed", "message": f"exit code {code}: {last[:200]}"}


@contextmanager
def alone() -> Iterator[None]:
    """One process at a time changes the results."""
    folder = os.open(RESULTS.parent, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def read_results() -> dict[str, Any]:
    """The stored results; empty tables when there are none."""
    found: dict[str, Any] = {section: {} for section in SECTIONS}
    if RESULTS.exists():
        found |= json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def write_results(results: Mapping[str, Any]) -> None:
    """Write the results, a line for each model, whole or not at all."""
    parts = []
    for section in SECTIONS:
        rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in sorted(results[section].items()))
        parts.append(f' "{section}": {{\n{rows}\n }}')
    part = RESULTS.with_suffix(".part")
    part.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
    part.replace(RESULTS)


HEAD = (
    "| model | operators 910B | errors | round trip | est. ms | round trip bf16 | predicted bf16 | operators 310P | "
    "errors | round trip fp16 | predicted fp16 | est. ms | est. ms 910A | est. ms 910_93 |\n"
    "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
)


HALF_TYPES = ("float16", "bfloat16")
HALF_HEAD = (
    "| model | float16 predicted | PyTorch | ratio | bfloat16 predicted | PyTorch | ratio |\n"
    "|---|---|---|---|---|---|---|"
)  # fmt: skip


def table(results: Mapping[str, Any]) -> str:
    """The results as a Markdown table, after a line that counts them."""
    rows = results["models"]
    good = sum(row["status"] == "ok" for row in rows.values())
    others = Counter(row["status"] for row in rows.values() if row["status"] != "ok")
    head = f"{good} of {len(rows)} models: the file that was read back agrees with the framework"
    head += "".join(f"; {count} {status}" for status, count in sorted(others.items()))
    if results["bfloat16"]:
        near = sum(row["status"] == "ok" for row in results["bfloat16"].values())
        head += f". In bfloat16 {near} of the {len(results['bfloat16'])} that were run are as far off as predicted"
    if any("run_operators" in row.get(target, {}) for row in rows.values() for target in ("ascend910b", "ascend310p")):
        head += (
            ". Operators in brackets are those of the file that was run, where a model is lowered otherwise by now"
            " (MatMulV3 in place of MatMulV2 has the same meaning, and is not told)"
        )
    lines = [f"{head}.", "", *_by_target(results), "", HEAD]
    lines += [_line(name, row, results["bfloat16"].get(name)) for name, row in rows.items()]
    if results["half"]:
        lines += [
            "",
            "The prediction beside the error of PyTorch's own half precision here:",
            "",
            HALF_HEAD,
        ]
        lines += [_half_line(name, row) for name, row in results["half"].items()]
    return "\n".join(lines)


def _by_target(results: Mapping[str, Any]) -> list[str]:
    """One line for each target and mode: how many models, what the checker says, how far off at most."""
    from bench.ascend_rows import BFLOAT16, OTHERS, TARGETS

    lines = [
        "| target | precision mode | lowered | operators | checker errors | run | largest error | as predicted |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for target, mode in (TARGETS | OTHERS).items():
        rows = [row[target] for row in results["models"].values() if target in row and row["status"] == "ok"]
        lines.append(_target_line(target, mode, rows))
    half = [row for row in results["bfloat16"].values() if "error" in row]
    return [*lines, _target_line(*BFLOAT16, half)]


def _target_line(target: str, mode: str, rows: Sequence[Any]) -> str:
    from bench.ascend_rows import SPREAD, TARGETS, TOLERANCE

    run = [row for row in rows if "error" in row]
    near = sum(row["error"] <= TOLERANCE + SPREAD * row["predicted"] for row in run)
    exact = run and mode == TARGETS["ascend910b"]
    return (
        f"| {target} | {mode} | {len(rows)} | {sum(row['operators'] for row in rows)} | "
        f"{sum(row['errors'] for row in rows)} | {len(run) or ''} | "
        f"{max(row['error'] for row in run) if exact else ''} | {near if run else ''} |"
    )


def _half_line(name: str, row: Mapping[str, Any]) -> str:
    cells = [f"{row[t]['predicted']:.1e} | {row[t]['framework']:.1e} | {row[t]['ratio']}" for t in HALF_TYPES]
    return f"| {name} | {' | '.join(cells)} |"


def _line(name: str, row: Mapping[str, Any], bfloat16: Mapping[str, Any] | None) -> str:
    if row["status"] != "ok":
        why = "" if row["status"].startswith("refused") else f": {row['message'][:160]}" if "message" in row else ""
        return f"| {name} | {row['status']}{why} | | | | | | | | | | | | | |".replace("\n", " ")
    big, small = row["ascend910b"], row["ascend310p"]
    range_ = small.get("range", "")
    name += f" (against {row['against']})" if "against" in row else ""
    beyond = ", out of range" if range_.startswith("out of") else ", by value" if range_ else ""
    half = (
        f"{bfloat16['error']:.1e} | {bfloat16['predicted']:.1e}" if bfloat16 and "error" in bfloat16 else "not run | "
    )
    exact, rounded = (_error(target) for target in (big, small))
    return (
        f"| {name} | {big['operators']} | {big['errors']} | {exact} | {big['milliseconds']:.3g} | {half} | "
        f"{small['operators']} | {small['errors']} | {rounded} | {small['predicted']:.1e}{beyond} | "
        f"{small['milliseconds']:.3g} | {_milliseconds(row, 'ascend910a')} | {_milliseconds(row, 'ascend910_93')} |"
    )


def _error(found: Mapping[str, Any]) -> str:
    """The error of a round trip, with the size of the file that was run where the model is lowered otherwise by now."""
    run = f" ({found['run_operators']} operators)" if "run_operators" in found else ""
    return f"{found['error']:.1e}{run}"


def _milliseconds(row: Mapping[str, Any], target: str) -> str:
    return f"{row[target]['milliseconds']:.3g}" if target in row else "not run"


if __name__ == "__main__":
    sys.exit(main())
