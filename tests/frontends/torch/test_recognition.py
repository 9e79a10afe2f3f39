"""What transformers hands over open-coded is recognised by the core passes, at every size of the dynamic dims."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from ge_core.ir.graph import Graph
from ge_core.ir.verifier import verify
from ge_core.passes import optimise
from ge_core.reference.interpret import interpret
from ge_frontend_torch.importer import import_model

SMALL = {
    "vocab_size": 100, "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "max_position_embeddings": 64,
}  # fmt: skip


@pytest.fixture(scope="module")
def transformers() -> Iterator[Any]:
    """transformers without torchvision, whose extension needs another torch build."""
    missing = "torchvision" not in sys.modules
    if missing:
        sys.modules["torchvision"] = None  # type: ignore[assignment]
    yield pytest.importorskip("transformers")
    if missing:
        del sys.modules["torchvision"]


class Logits(torch.nn.Module):
    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.model(ids, use_cache=False).logits
        return logits


def optimised(model: torch.nn.Module) -> Graph:
    """Import with dynamic batch and length, optimise, compare with torch at three sizes."""
    torch.manual_seed(0)
    with torch.no_grad():
        for p in model.parameters():
            p.add_(torch.randn_like(p) * 0.1)
    wrapped = Logits(model).eval()
    example = torch.randint(0, 100, (2, 8))
    dims = {0: torch.export.Dim("batch", min=1, max=8), 1: torch.export.Dim("length", min=2, max=32)}
    graph = import_model(wrapped, (example,), dynamic_shapes=(dims,)).graph
    optimise(graph)
    verify(graph)
    for shape in ((2, 8), (1, 2), (3, 17)):
        ids = torch.randint(0, 100, shape)
        with torch.no_grad():
            want = wrapped(ids).numpy()
        got = interpret(graph, [ids.numpy()])[0][0]
        assert np.abs(got - want).max() <= 1e-4 * np.abs(want).max()
    return graph


def test_llama(transformers: Any) -> None:
    config = transformers.LlamaConfig(**SMALL)
    graph = optimised(transformers.LlamaForCausalLM(config))
    count = Counter(node.op for node in graph.nodes)
    assert count["RMSNormalization"] == 5 and count["RotaryEmbedding"] == 4 and count["SwiGLU"] == 2
    attention = [node for node in graph.nodes if node.op == "Attention"]
    assert len(attention) == 2
    for node in attention:
        q, k, v, *mask = node.inputs
        assert q is not None and k is not None and (q.shape[1], k.shape[1]) == (4, 2), "key heads are shared"
        assert node.attrs["is_causal"] == 1 and not any(mask), "the mask is causality alone"
    assert not count["GatherND"] and not count["CumSum"] and not count["Softmax"]


def test_gemma2_with_soft_caps_and_a_sliding_window(transformers: Any) -> None:
    config = transformers.Gemma2Config(**SMALL, head_dim=16, sliding_window=4, attn_implementation="eager")
    graph = optimised(transformers.Gemma2ForCausalLM(config))
    attention = [node for node in graph.nodes if node.op == "Attention"]
    assert [node.attrs["is_causal"] for node in attention] == [1, 1]
    assert [node.attrs.get("left_window_size", -1) for node in attention] == [3, -1]
    assert all(node.attrs["softcap"] == 50.0 and len(node.inputs) == 3 for node in attention)
    assert Counter(node.op for node in graph.nodes)["Gelu"] == 2


def test_gpt2(transformers: Any) -> None:
    config = transformers.GPT2Config(vocab_size=100, n_embd=64, n_layer=2, n_head=4, n_positions=64)
    graph = optimised(transformers.GPT2LMHeadModel(config))
    count = Counter(node.op for node in graph.nodes)
    assert count["Attention"] == 2 and count["LayerNormalization"] == 5 and count["Gelu"] == 2
    assert all(node.attrs["is_causal"] == 1 for node in graph.nodes if node.op == "Attention")
