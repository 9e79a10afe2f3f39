"""Opens thousands of damaged offline models; see `tests/core/om/campaign.py`.

    python bench/mutations.py [errors]     (default 20000)

Goes on until so many changed files have ended in an error, and prints what was changed and what came out. After every
batch the tally is written to bench/results/mutations.json, from which a campaign that was stopped goes on, as long as
ge writes the same five files. Exits with 1 when anything else happened than an error or a model that gives what its
graphs say.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.core.om.campaign import Tally, in_worker, originals

BATCH = 500
OUTCOMES = ("error", "valid", "FAILED")
RESULTS = Path(__file__).resolve().parent / "results" / "mutations.json"


def stored(tally: Tally, number: int, files: str) -> dict[str, Any]:
    """A tally as JSON data: outcomes by change, the next change's number, and whose changes they are."""
    names = sorted({name for name, _ in tally.counts})
    return {
        "files": files,
        "next": number,
        "changes": {name: [tally.counts[name, found] for found in OUTCOMES] for name in names},
        "slowest_seconds": round(tally.slowest, 2),
        "memory_mib": tally.memory >> 20,
        "failures": tally.failures,
    }


def restored(files: str) -> tuple[Tally, int]:
    """The tally so far, and the number of the next change."""
    data = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {}
    if data.get("files") != files:
        return Tally(), 0
    counts = {(name, o): n for name, row in data["changes"].items() for o, n in zip(OUTCOMES, row, strict=True)}
    failures = [(number, name, found) for number, name, found in data["failures"]]
    return Tally(Counter(counts), failures, data["slowest_seconds"], data["memory_mib"] << 20), data["next"]


def table(results: dict[str, Any]) -> str:
    """The results for a person: a table and a line."""
    rows = [f"| {name} | {' | '.join(map(str, row))} |" for name, row in results["changes"].items()]
    total = [sum(column) for column in zip(*results["changes"].values(), strict=True)]
    rows.append(f"| all | {' | '.join(map(str, total))} |")
    head = ["| change | error | valid | failed |", "|---|---|---|---|"]
    last = f"slowest {results['slowest_seconds']:.2f} s, memory at most {results['memory_mib']} MiB above the start"
    return "\n".join([*head, *rows, "", last])


def main(errors: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        files = originals(Path(folder))
        digest = hashlib.sha256(b"".join(files)).hexdigest()
        total, number = restored(digest)
        while total.errors() < errors:
            found = in_worker(files, range(number, number + BATCH), Path(folder))
            total.add(found)
            number += BATCH
            RESULTS.write_text(json.dumps(stored(total, number, digest), indent=1) + "\n", encoding="utf-8")
            print(f"{number}: {total.errors()} errors, {len(total.failures)} failures", file=sys.stderr, flush=True)
    print(table(stored(total, number, digest)))
    for failure in total.failures:
        print("FAILED", *failure)
    return 1 if total.failures else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 20_000))
