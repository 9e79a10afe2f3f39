"""A site-packages folder of made-up plugins, and hosts that see nothing else."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint, distributions
from pathlib import Path

import pytest

from ge_core.plugins import PluginHost, Switches

GOOD_FRONTEND = """
from ge_core.plugins import ImportedModel, PluginInfo, hookimpl
GE_PLUGIN_API = 1

@hookimpl
def ge_plugin_info():
    return PluginInfo(name={name!r}, kind="frontend", api=1, description="made up", options={{"depth": "how deep"}})

@hookimpl
def ge_claims_model(type_names, path):
    return any(name.startswith({name!r} + ".") for name in type_names) or (path or "").endswith("." + {name!r})

@hookimpl
def ge_import_model(model, inputs, kwargs, dynamic_shapes, options):
    return ImportedModel(graph=("graph", model, inputs, options), signature=None)
"""


class Site:
    """A folder on sys.path, into which packages are written as pip would leave them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(
        self,
        name: str,
        source: str = GOOD_FRONTEND,
        *,
        kind: str = "frontend",
        distribution: str | None = None,
        version: str = "1.0",
        requires: tuple[str, ...] = (),
    ) -> str:
        """Write the plugin `name` of a distribution; returns the distribution's name."""
        distribution = distribution or f"ge-{kind}-{name}"
        module = distribution.replace("-", "_")
        (self.folder / f"{module}.py").write_text(source.format(name=name))
        info = self.folder / f"{module}-{version}.dist-info"
        info.mkdir()
        lines = [f"Requires-Dist: {line}" for line in requires]
        (info / "METADATA").write_text(
            "\n".join(["Metadata-Version: 2.1", f"Name: {distribution}", f"Version: {version}", *lines])
        )
        (info / "entry_points.txt").write_text(f"[ge_core.{kind}s]\n{name} = {module}\n")
        # a real package of this name that some other test has imported would be taken for this one
        for loaded in [m for m in sys.modules if m == module or m.startswith(f"{module}.")]:
            del sys.modules[loaded]
        importlib.invalidate_caches()
        return distribution

    def points(self) -> list[EntryPoint]:
        """The entry points of the folder's packages."""
        found = [point for dist in distributions(path=[str(self.folder)]) for point in dist.entry_points]
        return sorted(found, key=lambda point: (point.group, point.name, str(point.dist and point.dist.name)))

    def host(self, **switches: object) -> PluginHost:
        """A host that sees this folder's plugins alone."""
        return PluginHost(Switches(**switches), points=self.points())  # type: ignore[arg-type]


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    before = dict(sys.modules)
    monkeypatch.syspath_prepend(tmp_path)
    yield Site(tmp_path)
    # Only the folder's own: a compiled module (protobuf's) that is imported twice crashes the process later.
    for name, module in list(sys.modules.items()):
        if name not in before and str(tmp_path) in str(getattr(module, "__file__", None) or ""):
            del sys.modules[name]
    sys.modules.update(before)
