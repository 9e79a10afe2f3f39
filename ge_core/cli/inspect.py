"""`ge inspect`: what is in an offline model."""

from __future__ import annotations

from pathlib import Path

import typer


def inspect(
    path: Path = typer.Argument(help="The offline model."),
    graph: bool = typer.Option(False, "--graph", help="Print the graph in text form."),
    plan: bool = typer.Option(False, "--plan", help="Print the steps of the execution plan."),
    weights: bool = typer.Option(False, "--verify-weights", help="Check the digest of the weights too."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Show an offline model's inputs, outputs, operators, memory and origin; runs nothing of it."""
    from ge_core.cli.output import print_json
    from ge_core.cli.progress import progress
    from ge_core.ir.printer import print_graph
    from ge_core.model_description import describe_file

    with progress(f"reading {path}"):
        found = describe_file(path, verify_weights=weights)
    if json:
        print_json(found.to_json())
        return
    print(found.summary())
    if graph:
        for entry in found.graphs.values():
            print(print_graph(entry, locations=True), end="")
    if plan:
        print("\n".join(found.steps()))
