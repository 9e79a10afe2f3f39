"""How commands print: JSON for programs, tables for people, errors for both."""

from __future__ import annotations

import json as json_format
import sys
from collections.abc import Mapping

from ge_core.errors import GeError


def print_json(data: object) -> None:
    """One JSON document on stdout."""
    print(json_format.dumps(data, indent=2, ensure_ascii=False))


def print_error(error: GeError, *, json: bool) -> None:
    """The error for a person on stderr, or as {"error": ...} on stdout."""
    if json:
        print_json({"error": error_data(error)})
    else:
        print(error, file=sys.stderr)


def error_data(error: GeError) -> Mapping[str, object]:
    """The parts of an error under stable keys."""
    return {
        "code": error.code,
        "type": type(error).__name__,
        "what": error.what,
        "where": error.where,
        "expected": error.expected,
        "fix": error.fix,
        "details": list(error.details),
    }
