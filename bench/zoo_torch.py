"""The list of PyTorch models: name to a function that builds the model and its example call, with random weights.

Needs timm, transformers and torchvision. A torchvision wheel whose compiled extension cannot be loaded is enough:
the schemas that it would define are declared here first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.export import Dim

AUTO = Dim.AUTO
_SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)


# torch.export itself refuses these: data-dependent sizes that it cannot trace.
UNEXPORTABLE = frozenset(
    {
        "nn/LSTM-packed",
        "tv/ssdlite320_mobilenet_v3_large",
        "tv/fasterrcnn_mobilenet_v3_large_320_fpn",
        "tv/retinanet_resnet50_fpn",
    }
)


@dataclass
class Example:
    """A model with the arguments of one call.

    Attributes:
        shapes: torch.export's dynamic_shapes.
        values: whether the weights have values; without them the model is imported and not run.
    """

    model: nn.Module
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    shapes: Any = None
    values: bool = True


Build = Callable[[], Example]
MODELS: dict[str, Build] = {}


def _model(name: str) -> Callable[[Build], Build]:
    def register(build: Build) -> Build:
        assert name not in MODELS
        MODELS[name] = build
        return build

    return register


def declare_torchvision_operators() -> torch.library.Library | None:
    """Declare what torchvision's compiled extension would; None when it could be loaded."""
    library = torch.library.Library("torchvision", "FRAGMENT")
    try:
        for schema in _SCHEMAS:
            library.define(schema)
    except RuntimeError:
        return None
    return library


_library = declare_torchvision_operators()

# --- image models -------------------------------------------------------------------------------------------------

_TIMM = (
    "resnet50", "mobilenetv3_large_100", "efficientnet_b0", "vit_base_patch16_224", "swin_tiny_patch4_window7_224",
    "convnext_tiny", "densenet121", "inception_v3", "regnety_008", "mobilevit_s", "deit3_small_patch16_224",
    "efficientformer_l1", "maxvit_tiny_tf_224", "coatnet_0_rw_224", "levit_128", "poolformer_s12", "hrnet_w18",
    "res2net50_26w_4s", "ghostnet_100", "resnest14d", "xcit_nano_12_p16_224", "eva02_tiny_patch14_224", "repvgg_a0",
    "nfnet_l0",
)  # fmt: skip


def image(model: nn.Module, size: int) -> Example:
    """A call of an image model with a batch of two; the batch is dynamic."""
    for part in model.modules():
        if isinstance(part, nn.Linear) and not part.weight.any():  # zeros would agree with anything
            nn.init.normal_(part.weight, std=0.02)
    return Example(model.eval(), (torch.randn(2, 3, size, size),), shapes=({0: AUTO},))


def timm_model(name: str) -> Build:
    def build() -> Example:
        import timm

        return image(timm.create_model(name, pretrained=False), 299 if name == "inception_v3" else 224)

    return build


def torchvision_model(name: str, size: int = 224, kind: str = "", **options: Any) -> Build:
    def build() -> Example:
        import torchvision

        home = getattr(torchvision.models, kind) if kind else torchvision.models
        return image(getattr(home, name)(weights=None, **options), size)

    return build


for _name in _TIMM:
    MODELS[f"timm/{_name}"] = timm_model(_name)
for _name in ("vgg16_bn", "shufflenet_v2_x1_0", "squeezenet1_1", "alexnet", "mnasnet1_0", "maxvit_t", "vit_b_16"):
    MODELS[f"tv/{_name}"] = torchvision_model(_name)
MODELS["tv/googlenet"] = torchvision_model("googlenet", init_weights=False)
MODELS["tv/swin_v2_t"] = torchvision_model("swin_v2_t", 256)
for _name in ("deeplabv3_resnet50", "fcn_resnet50"):
    MODELS[f"tv/{_name}"] = torchvision_model(_name, 224, "segmentation", weights_backbone=None)


def detector(name: str) -> Build:
    """A torchvision detector called with one image."""

    def build() -> Example:
        import torchvision

        model = getattr(torchvision.models.detection, name)(weights=None, weights_backbone=None).eval()
        return Example(model, ([torch.rand(3, 320, 320)],))

    return build


for _name in ("ssdlite320_mobilenet_v3_large", "fasterrcnn_mobilenet_v3_large_320_fpn", "retinanet_resnet50_fpn"):
    MODELS[f"tv/{_name}"] = detector(_name)

# --- text models --------------------------------------------------------------------------------------------------


def tokens(batch: int = 2, length: int = 16, vocabulary: int = 1000) -> torch.Tensor:
    return torch.randint(0, vocabulary, (batch, length))


