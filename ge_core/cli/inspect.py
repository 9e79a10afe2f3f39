"""`ge inspect`: what is in an offline model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from ge_core.foreign_description import ForeignDescription
    from ge_core.model_description import ModelDescription


def inspect(
    path: Path = typer.Argument(help="The offline model."),
    graph: bool = typer.Option(False, "--graph", help="Print the graph in text form."),
    plan: bool = typer.Option(False, "--plan", help="Print the steps of the execution plan."),
    weights: bool = typer.Option(False, "--verify-weights", help="Check the digest of the weights too."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Show an offline model's inputs, outputs, operators, memory and origin; runs nothing of it.

    Files that CANN's compiler wrote are shown too.
    """
    from ge_core.cli.output import print_json
    from ge_core.cli.progress import progress
    from ge_core.foreign_description import ForeignDescription
    from ge_core.ir.printer import print_graph

    with progress(f"reading {path}"):
        found = described(path, weights)
    if json:
        print_json(found.to_json())
        return
    print(found.summary())
    if isinstance(found, ForeignDescription):
        if graph:
            print("\n".join(found.graph_lines()))
        if plan:
            print("the plan is CANN's: --graph shows where results lie")
        return
    if graph:
        for entry in found.graphs.values():
            print(print_graph(entry, locations=True), end="")
    if plan:
        print("\n".join(found.steps()))


def described(path: Path, weights: bool) -> ModelDescription | ForeignDescription:
    """What a file holds, whoever wrote it."""
    from ge_core.errors import OfflineModelError
    from ge_core.foreign_description import describe_foreign
    from ge_core.model_description import describe_file

    try:
        return describe_file(path, verify_weights=weights)
    except OfflineModelError:
        foreign = describe_foreign(path)
        if foreign is None:
            raise
        return foreign
