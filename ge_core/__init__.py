"""ge: a graph engine that takes models of any framework to an offline model which runs without it.

The public names are loaded when they are first used, so that `import ge_core` stays cheap and imports no
framework.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from ge_core import plugins
    from ge_core.api import (
        CompiledModel,
        CoverageReport,
        Dim,
        EntrySpec,
        InputSpec,
        VerifyReport,
        compile,
        compile_entries,
        coverage,
        export,
        import_model,
        load,
        optimize,
        trace,
        verify,
    )
    from ge_core.errors import GeError
    from ge_core.image_input import Image
    from ge_core.ir import Graph
    from ge_core.plugins import backends, frontends

_HOME = {
    "compile": "ge_core.api",
    "compile_entries": "ge_core.api",
    "trace": "ge_core.api",
    "import_model": "ge_core.api",
    "optimize": "ge_core.api",
    "verify": "ge_core.api",
    "export": "ge_core.api",
    "coverage": "ge_core.api",
    "load": "ge_core.api",
    "CompiledModel": "ge_core.api",
    "CoverageReport": "ge_core.api",
    "Dim": "ge_core.api",
    "EntrySpec": "ge_core.api",
    "InputSpec": "ge_core.api",
    "VerifyReport": "ge_core.api",
    "Graph": "ge_core.ir",
    "Image": "ge_core.image_input",
    "GeError": "ge_core.errors",
    "frontends": "ge_core.plugins",
    "backends": "ge_core.plugins",
}

__all__ = [
    "CompiledModel",
    "CoverageReport",
    "Dim",
    "EntrySpec",
    "GeError",
    "Graph",
    "Image",
    "InputSpec",
    "VerifyReport",
    "__version__",
    "backends",
    "compile",
    "compile_entries",
    "coverage",
    "export",
    "frontends",
    "import_model",
    "load",
    "optimize",
    "plugins",
    "trace",
    "verify",
]


def __getattr__(name: str) -> object:
    if name == "plugins":  # the package itself, which is callable
        return import_module("ge_core.plugins")
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(_HOME) | {"plugins"})
