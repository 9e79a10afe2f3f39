"""Every command has its section and every exit code its line in docs/command_line.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from ge_core.cli.app import COMMANDS
from ge_core.cli.exit_codes import MEANING, ExitCode

PAGE = (Path(__file__).parents[3] / "docs" / "command_line.md").read_text()


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_has_a_section(command):
    assert f"\n## ge {command}\n" in PAGE


@pytest.mark.parametrize("code", ExitCode)
def test_an_exit_code_has_a_line(code):
    assert f"| {int(code)} | {MEANING[code]} |" in PAGE
