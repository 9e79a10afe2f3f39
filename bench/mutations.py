"""Opens thousands of damaged offline models; see `tests/core/om/campaign.py`.

    python bench/mutations.py [errors] [first]     (default 20000 0)

Goes on until so many changed files have ended in an error, and prints what was changed and what came out; a campaign
that was stopped goes on where `first` says. Exits with 1 when anything else happened than an error or a model that
gives what its graphs say. A campaign of 20,000 errors or more is written to bench/results/mutations.json.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.core.om.campaign import Tally, in_worker, originals

BATCH = 500
OUTCOMES = ("error", "valid", "FAILED")
RESULTS = Path(__file__).resolve().parent / "results" / "mutations.json"


def table(results: dict[str, Any]) -> str:
    """The results for a person: a table and a line."""
    rows = [f"| {name} | {' | '.join(map(str, row))} |" for name, row in results["changes"].items()]
    total = [sum(column) for column in zip(*results["changes"].values(), strict=True)]
    rows.append(f"| all | {' | '.join(map(str, total))} |")
    head = ["| change | error | valid | failed |", "|---|---|---|---|"]
    last = f"slowest {results['slowest_seconds']:.2f} s, memory at most {results['memory_mib']} MiB above the start"
    return "\n".join([*head, *rows, "", last])


def main(errors: int, first: int) -> int:
    total = Tally()
    with tempfile.TemporaryDirectory() as folder:
        files = originals(Path(folder))
        while total.errors() < errors:
            found = in_worker(files, range(first, first + BATCH), Path(folder))
            for failure in found.failures:
                print("FAILED", *failure, file=sys.stderr, flush=True)
            total.add(found)
            first += BATCH
            print(f"{first}: {total.errors()} errors, {len(total.failures)} failures", file=sys.stderr, flush=True)
    results = {
        "changes": {
            name: [total.counts[name, found] for found in OUTCOMES]
            for name in sorted({name for name, _ in total.counts})
        },
        "slowest_seconds": round(total.slowest, 2),
        "memory_mib": total.memory >> 20,
    }
    if total.errors() >= 20_000:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(table(results))
    for failure in total.failures:
        print("FAILED", *failure)
    return 1 if total.failures else 0


if __name__ == "__main__":
    given = [*map(int, sys.argv[1:]), 20_000, 0]
    sys.exit(main(given[0], given[1] if len(sys.argv) > 2 else 0))
