"""The packages as a user gets them: built, installed by pip into empty environments, found and guarded."""

from __future__ import annotations

import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.e2e.conftest import PROJECTS, Environment, run

OURS = sorted(tomllib.loads((path / "pyproject.toml").read_text())["project"]["name"] for path in PROJECTS)

TORCH_IMPORTS = """
import torch
from ge_core.plugins import host

model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())
plugin = host().recognise(model)
graph = plugin.import_model(model, (torch.ones(2, 4),), None, None, {}).graph
print(plugin.name, [node.op for node in graph.nodes][-1])
"""


def test_a_wheel_holds_what_it_must(built):
    (engine,) = built.glob("wheels/ge_engine-*.whl")
    with zipfile.ZipFile(engine) as archive:
        names = set(archive.namelist())
        points = archive.read("ge_engine-0.1.0.dist-info/entry_points.txt").decode()
    assert {"ge_core/plugins.toml", "ge_core/py.typed", "ge_engine-0.1.0.dist-info/licenses/LICENSE"} <= names
    assert not [name for name in names if not name.startswith(("ge_core/", "ge_engine-0.1.0.dist-info/"))]
    assert "ge = ge_core.cli:main" in points
    assert len(list(built.glob("wheels/*.whl"))) == len(list(built.glob("sdists/*.tar.gz"))) == len(PROJECTS)


def test_the_engine_alone_works_and_says_what_to_install(built, environment):
    environment.install(built / "wheels", "ge-engine")
    (reference,) = environment.ge("plugins")["plugins"]
    assert (reference["name"], reference["state"]) == ("reference", "loaded")
    printed = environment.run(
        "import ge_core, ge_core.plugins as p\n"
        "print(ge_core.__file__)\n"
        "Layer = type('Layer', (), {'__module__': 'paddle.nn.layer.layers'})\n"
        "try:\n    p.host().recognise(Layer())\nexcept ge_core.GeError as error:\n    print(error.fix)"
    ).splitlines()
    assert Path(printed[0]).is_relative_to(environment.folder)
    assert printed[1] == "pip install ge-frontend-paddle"


@pytest.mark.parametrize("kind", ["wheels", "sdists"])
def test_every_package_installs_and_is_found(built, environment, kind):
    environment.install(built / kind, *OURS)
    rows = environment.ge("plugins", "--check")["plugins"]
    assert {row["distribution"] for row in rows} == set(OURS)
    assert {row["state"] for row in rows} == {"loaded"}, rows
    assert [row["early_imports"] for row in rows] == [[]] * len(rows)
    assert max(row["load_ms"] for row in rows) < 50


INFO = """
from ge_core.plugins import PluginInfo, hookimpl

GE_PLUGIN_API = {api}


@hookimpl
def ge_plugin_info():
    return PluginInfo(name={name!r}, kind="frontend", api=GE_PLUGIN_API)


@hookimpl
def ge_claims_model(type_names):
    {claim}


@hookimpl
def ge_import_model(model):
    raise AssertionError("this model is not ours")
"""

# Each bad package: the name of its entry point, its module, and what `ge plugins` must say of it.
BAD = {
    "bad-import": ("missing", "import a_framework_that_is_not_there\n", "a_framework_that_is_not_there"),
    "bad-duplicate": (
        "torch",
        INFO.format(api=1, name="torch", claim="return True"),
        "the frontend name 'torch' belongs to ge-frontend-torch",
    ),
    "bad-old-api": (
        "old",
        INFO.format(api=0, name="old", claim="return True"),
        "written for plugin API 0, too old",
    ),
    "bad-unknown-hook": (
        "unknown",
        INFO.format(api=1, name="unknown", claim="return False") + "\n\n@hookimpl\ndef ge_paint(model):\n    pass\n",
        "ge_paint",
    ),
    "bad-raising-hook": (
        "raising",
        INFO.format(api=1, name="raising", claim="raise RuntimeError('not in the mood')"),
        "ge_claims_model failed: RuntimeError: not in the mood",
    ),
}


def write_package(folder: Path, distribution: str, entry: str, source: str) -> Path:
    """A package with one frontend, as its author would write it."""
    module = distribution.replace("-", "_")
    (folder / module).mkdir(parents=True)
    (folder / module / "__init__.py").write_text(source)
    (folder / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        f'[project]\nname = "{distribution}"\nversion = "1.0"\ndependencies = ["ge-engine"]\n'
        f'[project.entry-points."ge_core.frontends"]\n{entry} = "{module}"\n'
    )
    return folder


def test_bad_packages_are_told_with_their_reasons_and_harm_nobody(built, environment, tmp_path):
    bad_wheels = tmp_path / "bad"
    for distribution, (entry, source, _) in BAD.items():
        project = write_package(tmp_path / distribution, distribution, entry, source)
        run(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", bad_wheels, project, cwd=tmp_path)
    environment.install(built / "wheels", "ge-engine", "ge-frontend-torch")
    environment.install(bad_wheels, *BAD)

    rows = {row["distribution"]: row for row in environment.ge("plugins")["plugins"]}

    for distribution, (entry, _, reason) in BAD.items():
        row = rows[distribution]
        assert (row["name"], row["state"]) == (entry, "broken")
        assert reason in row["reason"]
        assert distribution in row["fix"]
    assert rows["ge-frontend-torch"]["state"] == "loaded"
    assert environment.run(TORCH_IMPORTS) == "torch Relu\n"


def test_strict_makes_a_bad_package_an_error(built, environment, tmp_path):
    project = write_package(tmp_path / "bad-import", "bad-import", *BAD["bad-import"][:2])
    run(sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", tmp_path / "bad", project, cwd=tmp_path)
    environment.install(built / "wheels", "ge-engine")
    environment.install(tmp_path / "bad", "bad-import")
    printed = environment.run(
        "import os; os.environ['GE_STRICT_PLUGINS'] = '1'\n"
        "import ge_core\n"
        "try:\n    ge_core.plugins()\nexcept ge_core.GeError as error:\n    print(error.code, error.what)"
    )
    assert printed.startswith("GE800 the frontend 'missing' is broken: import failed: ModuleNotFoundError")


def test_a_missing_requirement_is_found_by_the_closer_look(built, environment: Environment):
    environment.install(built / "wheels", "ge-engine", "ge-frontend-onnx")
    for name in ("onnx", *(path.name for path in environment.folder.glob("third_party/onnx-*.dist-info"))):
        (environment.folder / "third_party" / name).unlink()
    done = environment.run(
        "from ge_core.plugins import examine, host\nfor f in examine(host()): print(f.distribution, f.problem, f.fix)"
    )
    assert "ge-frontend-onnx not installed: onnx pip install onnx\n" in done
