"""`ge coverage`: which operators of a model are supported."""

from __future__ import annotations

import typer

from ge_core.cli.arguments import INPUT_HELP, MODEL_HELP, SET_HELP
from ge_core.cli.exit_codes import ExitCode


def coverage(
    context: typer.Context,
    model: str = typer.Argument(help=MODEL_HELP),
    inputs: list[str] = typer.Option([], "--input", "-i", help=INPUT_HELP),
    framework: str | None = typer.Option(None, help="The frontend; by default the model is recognised."),
    target: str | None = typer.Option(None, help="The target; by default the first usable one."),
    settings: list[str] = typer.Option([], "--set", help=SET_HELP),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> ExitCode | None:
    """List the operators of a model and everything that is not supported; exit code 4 when there is any."""
    from dataclasses import asdict

    from ge_core import api
    from ge_core.cli.arguments import as_call, inputs_of, model_of, options_of, plugin_options
    from ge_core.cli.output import print_json
    from ge_core.cli.progress import progress

    args, kwargs = as_call(inputs_of(inputs))
    with progress(f"reading {model}"):
        report = api.coverage(
            model_of(model),
            args,
            kwargs,
            framework=framework,
            target=target,
            options=options_of(settings) | plugin_options(context.args),
        )
    if json:
        print_json(asdict(report) | {"complete": report.complete})
    else:
        print(report.summary())
        for operator, count in report.operators.items():
            print(f"{count:8d}  {operator}")
    return None if report.complete else ExitCode.UNSUPPORTED
