"""What whole plans need: known models through the passes and the planner; `python bench/memory.py` prints them too.

    python bench/memory_plans.py [--imported]

Three tables from graphs built by hand, planned for a target with common fused kernels (`bench.fusing_target`); with
`--imported` also models that the PyTorch frontend reads (needs torch, timm and transformers; their weights take no
memory); and the results of the zoo, where it has run.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Collection
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]

from bench.fusing_target import NAME, FusingTarget  # noqa: E402
from bench.memory_models import llama, randwire, simple_net, unet  # noqa: E402
from ge_core.ir import Graph  # noqa: E402
from ge_core.memory import lower_bound, place  # noqa: E402
from ge_core.passes.base import SWITCHES, Limits, PassContext  # noqa: E402
from ge_core.passes.pipeline import optimise  # noqa: E402
from ge_core.plan.build import PlanRequest, build_plan  # noqa: E402
from ge_core.plan.placement import Placer  # noqa: E402
from ge_core.report import memory_report  # noqa: E402

MIB = 1 << 20
Section = tuple[str, Callable[[], None]]


class Planned(NamedTuple):
    """Bytes of one plan.

    Attributes:
        peak: arena and outputs that are live at once, in one arena.
        out_of_place: the same without steps in place.
        bound: the lower bound of `peak`.
        no_reuse: all results of all steps.
        seconds: processor time of planning.
    """

    arena: int
    peak: int
    out_of_place: int
    bound: int
    no_reuse: int
    seconds: float


def planned(graph: Graph, *, passes: bool = True, switches: Collection[str] = SWITCHES) -> Planned:
    """Plan a graph for the fusing target; the graph is changed.

    Args:
        passes: run the core passes before. Small tables may be folded.
    """
    if passes:
        optimise(graph, ctx=PassContext(limits=Limits(fold_growth=4 * MIB)))
    started = time.process_time()
    plan, report = build_plan(graph, PlanRequest(FusingTarget(), NAME, switches=switches))
    seconds = time.process_time() - started
    assert plan.memory is not None
    whole = Placer(plan).compound([], outputs=True)
    return Planned(
        plan.memory.size,
        place(whole).size,
        report.tried.get("no step in place", 0),
        lower_bound(whole),
        memory_report(plan, report.tried).no_reuse,
        seconds,
    )


def _mib(size: int) -> str:
    return f"{size / MIB:.2f}".rstrip("0").rstrip(".")


def _row(name: str, found: Planned) -> None:
    saved = 100 * (1 - found.peak / found.no_reuse)
    print(
        f"| {name} | {_mib(found.no_reuse)} | {_mib(found.out_of_place)} | {_mib(found.arena)} | {_mib(found.peak)} "
        f"| {found.peak / found.bound:.3f} | {saved:.1f} |",
        flush=True,
    )


def _head() -> None:
    print("| model | no reuse MiB | arena, nothing in place | arena | with outputs | of the bound | saved % |")
    print("|---|---|---|---|---|---|---|")


def models() -> None:
    """Lifetimes: in place, views, concats in their output, fused kernels."""
    _head()
    _row("U-Net, 512 x 512, batch 1, float32", planned(unet()))
    name = "LLaMA-2-7B, 2048 tokens, float16"
    _row(f"{name}, all logits", planned(llama()))
    _row(f"{name}, last token's logits", planned(llama(last_logits=True)))
    for scores in ("float16", "float32"):
        _row(f"{name}, {scores} scores in memory, all logits", planned(llama(scores=scores), passes=False))
    _row("LayerNorm, ReLU, Linear: 1024 x 4096, float32", planned(simple_net()))


def _order_row(name: str, graph: Callable[[], Graph], *, passes: bool) -> None:
    given = planned(graph(), passes=passes, switches=SWITCHES - {"reorder"})
    found = planned(graph(), passes=passes)
    print(
        f"| {name} | {_mib(given.peak)} | {_mib(found.peak)} | {found.peak / found.bound:.3f} "
        f"| {100 * (1 - found.peak / given.peak):.1f} | {found.seconds:.2f} |",
        flush=True,
    )


def _order_head() -> None:
    print("| network | order given MiB | order found MiB | of the bound | saved % | s |")
    print("|---|---|---|---|---|---|")


def orders() -> None:
    """Order of operators from whole graphs."""
    _order_head()
    _order_row("RandWire, as built", randwire, passes=False)
    _order_row("RandWire, optimised", randwire, passes=True)


def imported() -> None:
    """The same from PyTorch, through the frontend."""
    from ge_core.ir.clone import clone_graph

    warnings.filterwarnings("ignore")
    _order_head()
    for name in ("nasnetalarge", "pnasnet5large"):
        graph = _from_timm(name)
        _order_row(f"{name}, as imported", lambda g=graph: _canonical(clone_graph(g)), passes=False)  # type: ignore[misc]
        _order_row(f"{name}, optimised", lambda g=graph: clone_graph(g), passes=True)  # type: ignore[misc]
    print()
    _head()
    _row("LLaMA-2-7B of transformers, 2048 tokens, float16, all logits", planned(_from_transformers()))


def _canonical(graph: Graph) -> Graph:
    """Nothing but the canonical form, so that operators are those of the original."""
    optimise(graph, ctx=PassContext(switches=frozenset()))
    return graph


def _weightless(model: Any) -> Any:
    """Give a model that was made on torch's meta device weights that take no memory: one number each, repeated."""
    import torch

    for number, (name, tensor) in enumerate([*model.named_parameters(), *model.named_buffers()], 1):
        owner, _, key = name.rpartition(".")
        module = model.get_submodule(owner)
        value = torch.tensor(float(number)).to(tensor.dtype).expand(tensor.shape)
        if key in module._buffers:
            module._buffers[key] = value
        else:
            setattr(module, key, torch.nn.Parameter(value, requires_grad=False))
    return model.eval()


def _from_timm(name: str) -> Graph:
    import_module("bench.zoo_torch")  # declares what torchvision's extension would, before timm asks for it
    import timm
    import torch

    import ge_core

    with torch.device("meta"):
        model = timm.create_model(name)
    return ge_core.import_model(_weightless(model), (torch.zeros(1, 3, 331, 331),))


def _from_transformers() -> Graph:
    import_module("bench.zoo_torch")
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    import ge_core

    with torch.device("meta"):
        model = LlamaForCausalLM(LlamaConfig()).half()
    tokens = torch.zeros(1, 2048, dtype=torch.int64)
    return ge_core.import_model(_weightless(model), (tokens,), {"use_cache": False, "return_dict": False})


def torch_list() -> None:
    """Arenas of the zoo's models on the reference target."""
    results = ROOT / "bench" / "results" / "zoo_torch.json"
    rows = json.loads(results.read_text(encoding="utf-8"))["models"] if results.is_file() else {}
    ran = {name: row for name, row in rows.items() if row.get("lower_bound")}
    above = {name: row for name, row in ran.items() if row["arena"] > row["lower_bound"]}
    print(f"{len(ran)} models of the list of PyTorch models were planned; {len(above)} are above their lower bound.")
    for name, row in above.items():
        print(f"- {name}: {row['arena'] / row['lower_bound']:.4f}")


SECTIONS: list[Section] = [
    ("Plans of known models", models),
    ("Order of operators, from whole graphs", orders),
    ("The list of PyTorch models", torch_list),
]
IMPORTED: Section = ("Models imported from PyTorch", imported)

if __name__ == "__main__":
    for title, part in [*SECTIONS, *([IMPORTED] if "--imported" in sys.argv[1:] else [])]:
        print(f"\n## {title}\n")
        part()
