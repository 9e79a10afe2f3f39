"""The application: the list of commands, and what happens to their errors.

A command is a function with typed arguments in a file of its own, listed in `COMMANDS`. It prints its result,
raises `GeError` when it fails, and returns an exit code when it has something else to say than "done".
Command files import only typer at the top, so that `ge --help` stays quick.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable

import typer

from ge_core import __version__
from ge_core.cli import check, compile, coverage, export, inspect, plugins, report, run, verify
from ge_core.cli.exit_codes import ExitCode, exit_code
from ge_core.cli.output import print_error
from ge_core.errors import GeError

COMMANDS: dict[str, Callable[..., ExitCode | None]] = {
    "compile": compile.compile_model,
    "run": run.run,
    "inspect": inspect.inspect,
    "verify": verify.verify,
    "coverage": coverage.coverage,
    "check": check.check,
    "report": report.report,
    "export": export.export,
    "plugins": plugins.plugins,
}

PASSING = frozenset({"compile", "verify", "coverage", "report"})
"""Commands that hand options which they do not know to the plugins at work, as `--some-key value`."""


def build() -> typer.Typer:
    """The typer application with every command."""
    app = typer.Typer(
        name="ge",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback(help="Take a model of any framework to an offline model, and run it without the framework.")(_options)
    for name, command in COMMANDS.items():
        passing = {"allow_extra_args": True, "ignore_unknown_options": True} if name in PASSING else {}
        app.command(name, context_settings=passing)(_guarded(command))
    return app


def main() -> None:
    """The entry point of `ge`."""
    build()(prog_name="ge")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"ge {__version__}")
        raise typer.Exit(int(ExitCode.OK))


def _options(
    version: bool = typer.Option(
        False, "--version", help="Print the version and exit.", is_eager=True, callback=_print_version
    ),
) -> None:
    """The options before a command; `version` acts in its callback."""


def _guarded(command: Callable[..., ExitCode | None]) -> Callable[..., None]:
    """The command with its outcome turned into an exit code; errors go to stderr, or to stdout with --json."""

    @functools.wraps(command)
    def run(*args: object, **kwargs: object) -> None:
        try:
            code = command(*args, **kwargs) or ExitCode.OK
        except GeError as error:
            print_error(error, json=bool(kwargs.get("json")))
            code = exit_code(error)
        except KeyboardInterrupt:
            print("ge: interrupted", file=sys.stderr)
            code = ExitCode.INTERRUPTED
        raise typer.Exit(int(code))

    return run
