"""A made-up framework with a frontend, and a host that sees it and the reference target alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from types import ModuleType

import pytest

import ge_core.api
import ge_core.model_store
import ge_core.plugins
import ge_core.verification
from ge_core.plugins import PluginHost, Switches
from ge_core.plugins.discovery import BUILT_IN
from tests.core.api import toy_frontend, toys


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The framework `toys`, whose frontend is installed; no other plugin is."""
    points = [BUILT_IN, EntryPoint("toy", toy_frontend.__name__, "ge_core.frontends")]
    host = PluginHost(Switches(), points=points)
    for module in (ge_core.plugins, ge_core.api, ge_core.model_store, ge_core.verification):
        monkeypatch.setattr(module, "host", lambda: host)
    yield toys
    sys.modules.pop("never", None)
