"""Models of timm and transformers in small configurations, at the example's sizes and at others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim

from bench.zoo_torch import CachedDecoder
from ge_core.ir.traverse import walk
from ge_core.reference.interpret import interpret
from ge_frontend_torch.importer import import_model
from tests.frontends.torch.agreement import check

AUTO = Dim.AUTO
TOLERANCE = 1e-4


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


IMAGE_MODELS: dict[str, dict[str, Any]] = {
    "resnet50": {},
    "mobilenetv3_small_100": {},
    "convnext_tiny": {"depths": (1, 1, 2, 1), "dims": (16, 32, 48, 64)},
    "swin_tiny_patch4_window7_224": {
        "img_size": 64, "window_size": 4, "depths": (2, 2), "embed_dim": 24, "num_heads": (2, 4),
    },
}  # fmt: skip


@pytest.mark.parametrize("name", IMAGE_MODELS)
def test_image_models(name: str) -> None:
    import timm

    model = timm.create_model(name, pretrained=False, num_classes=10, **IMAGE_MODELS[name])
    check(model, (torch.randn(2, 3, 64, 64),), dynamic=({0: Dim("batch", min=1)},), sizes=(1, 3), tolerance=TOLERANCE)


TEXT = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48, "vocab_size": 60}
BOTH = {0: AUTO, 1: AUTO}


def ids(batch: int = 2, length: int = 7) -> torch.Tensor:
    return torch.randint(0, 60, (batch, length))


def text_model(config: str, cls: str, **options: Any) -> nn.Module:
    import transformers

    model: nn.Module = getattr(transformers, cls)(getattr(transformers, config)(**options)).eval()
    return model


def test_bert() -> None:
    model = text_model("BertConfig", "BertModel", **TEXT)
    kwargs = {"input_ids": ids(), "attention_mask": torch.ones(2, 7, dtype=torch.long)}
    check(model, (), kwargs, dynamic=dict.fromkeys(kwargs, BOTH), sizes=(2, 5), tolerance=TOLERANCE)


@pytest.mark.parametrize(
    ("config", "cls", "options"),
    [
        ("GPT2Config", "GPT2LMHeadModel", {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 60}),
        ("LlamaConfig", "LlamaForCausalLM", {**TEXT, "num_key_value_heads": 2}),
        ("Qwen3Config", "Qwen3ForCausalLM", {**TEXT, "num_key_value_heads": 2, "head_dim": 8}),
        ("Gemma2Config", "Gemma2ForCausalLM", {**TEXT, "num_key_value_heads": 2, "head_dim": 8}),
        ("MixtralConfig", "MixtralForCausalLM", {**TEXT, "num_key_value_heads": 2, "num_local_experts": 3}),
    ],
)  # fmt: skip
def test_language_models(config: str, cls: str, options: dict[str, Any]) -> None:
    model = text_model(config, cls, **options)
    kwargs = {"input_ids": ids(), "use_cache": False}
    shapes = {"input_ids": BOTH, "use_cache": None}
    imported = check(model, (), kwargs, dynamic=shapes, sizes=(2, 5), tolerance=TOLERANCE)
    assert any(node.op == "Attention" for node in walk(imported.graph)) or "Gemma2" in cls


def test_llama_with_a_static_cache_generates_token_by_token() -> None:
    options = {**TEXT, "num_key_value_heads": 2}
    model = CachedDecoder(length=8, **options).eval()
    sequence = torch.randint(0, 60, (1, 5))
    imported = import_model(model, (sequence[:, :1], torch.tensor([0])))
    assert len(imported.graph.states) == 4
    with torch.no_grad():
        whole = model.model(input_ids=sequence, use_cache=False).logits
    states = None
    for step in range(5):
        arrays = [sequence[:, step : step + 1].numpy(), torch.tensor([step]).numpy()]
        (logits,), states = interpret(imported.graph, arrays, states)
        torch.testing.assert_close(torch.from_numpy(logits)[0, 0], whole[0, step], rtol=1e-4, atol=1e-4)


def test_t5() -> None:
    model = text_model("T5Config", "T5ForConditionalGeneration", vocab_size=60, d_model=32, d_kv=8, d_ff=48,
                       num_layers=1, num_heads=4, use_cache=False)  # fmt: skip
    kwargs = {"input_ids": ids(), "decoder_input_ids": ids(2, 4), "use_cache": False}
    shapes = {"input_ids": BOTH, "decoder_input_ids": BOTH, "use_cache": None}
    check(model, (), kwargs, dynamic=shapes, sizes=(2, 5), tolerance=TOLERANCE)


def whisper() -> tuple[nn.Module, torch.Tensor]:
    from transformers import WhisperConfig, WhisperModel

    config = WhisperConfig(d_model=32, encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=48,
                           decoder_layers=1, decoder_attention_heads=4, max_source_positions=20,
                           num_mel_bins=8)  # fmt: skip
    return WhisperModel(config).encoder, torch.randn(2, 8, 40)


def clip_vision() -> tuple[nn.Module, torch.Tensor]:
    model = text_model("CLIPVisionConfig", "CLIPVisionModel", hidden_size=32, intermediate_size=48, num_hidden_layers=2,
                       num_attention_heads=4, image_size=32, patch_size=8)  # fmt: skip
    return model, torch.randn(2, 3, 32, 32)


def wav2vec2() -> tuple[nn.Module, torch.Tensor]:
    model = text_model("Wav2Vec2Config", "Wav2Vec2ForCTC", hidden_size=32, intermediate_size=48, num_hidden_layers=1,
                       num_attention_heads=4, conv_dim=(16,) * 7, num_conv_pos_embeddings=16,
                       num_conv_pos_embedding_groups=4, vocab_size=12)  # fmt: skip
    return model, torch.randn(1, 1600)


@pytest.mark.parametrize("build", [whisper, clip_vision, wav2vec2])
def test_speech_and_vision_transformers(build: Callable[[], tuple[nn.Module, torch.Tensor]]) -> None:
    model, x = build()
    check(model, (x,), dynamic=({0: AUTO},) if x.shape[0] > 1 else None, sizes=(2, 3), tolerance=TOLERANCE)
