"""Every hook has a section with its exact signature in docs/plugins.md, and a test that calls it."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from ge_core.plugins import hookspecs
from ge_core.plugins.loader import hook_names
from ge_core.plugins.switches import Switches

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "plugins.md").read_text()


@pytest.mark.parametrize("hook", hook_names())
def test_a_hook_has_a_section_with_its_signature(hook):
    section = re.search(rf"^### {hook}\n(.*?)(?=^#|\Z)", PAGE, flags=re.M | re.S)
    assert section, f"docs/plugins.md has no section '### {hook}'"
    signature = re.sub(r"\s+", " ", f"{hook}{inspect.signature(getattr(hookspecs, hook))}").replace("'", "")
    assert signature in re.sub(r"\s+", " ", section.group(1)).replace("( ", "(").replace(", )", ")")


@pytest.mark.parametrize("hook", hook_names())
def test_a_hook_has_a_test(hook):
    folder = Path(__file__).parent
    users = [path.name for path in folder.glob("test_*.py") if f"def {hook}(" in path.read_text()]
    assert users


def test_every_switch_is_on_the_page():
    for name in re.findall(r"GE_[A-Z]+_PLUGINS", inspect.getsource(inspect.getmodule(Switches))):
        assert f"`{name}" in PAGE
