"""The package as a whole: cheap to import, free of frameworks, its public names documented and reachable."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ge_core
from ge_core import errors

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_is_cheap_and_brings_no_framework():
    """Processor time, the best of three: a busy machine makes every import slow."""
    code = (
        "import time, sys; t = time.process_time(); import ge_core, ge_core.plugins;"
        "took = time.process_time() - t;"
        "heavy = {'numpy', 'torch', 'tensorflow', 'paddle', 'mindspore', 'onnx', 'llvmlite'} & set(sys.modules);"
        "print(took < 0.3, sorted(heavy))"
    )
    assert "True []\n" in [python(code) for _ in range(3)]


def test_the_public_names_are_listed_and_the_unknown_is_an_attribute_error():
    assert set(ge_core.__all__) <= set(dir(ge_core))
    for name in ("frontends", "backends", "plugins", "GeError"):
        assert callable(getattr(ge_core, name))
    assert not hasattr(ge_core, "compiel")


def test_plugins_is_a_package_and_a_function():
    code = (
        "import ge_core; rows = ge_core.plugins(load=False);"
        "import ge_core.plugins as package; print(package.host().statuses(load=False) == rows, len(rows) > 0)"
    )
    assert python(code) == "True True\n"


def test_no_submodule_hides_a_public_function():
    """Importing ge_core.load would replace the function `ge_core.load`; only `plugins` is both, on purpose."""
    package = Path(ge_core.__file__).parent
    submodules = {path.stem for path in package.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert submodules & set(ge_core.__all__) == {"plugins"}


def test_every_error_code_is_unique_and_has_its_line():
    classes = [
        value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, errors.GeError)
    ]
    codes = [cls.code for cls in classes]
    assert len(set(codes)) == len(codes)
    rows = [line for line in (DOCS / "error_codes.md").read_text().splitlines() if line.startswith("| GE")]
    documented = {tuple(cell.strip(" `") for cell in row.split("|")[1:3]) for row in rows}
    assert documented == {(cls.code, cls.__name__) for cls in classes}
