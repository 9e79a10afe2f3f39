"""Loading is guarded: whatever is wrong with a plugin becomes its reason, and touches no other."""

from __future__ import annotations

import logging
import sys

import pytest

from ge_core.errors import PluginError

GOOD_BACKEND = """
from ge_core.plugins import PluginInfo, hookimpl
GE_PLUGIN_API = 1

class Backend:
    kind = "planned"

    def targets(self):
        return ()

@hookimpl
def ge_plugin_info():
    return PluginInfo(name={name!r}, kind="backend", api=1)

@hookimpl
def ge_backend():
    return Backend()
"""

INFO = """
from ge_core.plugins import PluginInfo, hookimpl
GE_PLUGIN_API = 1

@hookimpl
def ge_plugin_info():
    return PluginInfo(name={name!r}, kind="frontend", api=1)
"""

CLAIM_AND_IMPORT = """
@hookimpl
def ge_claims_model(type_names):
    return False

@hookimpl
def ge_import_model(model):
    return None
"""

BROKEN = {
    "import error": ("import no_such_module_of_ours", "import failed: ModuleNotFoundError"),
    "exit at import": ("raise SystemExit(3)", "import failed: SystemExit: 3"),
    "syntax error": ("def (", "import failed: SyntaxError"),
    "no api number": ("x = 1", "states no plugin API number: GE_PLUGIN_API is None"),
    "old api number": ("GE_PLUGIN_API = 0", "written for plugin API 0, too old"),
    "new api number": ("GE_PLUGIN_API = 99", "written for plugin API 99, too new"),
    "unknown hook": (
        INFO + CLAIM_AND_IMPORT + "\n@hookimpl\ndef ge_paint_model(): pass\n",
        "ge_paint_model",
    ),
    "unknown argument": (
        INFO + "\n@hookimpl\ndef ge_claims_model(colour): pass\n",
        "breaks the hook contract: PluginValidationError",
    ),
    "unmarked hook": (
        INFO + CLAIM_AND_IMPORT + "\ndef ge_tensor_to_numpy(tensor): pass\n",
        "ge_tensor_to_numpy lacks the @hookimpl mark",
    ),
    "no import hook": (INFO, "a frontend needs the hooks ge_claims_model, ge_import_model"),
    "info raises": (
        "from ge_core.plugins import hookimpl\nGE_PLUGIN_API = 1\n"
        "@hookimpl\ndef ge_plugin_info(): raise RuntimeError('out of order')\n" + CLAIM_AND_IMPORT,
        "ge_plugin_info failed: RuntimeError: out of order",
    ),
    "info is no info": (
        "from ge_core.plugins import hookimpl\nGE_PLUGIN_API = 1\n"
        "@hookimpl\ndef ge_plugin_info(): return 'me'\n" + CLAIM_AND_IMPORT,
        "ge_plugin_info returned str, not PluginInfo",
    ),
    "another name": (
        INFO.replace("{name!r}", "'somebody'") + CLAIM_AND_IMPORT,
        "calls itself the frontend 'somebody', installed as the frontend 'bad'",
    ),
    "another api": (INFO.replace("api=1", "api=0") + CLAIM_AND_IMPORT, "ge_plugin_info gives API 0"),
    "claims everything": (
        INFO + CLAIM_AND_IMPORT.replace("return False", "return True"),
        "ge_claims_model claims every object",
    ),
    "claim raises": (
        INFO + CLAIM_AND_IMPORT.replace("return False", "raise KeyError('x')"),
        "ge_claims_model failed: KeyError: 'x'",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_plugin_is_remembered_with_its_reason(site, what, caplog):
    source, reason = BROKEN[what]
    site.add("bad", source if "{name!r}" in source else source.replace("{", "{{").replace("}", "}}"))
    site.add("good")
    host = site.host()

    with caplog.at_level(logging.WARNING):
        bad, good = host.statuses("frontend")

    assert (bad.state, good.state) == ("broken", "loaded")
    assert reason in bad.reason
    assert bad.fix.startswith("pip install")
    assert reason in caplog.text
    with pytest.raises(PluginError, match="the frontend 'bad' is broken") as caught:
        host.frontend("bad")
    assert reason in str(caught.value)
    assert host.frontend("good").info.description == "made up"


def test_the_cause_of_a_broken_import_is_chained(site):
    site.add("bad", "1 / 0")
    with pytest.raises(PluginError) as caught:
        site.host().frontend("bad")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_interrupt_during_import_is_not_swallowed(site):
    site.add("bad", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        site.host().frontend("bad")


def test_strict_makes_a_broken_plugin_fatal(site):
    site.add("bad", "1 / 0")
    with pytest.raises(PluginError, match="ZeroDivisionError"):
        site.host(strict=True).statuses()


def test_only_the_asked_plugin_is_imported(site):
    site.add("one")
    site.add("two")
    host = site.host()
    assert [row.state for row in host.statuses(load=False)] == ["available", "available"]
    host.frontend("one")
    assert "ge_frontend_one" in sys.modules
    assert "ge_frontend_two" not in sys.modules
    assert [row.state for row in host.statuses(load=False)] == ["loaded", "available"]


def test_a_disabled_plugin_is_never_imported(site):
    site.add("one")
    site.add("two")
    host = site.host(disabled=frozenset({"one"}))
    one, two = host.statuses()
    assert (one.state, one.reason) == ("disabled", "named in GE_DISABLE_PLUGINS")
    assert two.state == "loaded"
    assert "ge_frontend_one" not in sys.modules
    with pytest.raises(PluginError, match="the frontend 'one' is disabled: named in GE_DISABLE_PLUGINS"):
        host.frontend("one")


def test_an_exact_list_leaves_the_others_out(site):
    site.add("one")
    site.add("two")
    assert [row.state for row in site.host(only=frozenset({"two"})).statuses()] == ["disabled", "loaded"]
    assert [row.state for row in site.host(only=frozenset()).statuses()] == ["disabled", "disabled"]


def test_a_name_given_twice_belongs_to_neither_and_names_both(site):
    site.add("twin", distribution="ge-frontend-twin")
    site.add("twin", distribution="another-twin")
    host = site.host()
    assert [row.state for row in host.statuses()] == ["broken", "broken"]
    with pytest.raises(PluginError, match="given twice, by another-twin and ge-frontend-twin"):
        host.frontend("twin")
    assert not {"ge_frontend_twin", "another_twin"} & set(sys.modules)


def test_nobody_takes_a_first_party_name(site):
    site.add("torch", distribution="ge-frontend-torch")
    site.add("torch", distribution="evil-torch")
    host = site.host()
    assert host.frontend("torch").source.distribution == "ge-frontend-torch"
    thief = next(row for row in host.statuses() if row.distribution == "evil-torch")
    assert (thief.state, thief.reason) == (
        "broken",
        "the frontend name 'torch' belongs to ge-frontend-torch",
    )
    assert thief.fix == "pip uninstall evil-torch"
    assert "evil_torch" not in sys.modules


def test_a_frontend_and_a_backend_may_share_a_name(site):
    site.add("both")
    site.add("both", GOOD_BACKEND, kind="backend")
    assert [(row.kind, row.state) for row in site.host().statuses()] == [
        ("backend", "loaded"),
        ("frontend", "loaded"),
    ]


def test_a_plugin_that_is_not_installed_comes_with_its_pip_line(site):
    with pytest.raises(PluginError, match="pip install ge-frontend-paddle"):
        site.host().frontend("paddle")
    with pytest.raises(PluginError, match="there is no frontend named 'caffe'"):
        site.host().frontend("caffe")


def test_early_imports_of_a_framework_are_noted(site):
    (site.folder / "mindspore.py").write_text("")
    site.add("one", "import mindspore\n" + INFO + CLAIM_AND_IMPORT)
    source = (site.folder / "ge_frontend_one.py").read_text()
    assert source.startswith("import mindspore")
    (row,) = site.host().statuses()
    assert row.early_imports == ("mindspore",)


def test_a_backend_is_made_once(site):
    site.add("metal", GOOD_BACKEND, kind="backend")
    plugin = site.host().backend("metal")
    assert plugin.backend() is plugin.backend()


def test_what_is_no_backend_is_refused(site):
    site.add("metal", GOOD_BACKEND.replace('kind = "planned"', 'kind = "wild"'), kind="backend")
    with pytest.raises(PluginError, match="ge_backend of the backend 'metal' returned a Backend"):
        site.host().backend("metal").backend()
