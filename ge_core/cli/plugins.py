"""`ge plugins`: what is installed, usable, broken, and why."""

from __future__ import annotations

import logging
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from ge_core.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from ge_core.plugins import Finding, PluginStatus


def plugins(
    json: bool = typer.Option(False, "--json", help="Print JSON."),
    check: bool = typer.Option(
        False, "--check", help="Examine each plugin more closely; exit code 7 when one is not in order."
    ),
) -> ExitCode | None:
    """List the installed frontends and backends with their state."""
    from ge_core.cli.output import print_json
    from ge_core.plugins import GE_PLUGIN_API, OLDEST_API, examine, host

    # Each broken plugin is in the list itself; the log's warnings would say it twice.
    logging.getLogger("ge_core.plugins").addHandler(logging.NullHandler())
    rows = host().statuses()
    findings = examine(host()) if check else []
    if json:
        data: dict[str, object] = {
            "api": {"oldest": OLDEST_API, "newest": GE_PLUGIN_API},
            "plugins": [asdict(row) for row in rows],
        }
        if check:
            data["findings"] = [asdict(finding) for finding in findings]
        print_json(data)
    else:
        _print_table(rows, findings, checked=check)
    return ExitCode.PLUGIN if findings else None


def _print_table(rows: list[PluginStatus], findings: list[Finding], *, checked: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    # A pipe has no width of its own; lines that a program may read are not folded at 80 columns.
    console = Console(width=None if sys.stdout.isatty() else 140, highlight=False, markup=False)
    table = Table(box=None, pad_edge=False)
    for title in ("kind", "name", "state", "distribution", "version", "API", "load"):
        table.add_column(title, no_wrap=True)
    table.add_column("description")
    for row in rows:
        api = "" if row.api is None else str(row.api)
        load = "" if row.load_ms is None else f"{row.load_ms:.0f} ms"
        table.add_row(row.kind, row.name, row.state, row.distribution, row.version, api, load, row.description)
    console.print(table)
    for row in rows:
        if row.reason:
            console.print(f"\n{row.kind} {row.name} ({row.distribution}) is {row.state}: {row.reason}", soft_wrap=True)
            console.print(f"  fix: {row.fix}")
    shown = {(row.kind, row.name, row.distribution) for row in rows if row.reason}
    for finding in findings:
        if (finding.kind, finding.name, finding.distribution) not in shown:
            console.print(
                f"\n{finding.kind} {finding.name} ({finding.distribution}): {finding.problem}", soft_wrap=True
            )
            console.print(f"  fix: {finding.fix}")
    if checked and not findings:
        console.print("\nevery plugin is in order")
