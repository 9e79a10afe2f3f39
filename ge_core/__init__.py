"""ge: a graph engine that takes models of any framework to an offline model which runs without it.

The public names are loaded when they are first used, so that `import ge_core` stays cheap and imports no
framework.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from . import plugins
    from .api import (
        CompiledModel,
        CoverageReport,
        InputSpec,
        VerifyReport,
        compile,
        coverage,
        export,
        import_model,
        load,
        optimize,
        trace,
        verify,
    )
    from .errors import GeError
    from .ir import Graph
    from .plugins import backends, frontends

_HOME = {
    "compile": ".api",
    "trace": ".api",
    "import_model": ".api",
    "optimize": ".api",
    "verify": ".api",
    "export": ".api",
    "coverage": ".api",
    "load": ".api",
    "CompiledModel": ".api",
    "CoverageReport": ".api",
    "InputSpec": ".api",
    "VerifyReport": ".api",
    "Graph": ".ir",
    "GeError": ".errors",
    "frontends": ".plugins",
    "backends": ".plugins",
}

__all__ = [
    "CompiledModel",
    "CoverageReport",
    "GeError",
    "Graph",
    "InputSpec",
    "VerifyReport",
    "__version__",
    "backends",
    "compile",
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
        return import_module(".plugins", __name__)
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home, __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(_HOME) | {"plugins"})
