"""Lowers the lists of models for the Ascend targets, writes AIR, checks it, reads it back and runs it.

    python bench/zoo_ascend.py [--list torch] [names ...]   run what has no result yet; a name may be a part of names
    python bench/zoo_ascend.py --left                       name what has no result yet
    python bench/zoo_ascend.py --seconds 200                begin no further model after that time
    python bench/zoo_ascend.py --again                      run all of the list again
    python bench/zoo_ascend.py --half                       compare the predicted error with the framework's own
    python bench/zoo_ascend.py --table                      print the table of the results, in Markdown

No Ascend device and no ATC is involved: latencies are estimates from public figures, errors those of running the
file that was read back, compiled for this machine's processor. Results go to bench/results/zoo_ascend.json at once.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "zoo_ascend.json"
LISTS = ("torch", "tensorflow", "paddle", "mindspore", "onnx")
SECONDS_ALLOWED = 900
TOGETHER = 12
"""Models that one process runs, so that a framework is imported once for all of them."""
TARGETS = {"ascend910b": "must_keep_origin_dtype", "ascend310p": "force_fp16"}
TOLERANCE = 1e-4
LARGE = 0.1
"""A prediction above this is explained by values out of the range of half precision."""
SPREAD = 4.0
"""A result in half precision may lie this many times as far off as rounding predicts, plus the tolerance."""

HALF = ("hf/llama", "hf/gpt2", "hf/distilbert", "timm/mobilenetv3_large_100", "nn/TransformerEncoder")
"""Models whose own half precision on this machine the prediction is held against."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--list", choices=LISTS, default="torch")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--half", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--left", action="store_true")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--rows", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--one-half", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    began = time.monotonic()
    sys.path[:0] = [str(ROOT)]
    if given.table:
        print(table(read_results()))
        return 0
    if given.rows:
        for name in given.rows:
            if time.monotonic() - began > given.seconds:
                break
            print(json.dumps({"name": name, "row": run_model(given.list, name)}), flush=True)
        return 0
    if given.one_half:
        print(json.dumps({"name": given.one_half, "row": run_half(given.one_half)}), flush=True)
        return 0
    if given.half:
        return run_all("torch", [n for n in HALF if _chosen(n, given.names)], "half", "--one-half", given.seconds)
    known = read_results()["models"]
    names = [n for n in listing(given.list) if _chosen(n, given.names)]
    names = [n for n in names if given.again or f"{given.list}:{n}" not in known]
    if given.left:
        print("\n".join(names))
        return 0
    return run_all(given.list, names, "models", "--rows", given.seconds)


def _chosen(name: str, parts: Sequence[str]) -> bool:
    return not parts or any(part in name for part in parts)


def listing(list_name: str) -> list[str]:
    """The names of a list, as its own results have them; a list without results is read."""
    from bench import zoo

    known = list(zoo.read_results(list_name)["models"])
    return known or list(zoo.listing(list_name)["models"])


def run_all(list_name: str, names: Sequence[str], section: str, option: str, seconds: float) -> int:
    """Run models in processes that each take one after another; a process that ends early costs one row."""
    failed = False
    end = time.monotonic() + seconds
    left = list(names)
    while left and time.monotonic() < end:
        together = left[:1] if option == "--one-half" else left[:TOGETHER]
        done: list[str] = []
        for name, row in in_process(list_name, option, together, end - time.monotonic()):
            results = read_results()
            results[section][f"{list_name}:{name}"] = row
            write_results(results)
            failed |= row["status"] == "failed"
            done.append(name)
            print(f"{list_name}:{name}: {row['status']} {row.get('message', '')}".rstrip()[:400], flush=True)
        left = [name for name in left if name not in done]
    return int(failed)


