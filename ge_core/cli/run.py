"""`ge run`: an offline model on arrays."""

from __future__ import annotations

from pathlib import Path

import typer

from ge_core.cli.arguments import INPUT_HELP


def run(
    path: Path = typer.Argument(help="The offline model."),
    inputs: list[str] = typer.Option([], "--input", "-i", help=INPUT_HELP + " Inputs not given get example data."),
    output: Path | None = typer.Option(None, "--output", "-o", help="Write the outputs to this .npz file."),
    sizes: list[str] = typer.Option([], "--size", help="NAME=4: the value of a named size of example data."),
    seed: int = typer.Option(0, help="Seed of example data."),
    repeat: int = typer.Option(1, min=1, help="Call this many times and print the fastest and the median time."),
    profile: bool = typer.Option(False, "--profile", help="Print the time of every step of one call."),
    target: str | None = typer.Option(None, help="Compile the file's graph again for this target."),
    trust: bool = typer.Option(False, "--trust", help="Run native code of the file that was compiled elsewhere."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Load an offline model and call it once or several times."""
    import statistics
    import time

    import numpy as np

    from ge_core import api
    from ge_core.cli.arguments import example_array, inputs_of, options_of
    from ge_core.cli.output import print_json
    from ge_core.cli.progress import progress
    from ge_core.errors import InputError, OfflineModelError
    from ge_core.input_spec import InputSpec
    from ge_core.listed_sizes import read_dims

    with progress(f"loading {path}"):
        model = api.load(path, target=target, trust=trust)
    given = inputs_of(inputs)
    named = {name: value for name, value in given.items() if not name.startswith("#")}
    positions = iter([value for name, value in given.items() if name.startswith("#")])
    unknown = [name for name in named if name not in {spec.name for spec in model.inputs}]
    if unknown:
        raise InputError(f"no input named {', '.join(unknown)}", expected=", ".join(s.name for s in model.inputs))
    listed = {name: values[0] for name, values in read_dims(model.provenance.options.get("dims")).items()}
    known_sizes = listed | {k: v for k, v in options_of(sizes).items() if isinstance(v, int)}
    arrays = []
    for number, spec in enumerate(model.inputs):
        value = named.get(spec.name, next(positions, None) if spec.name not in named else None)
        chosen = value if isinstance(value, InputSpec) else spec
        arrays.append(value if isinstance(value, np.ndarray) else example_array(chosen, known_sizes, seed + number))
    entry = next(iter(model.entries.values()))
    arrays, _ = entry.arrays(arrays)
    session = model.session()
    times = []
    with progress(f"running {path}"):
        for _ in range(repeat):
            start = time.perf_counter()
            results = model.executable.run(arrays, session.states, entry.name)
            times.append(time.perf_counter() - start)
    if output is not None:
        try:
            np.savez(output, **dict(zip((s.name for s in model.outputs), results, strict=True)))
        except OSError as e:
            raise OfflineModelError(f"{output} cannot be written: {e.strerror}") from e
    rows = [
        {"name": s.name, "dtype": str(s.dtype), "shape": list(np.shape(r)), "mean": _mean(r)}
        for s, r in zip(model.outputs, results, strict=True)
    ]
    seconds = {"fastest": min(times), "median": statistics.median(times)}
    steps = model.profile(*arrays) if profile else []
    if json:
        data = {
            "outputs": rows,
            "seconds": seconds,
            "steps": [{"name": s.name, "seconds": s.seconds, "where": str(s.loc)} for s in steps],
        }
        print_json({k: v for k, v in data.items() if k != "steps" or profile})
        return
    for row in rows:
        print(f"{row['name']}: {row['dtype']}{row['shape']}, mean {row['mean']}")
    print(f"fastest {seconds['fastest'] * 1e3:.2f} ms, median {seconds['median'] * 1e3:.2f} ms of {repeat}")
    for step in sorted(steps, key=lambda s: -s.seconds):
        print(f"{step.seconds * 1e3:10.3f} ms  {step.name}")


def _mean(result: object) -> float | None:
    import numpy as np

    array = np.asarray(result)
    return float(array.astype(np.float64).mean()) if array.size and array.dtype.kind != "O" else None
