"""What whole plans need: known models through the passes and the planner.

Each function measures one part of `bench/memory.py`: rows of plain numbers by name. The graphs are planned for a
target with common fused kernels (`bench.fusing_target`). What the PyTorch frontend reads needs torch, timm and
transformers, and weights that take no memory.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Collection
from importlib import import_module
from typing import Any, NamedTuple

from bench.fusing_target import NAME, FusingTarget
from bench.memory_models import llama, randwire, unet
from bench.memory_problems import MIB, Rows
from ge_core.ir import Graph
from ge_core.memory import lower_bound, place
from ge_core.passes.base import SWITCHES, Limits, PassContext
from ge_core.passes.pipeline import optimise
from ge_core.plan.build import PlanRequest, build_plan
from ge_core.plan.placement import Placer
from ge_core.report import memory_report

LLAMA = "LLaMA-2-7B, 2048 tokens, float16"


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


def _planned(graph: Graph, **options: Any) -> dict[str, Any]:
    found = planned(graph, **options)
    return found._asdict() | {"seconds": round(found.seconds, 5)}


def known() -> Rows:
    """Lifetimes: in place, views, concats in their output, fused kernels; graphs built by hand."""
    return {
        "U-Net, 512 x 512, float32": _planned(unet()),
        f"{LLAMA}, all logits": _planned(llama()),
        f"{LLAMA}, last token's logits": _planned(llama(last_logits=True)),
        f"{LLAMA}, float16 scores in memory": _planned(llama(scores="float16"), passes=False),
        f"{LLAMA}, float32 scores in memory": _planned(llama(scores="float32"), passes=False),
    }


def imported() -> Rows:
    """LLaMA-2-7B as transformers has it, through the PyTorch frontend; its weights take no memory."""
    return {
        f"{LLAMA}, all logits": _planned(llama_of_transformers()),
        f"{LLAMA}, last token's logits": _planned(llama_of_transformers(last_logits=True)),
    }


def _ordered(graph: Callable[[], Graph], *, passes: bool) -> dict[str, Any]:
    given = planned(graph(), passes=passes, switches=SWITCHES - {"reorder"})
    found = planned(graph(), passes=passes)
    return {"given": given.peak, "found": found.peak, "bound": found.bound, "seconds": round(found.seconds, 5)}


def graph_orders() -> Rows:
    """Order of operators from whole graphs: RandWire built by hand, the others of timm through the PyTorch frontend."""
    from ge_core.ir.clone import clone_graph

    rows = {
        "RandWire, as built": _ordered(randwire, passes=False),
        "RandWire, optimised": _ordered(randwire, passes=True),
    }
    for name in ("nasnetalarge", "pnasnet5large"):
        graph = _from_timm(name)
        rows[f"{name}, as imported"] = _ordered(lambda g=graph: _canonical(clone_graph(g)), passes=False)  # type: ignore[misc]
        rows[f"{name}, optimised"] = _ordered(lambda g=graph: clone_graph(g), passes=True)  # type: ignore[misc]
    return rows


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


def llama_of_transformers(*, last_logits: bool = False, sequence: int = 2048, layers: int = 32) -> Graph:
    """The LLaMA-2-7B configuration in float16, imported from PyTorch for one prompt of `sequence` tokens."""
    import_module("bench.zoo_torch")
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    import ge_core

    with torch.device("meta"):
        model = LlamaForCausalLM(LlamaConfig(num_hidden_layers=layers)).half()
    tokens = torch.zeros(1, sequence, dtype=torch.int64)
    options = {"use_cache": False, "return_dict": False, "logits_to_keep": int(last_logits)}
    warnings.filterwarnings("ignore")
    return ge_core.import_model(_weightless(model), (tokens,), options)
