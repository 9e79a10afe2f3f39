"""The environment's switches, the options check, the catalogue's file, and target resolution."""

from __future__ import annotations

import pytest

from ge_core.errors import OptionError, PluginError
from ge_core.plugins import PluginHost, Switches, check_options, installed_catalogue
from ge_core.plugins.catalogue import parse


def test_the_environment_is_read():
    switches = Switches.from_environment(
        {
            "GE_LOAD_PLUGINS": " torch, onnx ",
            "GE_DISABLE_PLUGINS": "cpu",
            "GE_STRICT_PLUGINS": "1",
            "GE_TRACE_PLUGINS": "yes",
        }
    )
    assert switches == Switches(only=frozenset({"torch", "onnx"}), disabled=frozenset({"cpu"}), strict=True, trace=True)
    assert Switches.from_environment({}) == Switches()
    assert Switches.from_environment({"GE_LOAD_PLUGINS": ""}).only == frozenset()


def test_a_switch_that_is_no_switch_is_refused():
    with pytest.raises(PluginError, match="GE_STRICT_PLUGINS='maybe'"):
        Switches.from_environment({"GE_STRICT_PLUGINS": "maybe"})


def test_the_reference_target_cannot_be_switched_off():
    with pytest.raises(PluginError, match="the reference target is built in"):
        Switches.from_environment({"GE_DISABLE_PLUGINS": "reference"})
    assert PluginHost(Switches(only=frozenset())).backend("reference").name == "reference"


def test_the_reference_name_cannot_be_taken(site):
    from ge_core.plugins.discovery import BUILT_IN

    site.add("reference", kind="backend", distribution="evil-reference")
    host = PluginHost(Switches(), points=[*site.points(), BUILT_IN])
    assert host.backend("reference").source.distribution == "ge-engine"


def test_the_default_target_is_the_first_usable_one(site):
    import ge_backend_cpu  # noqa: F401  the made-up package of this name must win over it
    from ge_core.plugins.discovery import BUILT_IN

    site.add("cpu", "1 / 0", kind="backend")
    host = PluginHost(Switches(), points=[*site.points(), BUILT_IN])
    assert host.resolve_target().name == "reference"
    with pytest.raises(PluginError, match="ZeroDivisionError"):
        host.resolve_target("cpu")
    with pytest.raises(PluginError, match="pip install ge-backend-ascend910"):
        host.resolve_target("ascend910")


def test_an_unknown_option_names_the_nearest_and_its_reader(site):
    site.add("one")
    plugin = site.host().frontend("one")
    core = {"share_weights": "share them"}
    check_options({"depth": 3, "share_weights": True}, core, [plugin])
    with pytest.raises(OptionError, match="there is no option 'dept'") as caught:
        check_options({"dept": 3}, core, [plugin])
    assert caught.value.fix == "did you mean 'depth', read by the frontend one?"
    assert "share_weights (the core)" in caught.value.expected


def test_the_catalogue_lists_the_first_party():
    known = installed_catalogue()
    assert [entry.name for entry in known.entries if entry.kind == "frontend"] == [
        "torch",
        "tensorflow",
        "mindspore",
        "paddle",
        "onnx",
        "air",
    ]
    assert [entry.name for entry in known.entries if entry.kind == "backend"] == [
        "reference",
        "cpu",
        "ascend910",
        "ascend310p",
    ]
    assert known.default_targets == ("cpu", "reference")


ENTRY = """
default_targets = []
[[plugins]]
name = "x"
kind = "frontend"
distribution = "ge-x"
description = ""
"""


def test_a_good_entry_is_read():
    (entry,) = parse(ENTRY + "files = [{ suffix = '.x' }]").entries
    assert (entry.name, entry.pip_line, entry.files[0].suffix) == ("x", "pip install ge-x", ".x")


@pytest.mark.parametrize(
    "text",
    [
        "not toml",
        "default_targets = []",
        "plugins = []",
        "default_targets = []\n[[plugins]]\nname = 'x'\nkind = 'wheel'\ndistribution = ''\ndescription = ''",
        "default_targets = []\n[[plugins]]\nname = 'x'\nkind = 'frontend'\ndistribution = ''",
        ENTRY + "colour = 1",
        ENTRY + "files = [{}]",
        ENTRY + "files = [{ sufix = '.x' }]",
    ],
)
def test_a_bad_catalogue_is_refused(text):
    with pytest.raises(PluginError, match="the catalogue of plugins cannot be read"):
        parse(text)