def encoder(config: str, cls: str, *, dynamic: bool = True, **options: Any) -> Build:
    """A text encoder called with ids and a mask."""

    def build() -> Example:
        import transformers

        model = getattr(transformers, cls)(getattr(transformers, config)(**options)).eval()
        kwargs = {"input_ids": tokens(), "attention_mask": torch.ones(2, 16, dtype=torch.long)}
        shapes = {name: {0: AUTO, 1: AUTO} for name in kwargs} if dynamic else None
        return Example(model, kwargs=kwargs, shapes=shapes)

    return build


def decoder(config: str, cls: str, **options: Any) -> Build:
    """A language model called with ids, without a cache."""

    def build() -> Example:
        import transformers

        model = getattr(transformers, cls)(getattr(transformers, config)(**options)).eval()
        kwargs = {"input_ids": tokens(), "use_cache": False}
        return Example(model, kwargs=kwargs, shapes={"input_ids": {0: AUTO, 1: AUTO}, "use_cache": None})

    return build


SMALL = {
    "vocab_size": 1000,
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}
_ONE_HEAD_COUNT = {k: v for k, v in SMALL.items() if k != "num_key_value_heads"}
_DEBERTA = {
    "vocab_size": 1000, "hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 256,
    "relative_attention": True, "position_buckets": 32, "pos_att_type": ["p2c", "c2p"],
}  # fmt: skip

MODELS["hf/bert-base"] = encoder("BertConfig", "BertModel")
MODELS["hf/distilbert"] = encoder("DistilBertConfig", "DistilBertModel")
MODELS["hf/gpt2"] = decoder("GPT2Config", "GPT2LMHeadModel", use_cache=False)
MODELS["hf/llama"] = decoder("LlamaConfig", "LlamaForCausalLM", **SMALL)
MODELS["hf/qwen2"] = decoder("Qwen2Config", "Qwen2ForCausalLM", **SMALL)
MODELS["hf/qwen3"] = decoder("Qwen3Config", "Qwen3ForCausalLM", **SMALL, head_dim=32)
MODELS["hf/mistral"] = decoder("MistralConfig", "MistralForCausalLM", **SMALL)
MODELS["hf/gemma2"] = decoder("Gemma2Config", "Gemma2ForCausalLM", **SMALL, head_dim=32)
MODELS["hf/phi3"] = decoder("Phi3Config", "Phi3ForCausalLM", **SMALL, pad_token_id=0, eos_token_id=1, bos_token_id=2)
MODELS["hf/mixtral"] = decoder("MixtralConfig", "MixtralForCausalLM", **SMALL, num_local_experts=4)
MODELS["hf/gptneox"] = decoder("GPTNeoXConfig", "GPTNeoXForCausalLM", **_ONE_HEAD_COUNT)
MODELS["hf/mamba"] = decoder("MambaConfig", "MambaForCausalLM", vocab_size=1000, hidden_size=64, num_hidden_layers=2)
MODELS["hf/deberta-v2"] = encoder("DebertaV2Config", "DebertaV2Model", dynamic=False, **_DEBERTA)
MODELS["hf/clip-text"] = encoder("CLIPTextConfig", "CLIPTextModel", dynamic=False)


@_model("hf/t5-small")
def t5() -> Example:
    from transformers import T5Config, T5ForConditionalGeneration

    model = T5ForConditionalGeneration(T5Config(use_cache=False)).eval()
    kwargs = {"input_ids": tokens(), "decoder_input_ids": tokens(2, 8), "use_cache": False}
    both = {0: AUTO, 1: AUTO}
    return Example(model, kwargs=kwargs, shapes={"input_ids": both, "decoder_input_ids": both, "use_cache": None})


