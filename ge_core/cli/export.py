"""`ge export`: a model or an offline model as an ONNX file."""

from __future__ import annotations

from pathlib import Path

import typer

from ge_core.cli.arguments import INPUT_HELP, MODEL_HELP


def export(
    model: str = typer.Argument(help=MODEL_HELP + " An offline model's graph too."),
    output: Path = typer.Option(..., "--output", "-o", help="The file to write, for example net.onnx."),
    opset: int | None = typer.Option(None, help="Version of the operators; by default the newest."),
    inputs: list[str] = typer.Option([], "--input", "-i", help=INPUT_HELP),
    framework: str | None = typer.Option(None, help="The frontend; by default the model is recognised."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Write the graph of a model in another framework's form."""
    from ge_core import api
    from ge_core.cli.arguments import as_call, inputs_of, model_of
    from ge_core.cli.output import print_json
    from ge_core.cli.progress import progress

    with progress(f"exporting {model}"):
        if model.endswith(".om"):
            api.export(api.load(model), output, opset=opset)
        else:
            args, kwargs = as_call(inputs_of(inputs))
            api.export(model_of(model), output, opset=opset, inputs=args, kwargs=kwargs, framework=framework)
    if json:
        print_json({"path": str(output), "bytes": output.stat().st_size})
    else:
        print(f"{output}: {output.stat().st_size / 2**20:.1f} MiB")
