"""Opens thousands of damaged offline models; see `tests/core/om/campaign.py`.

    python bench/mutations.py [errors] [first]     (default 20000 0)

Goes on until so many changed files have ended in an error, and prints what was changed and what came out. Exits with 1
when anything else than an error or a valid model happened.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.core.om.campaign import Tally, in_worker, originals

BATCH = 500


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
    print("| change | error | valid | failed |\n|---|---|---|---|")
    for name in sorted({name for name, _ in total.counts}):
        row = [total.counts[name, found] for found in ("error", "valid", "FAILED")]
        print(f"| {name} | {' | '.join(map(str, row))} |")
    print(f"\nslowest {total.slowest:.2f} s, memory at most {total.memory >> 20} MiB above the start")
    for failure in total.failures:
        print("FAILED", *failure)
    return 1 if total.failures else 0


if __name__ == "__main__":
    given = [*map(int, sys.argv[1:]), 20_000, 0]
    sys.exit(main(given[0], given[1] if len(sys.argv) > 2 else 0))
