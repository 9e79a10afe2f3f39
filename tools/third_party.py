"""Prints what distributions of this repository require from elsewhere, pinned by constraints.txt.

    python tools/third_party.py pyproject.toml frontends/torch/pyproject.toml

ge's own packages (ge-*) are left out: they are installed from this source tree, never from an index. A
requirement without a pin is an error, so that no install depends on the day.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def pins(text: str) -> dict[str, str]:
    """Normalised name to "name==version", from a constraints file."""
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    return {_normal(line.partition("==")[0]): line for line in lines if line}


def third_party(projects: Iterable[Path]) -> list[str]:
    """The names that the projects require, without ge's own, sorted."""
    names: set[str] = set()
    for path in projects:
        project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
        names |= {_normal(re.split(r"[^A-Za-z0-9._-]", line.strip())[0]) for line in project["dependencies"]}
    return sorted(name for name in names if not name.startswith("ge-"))


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def main() -> None:
    pinned = pins((ROOT / "constraints.txt").read_text(encoding="utf-8"))
    names = third_party(Path(argument) for argument in sys.argv[1:])
    missing = [name for name in names if name not in pinned]
    if missing:
        sys.exit(f"constraints.txt has no version for: {', '.join(missing)}")
    print(*(pinned[name] for name in names))


if __name__ == "__main__":
    main()