@_model("hf/llama-2-7b")
def llama_7b() -> Example:
    """The configuration of LLaMA-2-7B in half precision, of fake tensors: 6.7 G parameters without memory."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=32000, hidden_size=4096, intermediate_size=11008, num_hidden_layers=32, num_attention_heads=32,
        num_key_value_heads=32, max_position_embeddings=4096,
    )  # fmt: skip
    default = torch.get_default_dtype()
    torch.set_default_dtype(torch.float16)
    try:
        with FakeTensorMode(allow_non_fake_inputs=True):
            model = LlamaForCausalLM(config).eval()
    finally:
        torch.set_default_dtype(default)
    kwargs = {"input_ids": tokens(1, 2048), "use_cache": False}
    return Example(model, kwargs=kwargs, shapes={"input_ids": {1: AUTO}, "use_cache": None}, values=False)


class CachedDecoder(nn.Module):
    """A Llama that keeps its keys and values in buffers and takes one token at a time."""

    def __init__(self, length: int = 64, **options: Any) -> None:
        super().__init__()
        from transformers import LlamaConfig, LlamaForCausalLM

        self.config = LlamaConfig(**options, max_position_embeddings=length)
        self.model = LlamaForCausalLM(self.config)
        self.length = length
        heads = self.config.num_key_value_heads
        self.head_size = self.config.hidden_size // self.config.num_attention_heads
        for layer in range(self.config.num_hidden_layers):
            for kind in ("k", "v"):
                self.register_buffer(f"{kind}{layer}", torch.zeros(1, heads, length, self.head_size))

    def forward(self, ids: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        from transformers import StaticCache

        cache = StaticCache(config=self.config, max_cache_len=self.length)
        for i, layer in enumerate(cache.layers):
            layer.keys, layer.values = getattr(self, f"k{i}"), getattr(self, f"v{i}")
            layer.is_initialized = True
            layer.dtype, layer.device = layer.keys.dtype, layer.keys.device
            layer.max_batch_size, layer.num_heads, layer.head_dim = 1, layer.keys.shape[1], self.head_size
            layer.cumulative_length = position.clone()
        found = self.model(input_ids=ids, past_key_values=cache, use_cache=True, position_ids=position[None])
        logits: torch.Tensor = found.logits
        return logits


@_model("hf/llama-kvcache")
def llama_with_cache() -> Example:
    model = CachedDecoder(**SMALL).eval()
    return Example(model, (tokens(1, 1), torch.tensor([3])))


class IndexedCache(nn.Module):
    """Attention over buffers that are written by index, a counter, and an input that is written."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = nn.Linear(64, 64), nn.Linear(64, 64), nn.Linear(64, 64)
        self.register_buffer("keys", torch.zeros(1, 32, 64))
        self.register_buffer("values", torch.zeros(1, 32, 64), persistent=False)
        self.register_buffer("count", torch.zeros((), dtype=torch.long))

    def forward(self, x: torch.Tensor, position: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.keys.index_copy_(1, position, self.k(x))
        self.values[:, position] = self.v(x)
        self.count.add_(1)
        found = nn.functional.scaled_dot_product_attention(self.q(x), self.keys, self.values)
        x.add_(1)
        return found, x


@_model("custom/kvcache-index_copy")
def indexed_cache() -> Example:
    return Example(IndexedCache().eval(), (torch.randn(1, 1, 64), torch.tensor([3])))


# --- speech and vision transformers -------------------------------------------------------------------------------


def configured(config: str, cls: str, shape: tuple[int, ...], **options: Any) -> Build:
    """A transformers model called with one tensor of numbers."""

    def build() -> Example:
        import transformers

        model = getattr(transformers, cls)(getattr(transformers, config)(**options)).eval()
        return Example(model, (torch.randn(*shape),))

    return build


@_model("hf/whisper-encoder")
def whisper_encoder() -> Example:
    from transformers import WhisperConfig, WhisperModel

    return Example(WhisperModel(WhisperConfig()).encoder.eval(), (torch.randn(2, 80, 3000),))


@_model("hf/whisper-full")
def whisper() -> Example:
    from transformers import WhisperConfig, WhisperForConditionalGeneration

    model = WhisperForConditionalGeneration(WhisperConfig(use_cache=False)).eval()
    kwargs = {"input_features": torch.randn(1, 80, 3000), "decoder_input_ids": tokens(1, 8), "use_cache": False}
    return Example(model, kwargs=kwargs)


MODELS["hf/clip-vision"] = configured("CLIPVisionConfig", "CLIPVisionModel", (2, 3, 224, 224))
MODELS["hf/wav2vec2"] = configured("Wav2Vec2Config", "Wav2Vec2ForCTC", (1, 16000), num_hidden_layers=2)
MODELS["hf/yolos"] = configured(
    "YolosConfig", "YolosForObjectDetection", (1, 3, 224, 224),
    num_hidden_layers=2, image_size=[224, 224], num_detection_tokens=10,
)  # fmt: skip
MODELS["hf/segformer"] = configured("SegformerConfig", "SegformerForSemanticSegmentation", (1, 3, 224, 224))
MODELS["hf/speecht5-hifigan"] = configured("SpeechT5HifiGanConfig", "SpeechT5HifiGan", (20, 80))
MODELS["hf/sam-vision"] = configured(
    "SamVisionConfig", "SamVisionModel", (1, 3, 256, 256), num_hidden_layers=2, image_size=256, global_attn_indexes=[1]
)  # fmt: skip

# --- torch's own layers -------------------------------------------------------------------------------------------


def recurrent(kind: str, **options: Any) -> Build:
    def build() -> Example:
        model = getattr(nn, kind)(32, 64, 2, batch_first=True, **options).eval()
        return Example(model, (torch.randn(2, 10, 32),), shapes=({0: AUTO, 1: AUTO},))

    return build


for _name in ("LSTM", "GRU", "RNN"):
    MODELS[f"nn/{_name}"] = recurrent(_name)
MODELS["nn/LSTM-bidir"] = recurrent("LSTM", bidirectional=True, proj_size=16)


class Packed(nn.Module):
    """An LSTM over sequences of different lengths."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.LSTM(32, 64, batch_first=True)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        output: torch.Tensor = nn.utils.rnn.pad_packed_sequence(self.layer(packed)[0], batch_first=True)[0]
        return output


@_model("nn/LSTM-packed")
def packed() -> Example:
    return Example(Packed().eval(), (torch.randn(2, 10, 32), torch.tensor([10, 7])))


class CellLoop(nn.Module):
    """An LSTM cell unrolled over time."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(32, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = cell = torch.zeros(x.shape[0], 64)
        outputs = []
        for step in range(x.shape[1]):
            hidden, cell = self.cell(x[:, step], (hidden, cell))
            outputs.append(hidden)
        return torch.stack(outputs, 1)


@_model("nn/LSTMCell-loop")
def cell_loop() -> Example:
    return Example(CellLoop().eval(), (torch.randn(2, 5, 32),), shapes=({0: AUTO},))


@_model("nn/Transformer")
def transformer() -> Example:
    both = {0: AUTO, 1: AUTO}
    model = nn.Transformer(64, 4, 2, 2, 128, batch_first=True).eval()
    return Example(model, (torch.randn(2, 10, 64), torch.randn(2, 7, 64)), shapes=(both, both))


@_model("nn/TransformerEncoder")
def transformer_encoder() -> Example:
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, activation="gelu")
    return Example(nn.TransformerEncoder(layer, 2).eval(), (torch.randn(2, 10, 64),), shapes=({0: AUTO, 1: AUTO},))


