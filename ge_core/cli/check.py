"""`ge check`: what is wrong with a file that a target's own tools would read."""

from __future__ import annotations

from pathlib import Path

import typer

from ge_core.cli.exit_codes import ExitCode


def check(
    file: Path = typer.Argument(help="A file of the target's own form, for example net.air."),
    target: str = typer.Option(..., help="The target whose rules hold."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> ExitCode | None:
    """Check a file against the rules of a target; exit code 5 when it has errors."""
    from dataclasses import asdict

    from ge_core.cli.output import print_json
    from ge_core.device_contract import ChecksFiles
    from ge_core.errors import BackendError
    from ge_core.plugins import host

    backend = host().resolve_target(target).backend()
    if not isinstance(backend, ChecksFiles):
        raise BackendError(f"the target {target!r} has no files of its own to check", fix="ge inspect reads .om files")
    findings = backend.check_file(str(file), target)
    errors = [finding for finding in findings if finding.severity == "error"]
    if json:
        print_json({"path": str(file), "errors": len(errors), "findings": [asdict(f) for f in findings]})
    else:
        for finding in findings:
            print(finding)
        print(f"{file}: {len(errors)} errors, {len(findings) - len(errors)} warnings")
    return ExitCode.TARGET if errors else None
