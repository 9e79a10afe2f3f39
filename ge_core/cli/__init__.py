"""The command `ge`: one file per command, each importing what it needs when it runs."""

from __future__ import annotations

from ge_core.cli.app import main

__all__ = ["main"]