class MaskedAttention(nn.Module):
    """Self-attention with a padding mask."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(64, 4, batch_first=True)

    def forward(self, x: torch.Tensor, padding: torch.Tensor) -> Any:
        return self.attention(x, x, x, key_padding_mask=padding)


@_model("nn/MHA-mask")
def masked_attention() -> Example:
    return Example(MaskedAttention().eval(), (torch.randn(2, 10, 64), torch.zeros(2, 10, dtype=torch.bool)))


# --- control flow -------------------------------------------------------------------------------------------------


class Branches(nn.Module):
    """torch.cond over two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> Any:
        return torch.cond(x.sum() > 0, lambda x: self.a(x).relu(), lambda x: self.b(x).sin(), (x,))


class Repeat(nn.Module):
    """torch's while_loop over a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, n: torch.Tensor, x: torch.Tensor) -> Any:
        from torch._higher_order_ops.while_loop import while_loop

        return while_loop(lambda i, x: i > 0, lambda i, x: (i - 1, self.layer(x).tanh()), (n, x))


class Scan(nn.Module):
    """torch's scan: a running sum and a function of it."""

    def forward(self, xs: torch.Tensor) -> Any:
        from torch._higher_order_ops.scan import scan

        return scan(lambda c, x: (c + x, (c * x).tanh()), torch.zeros(8), xs, dim=0)


class Map(nn.Module):
    """torch's map over rows."""

    def forward(self, xs: torch.Tensor, y: torch.Tensor) -> Any:
        from torch._higher_order_ops.map import map as torch_map

        return torch_map(lambda x, y: (x + y).cos(), xs, y)


class DataDependent(nn.Module):
    """Results whose sizes depend on the data."""

    def forward(self, x: torch.Tensor) -> Any:
        places = torch.nonzero(x > 0)
        torch._check(places.shape[0] >= 0)
        return x[x > 0].sum(), places, torch.unique(x.round())


@_model("ctl/cond")
def branches() -> Example:
    return Example(Branches().eval(), (torch.randn(2, 8),), shapes=({0: AUTO},))


@_model("ctl/while_loop")
def repeat() -> Example:
    return Example(Repeat().eval(), (torch.tensor(3), torch.randn(2, 8)))


@_model("ctl/scan")
def scan_rows() -> Example:
    return Example(Scan().eval(), (torch.randn(5, 8),))


@_model("ctl/map")
def map_rows() -> Example:
    return Example(Map().eval(), (torch.randn(5, 8), torch.randn(8)))


@_model("ctl/nonzero")
def data_dependent() -> Example:
    return Example(DataDependent().eval(), (torch.randn(5, 8),))
