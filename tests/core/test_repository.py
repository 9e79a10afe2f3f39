"""The repository's own files agree with one another: packages, catalogue, pinned versions."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from ge_core.plugins import installed_catalogue

ROOT = Path(__file__).parents[2]
PROJECTS = sorted(
    [ROOT / "pyproject.toml", *ROOT.glob("frontends/*/pyproject.toml"), *ROOT.glob("backends/*/pyproject.toml")]
)


def load_tool():
    spec = importlib.util.spec_from_file_location("third_party", ROOT / "tools" / "third_party.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def project(path: Path) -> dict:
    return tomllib.loads(path.read_text())["project"]


def test_every_requirement_is_pinned():
    tool = load_tool()
    pins = tool.pins((ROOT / "constraints.txt").read_text())
    assert set(tool.third_party(PROJECTS)) <= set(pins)
    names = [line.split("#")[0].strip() for line in (ROOT / "tests" / "requirements.txt").read_text().splitlines()]
    assert {re.sub(r"[-_.]+", "-", name).lower() for name in names if name} <= set(pins)
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in pins.values())


def test_ge_s_own_packages_are_never_asked_of_an_index():
    assert "ge-engine" not in load_tool().third_party(PROJECTS)
    assert not re.search(r"^ge[-_]", (ROOT / "constraints.txt").read_text(), flags=re.M)


@pytest.mark.parametrize("path", [path for path in PROJECTS if path.parent != ROOT], ids=lambda path: path.parent.name)
def test_a_plugin_s_package_agrees_with_the_catalogue(path):
    made = project(path)
    for group, points in made["entry-points"].items():
        kind = group.removeprefix("ge_core.").removesuffix("s")
        for name in points:
            entry = installed_catalogue().find(kind, name)
            assert entry is not None and entry.distribution == made["name"]
    assert any(line.startswith("ge-engine>=") for line in made["dependencies"])


def test_every_package_has_the_licence():
    licence = (ROOT / "LICENSE").read_text()
    for path in PROJECTS:
        assert project(path)["license"] == "Apache-2.0"
        assert (path.parent / "LICENSE").read_text() == licence


def test_no_file_names_a_package_index():
    hosts = "|".join(("pypi" + r"\.org", "python" + "hosted", "registry" + r"\.npmjs"))
    done = subprocess.run(["git", "grep", "-nIE", hosts], cwd=ROOT, capture_output=True, text=True)
    if done.returncode == 128:
        pytest.skip("not a git checkout: nothing to search")
    assert done.stdout == ""
