"""Prefill and decoding of one Llama as two entries over one set of weights and caches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch.export import Dim

import ge_core
from bench.zoo_torch import CachedDecoder
from ge_core.errors import InputError
from ge_core.model_description import describe_file

PROMPT, TOKENS = 8, 64
SMALL = {
    "vocab_size": 60,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}


def decoder() -> CachedDecoder:
    torch.manual_seed(0)
    return CachedDecoder(length=PROMPT + TOKENS, **SMALL).eval()


def specs(model: CachedDecoder) -> dict[str, ge_core.EntrySpec]:
    tokens = Dim("tokens", min=2, max=PROMPT + TOKENS)
    prompt = (torch.zeros(1, PROMPT, dtype=torch.int64), torch.arange(PROMPT))
    return {
        "prefill": ge_core.EntrySpec(model, prompt, dynamic_shapes=({1: tokens}, {0: tokens})),
        "decode": ge_core.EntrySpec(model, (torch.zeros(1, 1, dtype=torch.int64), torch.tensor([PROMPT]))),
    }


def generated(session: ge_core.api.Session, prompt: np.ndarray) -> list[int]:
    """Tokens chosen greedily: one call for the prompt, then one for each token."""
    logits = session.entry("prefill", prompt, np.arange(prompt.shape[1]))
    found = [int(logits[0, -1].argmax())]
    for position in range(prompt.shape[1], prompt.shape[1] + TOKENS - 1):
        logits = session.entry("decode", np.array([found[-1:]]), np.array([position]))
        found.append(int(logits[0, -1].argmax()))
    return found


def torch_generated(model: CachedDecoder, prompt: np.ndarray) -> list[int]:
    """The same by torch, without a cache."""
    sequence = torch.from_numpy(prompt)
    with torch.no_grad():
        for _ in range(TOKENS):
            logits = model.model(input_ids=sequence, use_cache=False).logits
            sequence = torch.cat([sequence, logits[:, -1:].argmax(-1)], 1)
    return sequence[0, prompt.shape[1] :].tolist()


@pytest.fixture(scope="module")
def model() -> CachedDecoder:
    return decoder()


@pytest.fixture(scope="module")
def compiled(model: CachedDecoder) -> ge_core.CompiledModel:
    return ge_core.compile_entries(specs(model), target="reference")


def test_64_tokens_are_those_of_torch(model: CachedDecoder, compiled: ge_core.CompiledModel, tmp_path: Path) -> None:
    prompt = np.array([[3, 14, 15, 9, 26, 5, 35]])
    want = torch_generated(model, prompt)
    assert len(set(want)) > 3
    session = compiled.session()
    assert generated(session, prompt) == want
    session.reset()
    assert generated(session, prompt) == want
    compiled.save(tmp_path / "llama.om")
    assert generated(ge_core.load(tmp_path / "llama.om").session(), prompt) == want


def test_conversations_do_not_disturb_each_other(model: CachedDecoder, compiled: ge_core.CompiledModel) -> None:
    first, second = compiled.session(), compiled.session()
    prompts = np.array([[1, 2, 3, 4]]), np.array([[50, 40, 30, 20]])
    for session, prompt in zip((first, second), prompts, strict=True):
        session.entry("prefill", prompt, np.arange(4))
    kept = first.save()
    follow = np.array([[9]]), np.array([4])
    answers = [session.entry("decode", *follow) for session in (first, second)]
    assert not np.allclose(*answers)
    first.restore(kept)
    assert np.array_equal(first.entry("decode", *follow), answers[0])


def test_weights_are_kept_once(compiled: ge_core.CompiledModel, model: CachedDecoder, tmp_path: Path) -> None:
    graphs = [entry.graph for entry in compiled.entries.values()]
    weights = [
        {id(v.constant): v.constant.nbytes for v in g.constants if v.constant and v.constant.nbytes > 512}
        for g in graphs
    ]
    assert weights[0].keys() == weights[1].keys()
    parameters = sum(p.numel() * p.element_size() for p in model.parameters())
    assert sum(weights[0].values()) <= parameters * 1.1
    compiled.save(tmp_path / "llama.om")
    stored = dict(describe_file(tmp_path / "llama.om").partitions)["WEIGHTS_DATA"]
    assert parameters <= stored < parameters * 1.2 + sum(buffer.nbytes for buffer in model.buffers())


def test_entries_with_different_states_under_one_name_are_refused(model: CachedDecoder) -> None:
    other = decoder()
    other.k0 += 1
    found = specs(model)
    found["decode"] = specs(other)["decode"]
    with pytest.raises(InputError, match=r"'prefill' and 'decode' have different states 'k0'"):
        ge_core.compile_entries(found, target="reference")