def in_process(
    list_name: str, option: str, names: Sequence[str], seconds: float
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Run models in a process of their own; at least the first of them has a row."""
    command = [sys.executable, str(Path(__file__).resolve()), "--list", list_name, "--seconds", str(seconds)]
    command += [option, *names]
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


def framework_of(list_name: str) -> Any:
    """The framework's side of a list."""
    if list_name == "onnx":
        from bench.framework_onnx import FRAMEWORK

        return FRAMEWORK
    return importlib.import_module(f"bench.framework_{list_name}").FRAMEWORK


def run_model(list_name: str, name: str) -> dict[str, Any]:
    """Lower one model for each target, and run on the CPU what the files say.

    Returns:
        status, and per target: CANN operators, errors and warnings of the checker, bytes of the file, the largest
        error of the round trip against the framework, the error that rounding every stored tensor predicts, seconds of
        lowering and writing, and the estimated milliseconds with what bounds them.
    """
    from bench.zoo import models
    from ge_core.errors import GeError, ModelImportError

    framework = framework_of(list_name)
    framework.prepare()
    try:
        example = framework.example(name) if list_name == "onnx" else models(list_name)[name]()
        return _measured(framework, example)
    except ModelImportError as error:
        refused = framework.refused(name, error.what)
        return {"status": f"refused by {list_name}" if refused else "failed", "message": _told(str(error))}
    except (GeError, AssertionError) as error:
        return {"status": "failed", "message": _told(str(error))}
    except Exception as error:  # noqa: BLE001  a row says what went wrong with its model, whatever it is
        return {"status": "failed", "message": _told(f"{type(error).__name__}: {error}")}


def _measured(framework: Any, example: Any) -> dict[str, Any]:
    import ge_core
    from ge_core.passes.pipeline import optimise

    if framework.name == "torch" and example.values:
        _draw_zeros(example.model)
    graph = ge_core.import_model(
        example.model, example.args, example.kwargs, framework=framework.name, dynamic_shapes=example.shapes
    )
    arrays = [np.array(a, order="C") for a in framework.arrays(example)]
    if not example.values:
        return {"status": "imported; its weights have no values"}
    optimise(graph)
    row: dict[str, Any] = {"status": "ok"}
    results: dict[str, list[Any]] = {}
    for target, mode in TARGETS.items():
        row[target], results[target] = _on_target(graph, target, mode, arrays)
        if row[target].get("problems"):
            return {"status": "not lowered", "message": _told(f"{target}: " + "; ".join(row[target]["problems"]))}
        if row[target]["errors"]:
            said = "; ".join(row[target].pop("said"))
            return row | {"status": "failed", "message": _told(f"checker, {target}: {said}")}
    rounded = _rounded(graph, TARGETS["ascend310p"], arrays)
    # last: a model may write its own buffers, which the graph shares
    if getattr(example, "rounds", False):  # only layers agree with the framework, which the model's own list shows
        expected, row["against"] = _interpreted(graph, arrays), "the graph before it was lowered"
    else:
        expected = framework.call(framework.original(example), example, arrays)
    for target, got in results.items():
        error = _worst(got, expected)
        predicted = _worst(rounded, expected) if target == "ascend310p" else 0.0
        row[target] |= {"error": _figure(error), "predicted": _figure(predicted)}
        if predicted > LARGE:
            row[target]["range"] = _range(graph, arrays) or "sizes or an order depend on values"
        if not error <= TOLERANCE + SPREAD * predicted:
            row |= {"status": "failed", "message": f"{target}: off by {error:.1e}, {predicted:.1e} predicted"}
    return row


def _told(text: str) -> str:
    """A message without the folders of this machine."""
    return re.sub(r"\S*/site-packages/", "", text).replace(f"{ROOT}/", "")[:1000]


def _draw_zeros(model: Any) -> None:
    """Weights that begin as zeros, such as the head of some models, would make every result zero."""
    import torch

    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim >= 2 and weight.is_floating_point() and not weight.any():
                torch.nn.init.normal_(weight, std=0.02)


def _worst(got: Sequence[Any], want: Sequence[Any]) -> float:
    from ge_ascend.predict import difference

    return max((difference(a, b) for a, b in zip(got, want, strict=True)), default=0.0)


def _on_target(graph: Any, target: str, mode: str, arrays: Sequence[Any]) -> tuple[dict[str, Any], list[Any]]:
    """A row for one target, and the results of the file that was read back."""
    from ge_ascend.air import import_air, parse_air, write_air
    from ge_ascend.check import check_air
    from ge_ascend.chips import CHIPS
    from ge_ascend.device import estimate, figures
    from ge_ascend.lower import lower
    from ge_ascend.precision import policy_of

    chip = CHIPS[target]
    started = time.process_time()
    lowered = lower(graph, chip, policy_of(mode, chip))
    if lowered.problems:
        return {"problems": [str(p) for p in lowered.problems[:10]]}, []
    data = write_air(lowered.program, most_inside=1 << 40).data
    row: dict[str, Any] = {
        "operators": sum(op.type not in ("Const", "FileConstant", "Data", "RefData") for op in lowered.program.ops()),
        "seconds": round(time.process_time() - started, 2),
        "bytes": len(data),
    }
    model = parse_air(data)
    findings = check_air(model, chip)
    errors = [f for f in findings if f.severity == "error"]
    row["errors"], row["warnings"] = len(errors), len(findings) - len(errors)
    if errors:
        row["said"] = [str(f) for f in errors[:5]]
    guess = estimate(lowered.program, figures(target), _sizes(graph, arrays))
    row["milliseconds"], row["bound"] = round(1e3 * guess.seconds, 4), guess.bound
    row["activations"] = guess.activations
    return row, [] if errors else _run(import_air(model).graph, arrays)


def _run(graph: Any, arrays: Sequence[Any]) -> list[Any]:
    """The results of a graph on the target cpu, operator by operator: what a file stores is rounded as it says."""
    import ge_core

    compiled = ge_core.compile(graph, target="cpu", optimize="none", options={"share_weights": True})
    return list(compiled.executable.run([np.array(a, order="C") for a in arrays], compiled.session().states, "main"))


def _rounded(graph: Any, mode: str, arrays: Sequence[Any]) -> list[Any]:
    """The results of the float32 graph when every tensor that the mode stores in half precision is rounded to it."""
    from ge_ascend.chips import CHIPS
    from ge_ascend.precision import policy_of
    from ge_ascend.predict import rounded

    return _interpreted(rounded(graph, policy_of(mode, CHIPS["ascend310p"])), arrays)


def _interpreted(graph: Any, arrays: Sequence[Any]) -> list[Any]:
    from ge_core.reference.interpret import interpret

    return list(interpret(graph, [np.array(a) for a in arrays])[0])


def _range(graph: Any, arrays: Sequence[Any]) -> str:
    from ge_ascend.predict import beyond_range

    from ge_core.ir.dtype import float16

    found = beyond_range(graph, [np.array(a) for a in arrays], float16)
    return re.sub(r" at \S*/site-packages/", " at ", found)  # where the packages lie is this machine's affair


def _sizes(graph: Any, arrays: Sequence[Any]) -> dict[str, int]:
    from ge_core.plan.bind import InputBinder

    if not arrays:
        return {}
    binder = InputBinder(graph.inputs)
    values = binder.values([np.shape(a) for a in arrays])
    return {s.name: v for s, v in zip(binder.symbols, values, strict=True)}


def _figure(value: float) -> float:
    return float(f"{value:.2g}")


def run_half(name: str) -> dict[str, Any]:
    """The error of a PyTorch model's own half precision on this machine, beside what is predicted for the chip."""
    import torch
    from ge_ascend.air import import_air, parse_air, write_air
    from ge_ascend.chips import CHIPS
    from ge_ascend.lower import lower
    from ge_ascend.precision import policy_of
    from ge_ascend.predict import difference

    import ge_core
    from bench.zoo import models
    from ge_core.passes.pipeline import optimise

    framework = framework_of("torch")
    framework.prepare()
    example = models("torch")[name]()
    arrays = [np.array(a, order="C") for a in framework.arrays(example)]
    graph = ge_core.import_model(
        example.model, example.args, example.kwargs, framework="torch", dynamic_shapes=example.shapes
    )
    optimise(graph)
    exact = framework.call(framework.original(example), example, arrays)
    row: dict[str, Any] = {"status": "ok"}
    for mode, target, dtype in (
        ("force_fp16", "ascend310p", torch.float16),
        ("mixed_bfloat16", "ascend910b", torch.bfloat16),
    ):
        chip = CHIPS[target]
        program = lower(graph, chip, policy_of(mode, chip)).program
        got = _run(import_air(parse_air(write_air(program).data)).graph, arrays)
        predicted = max(difference(a, b) for a, b in zip(got, exact, strict=True))
        own = _own_half(framework, example, arrays, exact, dtype)
        row[str(dtype).removeprefix("torch.")] = {
            "predicted": _figure(predicted), "framework": _figure(own), "ratio": round(predicted / own, 2),
        }  # fmt: skip
    return row


def _own_half(framework: Any, example: Any, arrays: Sequence[Any], exact: Sequence[Any], dtype: Any) -> float:
    """The framework's own error when the model and its float inputs are converted."""
    import copy

    import torch
    from ge_ascend.predict import difference

    model = copy.deepcopy(example.model).to(dtype)

    def convert(value: Any) -> Any:
        return value.to(dtype) if isinstance(value, torch.Tensor) and value.is_floating_point() else value

    tree = torch.utils._pytree
    with torch.no_grad():
        found = model(*tree.tree_map(convert, list(example.args)), **tree.tree_map(convert, dict(example.kwargs)))
    leaves = [v.float().numpy() if v.is_floating_point() else v.numpy() for v in tree.tree_leaves(_plain(found))]
    return max(difference(a, b) for a, b in zip(leaves, exact, strict=True))


def _plain(value: Any) -> Any:
    """Outputs of transformers as plain containers, without what is no tensor."""
    return {k: v for k, v in value.items() if v is not None} if hasattr(value, "items") else value


def read_results() -> dict[str, Any]:
    """The stored results; empty tables when there are none."""
    found: dict[str, Any] = {"models": {}, "half": {}}
    if RESULTS.exists():
        found |= json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def write_results(results: Mapping[str, Any]) -> None:
    """Write the results, a line for each model, whole or not at all."""
    parts = []
    for section in ("models", "half"):
        rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in sorted(results[section].items()))
        parts.append(f' "{section}": {{\n{rows}\n }}')
    part = RESULTS.with_suffix(".part")
    part.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")
    part.replace(RESULTS)


