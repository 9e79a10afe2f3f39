"""`ge verify`: a model in its own framework against the compiled one."""

from __future__ import annotations

from pathlib import Path

import typer

from ge_core.cli.arguments import INPUT_HELP, MODEL_HELP, SET_HELP
from ge_core.cli.exit_codes import ExitCode


def verify(
    context: typer.Context,
    model: str = typer.Argument(help=MODEL_HELP),
    offline: Path | None = typer.Option(None, "--om", help="Compare this offline model instead of compiling."),
    inputs: list[str] = typer.Option([], "--input", "-i", help=INPUT_HELP),
    tolerance: float | None = typer.Option(None, help="Largest difference as a part of the output's scale."),
    framework: str | None = typer.Option(None, help="The frontend; by default the model is recognised."),
    target: str | None = typer.Option(None, help="The target; by default the first usable one."),
    seed: int = typer.Option(0, help="Seed of the data for inputs given by shape."),
    settings: list[str] = typer.Option([], "--set", help=SET_HELP),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> ExitCode | None:
    """Run the original and the compiled model on the same inputs and compare; exit code 10 when they differ."""
    from dataclasses import asdict

    from ge_core import api
    from ge_core.cli.arguments import as_call, example_array, inputs_of, model_of, options_of, plugin_options
    from ge_core.cli.output import print_json
    from ge_core.cli.progress import progress
    from ge_core.input_spec import InputSpec

    given = inputs_of(inputs)
    for number, (name, value) in enumerate(given.items()):
        if isinstance(value, InputSpec):
            given[name] = example_array(value, {}, seed + number)
    args, kwargs = as_call(given)
    compiled = None if offline is None else api.load(offline)
    with progress(f"verifying {model}"):
        report = api.verify(
            model_of(model),
            args,
            kwargs,
            compiled=compiled,
            tolerance=tolerance,
            framework=framework,
            target=target,
            options=options_of(settings) | plugin_options(context.args),
        )
    if json:
        print_json(asdict(report) | {"passed": report.passed})
    else:
        print(report.summary())
    return None if report.passed else ExitCode.DIVERGED
