"""The exit codes of `ge`; scripts may rely on them. Their table stands in docs/command_line.md."""

from __future__ import annotations

from enum import IntEnum

from ge_core.errors import (
    BackendError,
    ExecutionError,
    GeError,
    InputError,
    ModelImportError,
    OfflineModelError,
    OptionError,
    PluginError,
    UnsupportedError,
)


class ExitCode(IntEnum):
    """What a command's exit code says. 2 is also what a wrong command line gives."""

    OK = 0
    FAILED = 1
    USAGE = 2
    MODEL = 3
    UNSUPPORTED = 4
    TARGET = 5
    OFFLINE_MODEL = 6
    PLUGIN = 7
    INPUT = 8
    EXECUTION = 9
    DIVERGED = 10
    INTERRUPTED = 130


MEANING: dict[ExitCode, str] = {
    ExitCode.OK: "done",
    ExitCode.FAILED: "an error of ge itself: an invalid graph, a failed pass, no plan",
    ExitCode.USAGE: "a wrong command line or option",
    ExitCode.MODEL: "the model cannot be read or is not recognised",
    ExitCode.UNSUPPORTED: "the model uses operators that are not supported; the message lists them",
    ExitCode.TARGET: "the target cannot compile or load this model",
    ExitCode.OFFLINE_MODEL: "the offline model is damaged, from another version, or cannot be written",
    ExitCode.PLUGIN: "a plugin is missing, disabled or broken",
    ExitCode.INPUT: "the inputs do not fit the model",
    ExitCode.EXECUTION: "a step failed while running",
    ExitCode.DIVERGED: "ge verify: the results differ by more than the tolerance",
    ExitCode.INTERRUPTED: "interrupted by Ctrl-C",
}

# The most specific class comes first.
_BY_ERROR: tuple[tuple[type[GeError], ExitCode], ...] = (
    (UnsupportedError, ExitCode.UNSUPPORTED),
    (ModelImportError, ExitCode.MODEL),
    (OptionError, ExitCode.USAGE),
    (BackendError, ExitCode.TARGET),
    (OfflineModelError, ExitCode.OFFLINE_MODEL),
    (PluginError, ExitCode.PLUGIN),
    (InputError, ExitCode.INPUT),
    (ExecutionError, ExitCode.EXECUTION),
)


def exit_code(error: GeError) -> ExitCode:
    """The exit code for an error."""
    return next((code for cls, code in _BY_ERROR if isinstance(error, cls)), ExitCode.FAILED)