HEAD = (
    "| model | operators 910B | errors | round trip | est. ms | operators 310P | errors | round trip fp16 | "
    "predicted fp16 | est. ms |\n|---|---|---|---|---|---|---|---|---|---|"
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
    lines = [f"{head}.", "", HEAD, *(_line(name, row) for name, row in rows.items())]
    if results["half"]:
        lines += [
            "",
            "The prediction beside the error of PyTorch's own half precision here:",
            "",
            HALF_HEAD,
        ]
        lines += [_half_line(name, row) for name, row in results["half"].items()]
    return "\n".join(lines)


def _half_line(name: str, row: Mapping[str, Any]) -> str:
    cells = [f"{row[t]['predicted']:.1e} | {row[t]['framework']:.1e} | {row[t]['ratio']}" for t in HALF_TYPES]
    return f"| {name} | {' | '.join(cells)} |"


def _line(name: str, row: Mapping[str, Any]) -> str:
    if row["status"] != "ok":
        why = "" if row["status"].startswith("refused") else f": {row['message'][:160]}" if "message" in row else ""
        return f"| {name} | {row['status']}{why} | | | | | | | | |".replace("\n", " ")
    big, small = row["ascend910b"], row["ascend310p"]
    range_ = small.get("range", "")
    name += f" (against {row['against']})" if "against" in row else ""
    beyond = ", out of range" if range_.startswith("out of") else ", by value" if range_ else ""
    return (
        f"| {name} | {big['operators']} | {big['errors']} | {big['error']:.1e} | {big['milliseconds']:.3g} | "
        f"{small['operators']} | {small['errors']} | {small['error']:.1e} | {small['predicted']:.1e}{beyond} | "
        f"{small['milliseconds']:.3g} |"
    )


if __name__ == "__main__":
    sys.exit(main())
