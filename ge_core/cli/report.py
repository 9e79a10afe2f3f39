"""`ge report`: what a compilation did, and what the target says about the result."""

from __future__ import annotations

import typer

from ge_core.cli.arguments import INPUT_HELP, MODEL_HELP, SET_HELP


def report(
    context: typer.Context,
    model: str = typer.Argument(help=MODEL_HELP + " An offline model too."),
    inputs: list[str] = typer.Option([], "--input", "-i", help=INPUT_HELP),
    framework: str | None = typer.Option(None, help="The frontend; by default the model is recognised."),
    target: str | None = typer.Option(None, help="The target; by default the first usable one."),
    settings: list[str] = typer.Option([], "--set", help=SET_HELP),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Compile a model, or open an offline one, and print its report as text."""
    from ge_core import api
    from ge_core.cli.arguments import as_call, inputs_of, model_of, options_of, plugin_options
    from ge_core.cli.output import print_json
    from ge_core.cli.progress import progress
    from ge_core.device_contract import Describes
    from ge_core.plugins import host

    args, kwargs = as_call(inputs_of(inputs))
    options = options_of(settings) | plugin_options(context.args)
    with progress(f"compiling {model}"):
        if model.endswith(".om"):
            compiled = api.load(model, target=target)
        else:
            compiled = api.compile(model_of(model), args, kwargs, framework=framework, target=target, options=options)
    plugin = host().backend(compiled.provenance.backend)
    backend = plugin.backend()
    given = {key: value for key, value in options.items() if key in plugin.info.options}
    told = backend.describe(compiled.artifact, given) if isinstance(backend, Describes) else ""
    if json:
        print_json({"report": compiled.report.to_json(), "target": told})
        return
    print(compiled.report.summary())
    for notice in compiled.report.notices:
        print(f"  {notice}")
    if told:
        print(told)
