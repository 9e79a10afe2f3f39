"""`python -m ge_core.passes FILE PASS`: run one pass on a saved graph and print the result."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ge_core.errors import GeError
from ge_core.ir.printer import print_graph
from ge_core.passes.base import Pass, PassContext
from ge_core.passes.manager import PassManager
from ge_core.passes.pipeline import default_passes
from ge_core.passes.saved import load_graph


def known_passes() -> dict[str, Pass]:
    """The core passes by name, managers and what they hold included."""
    found: dict[str, Pass] = {}

    def add(p: Pass) -> None:
        found.setdefault(p.name, p)
        for inner in p.passes if isinstance(p, PassManager) else ():
            add(inner)

    add(default_passes({"fusion", "dce", "fold", "layout"}, "speed"))
    return found


def main(arguments: list[str] | None = None) -> int:
    """Exit code 0; 1 when the pass fails, with the error on standard error."""
    passes = known_passes()
    parser = argparse.ArgumentParser(prog="python -m ge_core.passes", description=__doc__)
    parser.add_argument("file", type=Path, help="a graph that a failing pass, or save_to, left")
    parser.add_argument("pass_name", choices=sorted(passes))
    parser.add_argument("--stop-after", type=int, help="do no more than this many rewrites")
    options = parser.parse_args(arguments)
    ctx = PassContext(debug=True, stop_after=options.stop_after, explain=True)
    try:
        graph = load_graph(options.file)
        PassManager((passes[options.pass_name],), "repeat")(graph, ctx)
    except GeError as e:
        print(e, file=sys.stderr)
        return 1
    print(print_graph(graph))
    for rewrite in ctx.report.trail:
        print(rewrite, file=sys.stderr)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
