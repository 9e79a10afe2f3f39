"""Mutated GraphDefs, SavedModels and checkpoints: each must end in a graph or a GeError, soon and in little memory.

python hostile.py FOLDER FIRST LAST    one line for each mutation that ends in anything else
"""

from __future__ import annotations

import resource
import sys
import time
from pathlib import Path

import numpy as np

SECONDS = 10.0
MEMORY = 4 << 30


def mutated(data: bytes, seed: int) -> bytes:
    """The data with a few bytes changed, removed, doubled or moved."""
    random = np.random.default_rng(seed)
    found = bytearray(data)
    for _ in range(int(random.integers(1, 6))):
        if not found:
            break
        at = int(random.integers(len(found)))
        size = int(random.integers(1, 64))
        kind = int(random.integers(6))
        if kind == 0:
            found[at] = int(random.integers(256))
        elif kind == 1:
            del found[at : at + size]
        elif kind == 2:
            found[at:at] = found[at : at + size]
        elif kind == 3:
            found[at : at + size] = random.bytes(size)
        elif kind == 4:
            found[at : at + 5] = b"\xff\xff\xff\xff\x0f"
        else:
            other = int(random.integers(len(found)))
            found[at : at + size] = found[other : other + size]
    return bytes(found)


def outcome(path: Path) -> str:
    """How an import ends; empty for a graph or a GeError."""
    from ge_core.errors import GeError
    from ge_frontend_tensorflow.importer import import_model

    started = time.process_time()
    try:
        graph = import_model(path).graph
        for constant in list(graph.constants)[:64]:
            if constant.constant is not None and constant.constant.nbytes < 1 << 20:
                constant.constant.array()
    except GeError:
        pass
    except MemoryError:
        return "out of memory"
    except Exception as error:  # noqa: BLE001  (what must not come out)
        return f"{type(error).__name__}: {error}"
    seconds = time.process_time() - started
    return f"took {seconds:.0f} s" if seconds > SECONDS else ""


def main() -> int:
    folder, first, last = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    graph = (folder / "frozen.pb").read_bytes()
    saved = (folder / "exported" / "saved_model.pb").read_bytes()
    index = (folder / "exported" / "variables" / "variables.index").read_bytes()
    work = folder / f"work{first}"
    (work / "variables").mkdir(parents=True, exist_ok=True)
    data = folder / "exported" / "variables" / "variables.data-00000-of-00001"
    (work / "variables" / data.name).write_bytes(data.read_bytes())
    for seed in range(first, last):
        kind = seed % 3
        if kind == 0:
            path = work / "graph.pb"
            path.write_bytes(mutated(graph, seed))
        else:
            path = work
            (work / "saved_model.pb").write_bytes(mutated(saved, seed) if kind == 1 else saved)
            (work / "variables" / "variables.index").write_bytes(mutated(index, seed) if kind == 2 else index)
        found = outcome(path)
        if found:
            print(f"{seed}: {found}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
