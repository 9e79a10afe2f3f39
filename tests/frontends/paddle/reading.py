"""Imports saved models in a process in which paddle cannot be imported, and compares with what Paddle computed.

python -m tests.frontends.paddle.reading FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.modules["paddle"] = None  # type: ignore[assignment]

import ge_core  # noqa: E402  paddle is blocked first
from ge_core.reference.interpret import interpret  # noqa: E402


def main(folder: Path) -> None:
    """Read all models of a folder; prints the name and the number of results of each."""
    for stored in sorted(folder.glob("*.npz")):
        arrays = np.load(stored)
        x, *wanted = (arrays[key] for key in arrays.files)
        program = next(p for suffix in (".json", ".pdmodel") if (p := stored.with_suffix(suffix)).exists())
        found, _ = interpret(ge_core.import_model(program), [x])
        assert len(found) == len(wanted), (stored.stem, len(found), len(wanted))
        for i, (got, want) in enumerate(zip(found, wanted, strict=True)):
            assert got.shape == want.shape and got.dtype == want.dtype, (
                stored.stem,
                i,
                got.shape,
                want.shape,
                got.dtype,
            )
            error = np.abs(got.astype(np.float64) - want.astype(np.float64)).max(initial=0)
            assert error <= 1e-5 * max(np.abs(want.astype(np.float64)).max(initial=0), 1), (stored.stem, i, error)
        print(stored.stem, len(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
