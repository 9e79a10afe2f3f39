"""`ge compile`: a model to an offline model."""

from __future__ import annotations

from pathlib import Path

import typer

from ge_core.cli.arguments import DIM_HELP, INPUT_HELP, MODEL_HELP, SET_HELP


def compile_model(
    context: typer.Context,
    model: str = typer.Argument(help=MODEL_HELP),
    output: Path = typer.Option(..., "--output", "-o", help="The offline model to write."),
    inputs: list[str] = typer.Option([], "--input", "-i", help=INPUT_HELP),
    framework: str | None = typer.Option(None, help="The frontend; by default the model is recognised."),
    target: str | None = typer.Option(None, help="The target; by default the first usable one."),
    optimize: str = typer.Option(
        "default", help="none, default, max (times alternatives on this machine), or a list of switches with commas."
    ),
    precision: str = typer.Option("balanced", help="accuracy, balanced or speed."),
    dims: list[str] = typer.Option([], "--dim", help=DIM_HELP),
    settings: list[str] = typer.Option([], "--set", help=SET_HELP),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Compile a model and write it as an offline model."""
    from ge_core import api
    from ge_core.cli.arguments import as_call, dims_of, inputs_of, model_of, options_of, plugin_options
    from ge_core.cli.output import print_json
    from ge_core.cli.progress import progress

    args, kwargs = as_call(inputs_of(inputs))
    with progress(f"compiling {model}"):
        compiled = api.compile(
            model_of(model),
            args,
            kwargs,
            framework=framework,
            target=target,
            optimize=tuple(optimize.split(",")) if "," in optimize else optimize,
            precision=precision,
            options=options_of(settings) | dims_of(dims) | plugin_options(context.args),
        )
    with progress(f"saving {output}"):
        compiled.save(output)
    if json:
        print_json({"path": str(output), "bytes": output.stat().st_size, "report": compiled.report.to_json()})
    else:
        print(compiled.report.summary())
        print(f"{output}: {output.stat().st_size / 2**20:.1f} MiB")
