"""Prints the three tables of the article on Huawei's graph engine beside our figures.

    python bench/seed_tables.py                 print what bench/results/seed_tables.json holds
    python bench/seed_tables.py --run           measure and estimate again (compile times, memory, estimates)
    python bench/cpu_peers.py --throughput 32   measure the column of this processor

The article's numbers come from a device that we do not have. Ours are: seconds of this machine's processor; estimates
from public figures of the chips, marked as such; bytes of memory plans.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "seed_tables.json"
MEASURED = RESULTS.with_name("cpu_peers.json")
BATCH = 32

STEPS: dict[str, frozenset[str]] = {
    "none": frozenset(),
    "fusion": frozenset({"fusion", "fold", "dce"}),
    "fusion + memory": frozenset({"fusion", "fold", "dce", "memory"}),
    "all": frozenset({"fusion", "memory", "reorder", "dce", "fold", "layout", "select"}),
}
ARTICLE_IMAGES = {"none": 420, "fusion": 580, "fusion + memory": 720, "all": 780}
ARTICLE_SECONDS = {"TorchScript": 125, "default": 18, "aggressive": 42}
ARTICLE_MEMORY = {"without reuse": 4.2, "reuse": 3.2, "pooled": 2.8, "all": 2.5}

_NOTE = (
    "The estimates are upper bounds: every kernel at its unit's peak, in half precision. They know of fusion, and of "
    "memory that is used again: where all live activations fit into the second-level cache, they do not go through "
    "memory. The article names neither its chip nor its precision. The processor is one core, in float32."
)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", action="store_true")
    given = parser.parse_args(arguments)
    sys.path[:0] = [str(ROOT)]
    if given.run:
        _store({"compile": compile_seconds(), "images": estimated_images(), "memory": llama_memory()})
    print(tables(json.loads(RESULTS.read_text(encoding="utf-8"))))
    return 0


def _store(found: dict[str, Any]) -> None:
    old = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    RESULTS.write_text(json.dumps(old | found, indent=1) + "\n", encoding="utf-8")


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    started = time.process_time()
    result = work()
    return result, round(time.process_time() - started, 2)


def compile_seconds() -> dict[str, float]:
    """Processor seconds for the LLaMA-2-7B configuration in float16, 2,048 tokens; its weights take no memory."""
    from ge_ascend.chips import CHIPS
    from ge_ascend.lower import lower
    from ge_ascend.precision import policy_of

    from bench.fusing_target import NAME, FusingTarget
    from bench.memory_models import llama
    from ge_core.passes.base import PassContext
    from ge_core.passes.pipeline import optimise
    from ge_core.plan.build import PlanRequest, build_plan

    row: dict[str, float] = {}
    for name, switches in (("no optimisation", STEPS["none"]), ("default", STEPS["all"])):
        graph = llama()
        _, passes = _timed(lambda g=graph, s=switches: optimise(g, ctx=PassContext(switches=s)))  # type: ignore[misc]
        _, plan = _timed(
            lambda g=graph, s=switches: build_plan(g, PlanRequest(FusingTarget(), NAME, switches=s))  # type: ignore[misc]
        )
        row[f"{name}: passes and plan"] = round(passes + plan, 2)
    chip = CHIPS["ascend910b"]
    graph = llama()
    _, passes = _timed(lambda: optimise(graph))
    _, lowering = _timed(lambda: lower(graph, chip, policy_of(None, chip)))
    row["default: passes and lowering for 910B, before ATC"] = round(passes + lowering, 2)
    return row


def resnet() -> Any:
    """ResNet-50 of torchvision's shape, batch 32, as the frontend imports it: batch normalisation still there."""
    import_module("bench.zoo_torch")  # declares what torchvision's extension would, before timm asks for it
    import timm
    import torch

    import ge_core

    torch.manual_seed(0)
    model = timm.create_model("resnet50", pretrained=False).eval()
    return ge_core.import_model(model, (torch.zeros(BATCH, 3, 224, 224),))


def estimated_images() -> dict[str, dict[str, float]]:
    """Images per second by the roofline, in half precision, at each step of optimisation."""
    from ge_ascend.chips import CHIPS
    from ge_ascend.device import estimate, figures
    from ge_ascend.lower import lower
    from ge_ascend.precision import policy_of

    from ge_core.ir.clone import clone_graph
    from ge_core.passes.base import PassContext
    from ge_core.passes.pipeline import optimise

    source = resnet()
    rows: dict[str, dict[str, float]] = {}
    for target in ("ascend910b", "ascend310p"):
        chip = CHIPS[target]
        for step, switches in STEPS.items():
            graph = clone_graph(source)
            optimise(graph, ctx=PassContext(switches=switches))
            found = lower(graph, chip, policy_of("force_fp16", chip))
            assert not found.problems, found.problems
            guess = estimate(found.program, figures(target), fusion="fusion" in switches, reuse="memory" in switches)
            rows.setdefault(target, {})[step] = round(BATCH / guess.seconds)
    return rows


def llama_memory() -> dict[str, int]:
    """Bytes of activations for LLaMA-2-7B, 2,048 tokens, float16, scores kept in memory as an unfused model does."""
    from bench.memory_models import llama
    from bench.memory_plans import planned

    def graph() -> Any:
        return llama(scores="float16")

    full = planned(graph(), passes=False)
    fixed = planned(graph(), passes=False, switches=STEPS["all"] - {"reorder"})
    fused = planned(llama())
    return {
        "without reuse": full.no_reuse,
        "reuse": fixed.out_of_place,
        "pooled": fixed.peak,
        "all": fused.peak,
        "lower bound": fused.bound,
    }


def tables(found: dict[str, Any]) -> str:
    """The three tables as Markdown."""
    parts = ["LLaMA-2-7B, compile seconds", "", "| | seconds |", "|---|---|"]
    parts += [f"| article: {name} | {seconds} |" for name, seconds in ARTICLE_SECONDS.items()]
    parts += [f"| ours: {name} | {seconds:.1f} |" for name, seconds in found["compile"].items()]
    parts += ["", "Ours begins with the graph: PyTorch's export and its import are a row of the list of models."]
    targets = list(found["images"])
    head = " | ".join(f"ours, {target}, estimated" for target in targets)
    parts += ["", f"ResNet-50, batch {BATCH}, images per second", ""]
    parts += [_NOTE]
    parts += [""]
    parts += [
        f"| | article | {head} | ours, one core of this processor, measured |",
        "|---|---|" + "---|" * (len(targets) + 1),
    ]
    images = json.loads(MEASURED.read_text(encoding="utf-8")).get("throughput", {}).get("1", {})
    for step in STEPS:
        guesses = " | ".join(str(found["images"][target][step]) for target in targets)
        measured = f"{images[step]['images_per_second']:.1f}" if step in images else "not measured"
        parts.append(f"| {step} | {ARTICLE_IMAGES[step]} | {guesses} | {measured} |")
    parts += ["", "LLaMA-2-7B, 2,048 tokens, GB of activations", "", "| | article | ours |", "|---|---|---|"]
    for name, size in found["memory"].items():
        parts.append(f"| {name} | {ARTICLE_MEMORY.get(name, '')} | {size / 1e9:.2f} |")
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
