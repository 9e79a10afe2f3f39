"""Built packages, and empty environments in which they are installed by pip."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PROJECTS = [
    ROOT,
    *sorted(path.parent for group in ("frontends", "backends") for path in ROOT.glob(f"{group}/*/pyproject.toml")),
]


def run(*command: object, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; its output stands in the failure when it fails."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("GE_", "PYTHON"))}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**inherited, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done


class Environment:
    """A virtual environment with nothing of ours in it.

    What the packages require from elsewhere is linked from the environment that runs the tests, so that pip finds
    it installed; ge's own packages are left out there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        run(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
        self.python = folder / "bin" / "python"
        (site_packages,) = folder.glob("lib/python*/site-packages")
        shared = folder / "third_party"
        shared.mkdir()
        for name in ("purelib", "platlib"):
            for entry in Path(sysconfig.get_path(name)).iterdir():
                ours = entry.name.startswith(("ge_", "_editable_impl_ge"))
                if not ours and entry.suffix != ".pth" and not (shared / entry.name).exists():
                    (shared / entry.name).symlink_to(entry)
        (site_packages / "third_party.pth").write_text(f"{shared}\n")

    def install(self, find_links: Path, *names: str) -> None:
        """Install from local files alone."""
        options = ("--no-index", "--find-links", find_links, "--no-build-isolation", "--quiet")
        run(sys.executable, "-m", "pip", "--python", self.python, "install", *options, *names, cwd=self.folder)

    def ge(self, *arguments: str) -> Any:
        """The JSON that the installed command prints."""
        return json.loads(run(self.folder / "bin" / "ge", *arguments, "--json", cwd=self.folder).stdout)

    def run(self, code: str) -> str:
        """What a program prints, run outside the source tree."""
        return run(self.python, "-c", code, cwd=self.folder).stdout


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `wheels/` and `sdists/` of every package, each wheel built from its sdist."""
    folder = tmp_path_factory.mktemp("built")
    wheels, sdists = folder / "wheels", folder / "sdists"
    sdists.mkdir()
    for project in PROJECTS:
        run(sys.executable, "-m", "build", "--no-isolation", "--outdir", wheels, project, cwd=folder)
    for sdist in wheels.glob("*.tar.gz"):
        sdist.rename(sdists / sdist.name)
    return folder


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """An empty environment."""
    return Environment(tmp_path / "environment")
