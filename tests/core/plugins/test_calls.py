"""Each hook's call: what reaches the plugin, what its failures become, what its answers must be."""

from __future__ import annotations

import re

import numpy as np
import pytest

from ge_core.errors import InputError, PluginError, UnsupportedError
from ge_core.plugins import Event, ImportedModel

# Every hook, each as wild as the test asks for through the module's variable `mood`.
WILD = """
import numpy as np
from ge_core.errors import InputError, UnsupportedError
from ge_core.plugins import ImportedModel, PluginInfo, hookimpl
GE_PLUGIN_API = 1
mood = "good"
heard = []

def act(result):
    if mood == "raise":
        raise ValueError("wild" + chr(10) + "second line")
    if mood == "exit":
        raise SystemExit(5)
    if mood == "interrupt":
        raise KeyboardInterrupt
    if mood == "unsupported":
        raise UnsupportedError("one operator is missing", details=["aten.foo"])
    return "nonsense" if mood == "nonsense" else result

@hookimpl
def ge_plugin_info():
    return PluginInfo(name={name!r}, kind="frontend", api=1)

@hookimpl
def ge_claims_model(type_names, path, head):
    return act(type_names == ("a", "b") and path is None and head is None)

@hookimpl
def ge_import_model(model, inputs, kwargs, dynamic_shapes, options):
    return act(ImportedModel((model, inputs, kwargs, dynamic_shapes, options), None))

@hookimpl
def ge_tensor_to_numpy(tensor):
    return act(np.asarray(tensor.data) if type(tensor).__name__ == "WildTensor" else None)

@hookimpl
def ge_tensor_from_numpy(array, like):
    return act((array, like))

@hookimpl
def ge_run_original(model, args, kwargs):
    return act(model(*args, **kwargs))

@hookimpl
def ge_export_graph(graph, path, opset):
    return act((graph, path, opset) == ("g", "p", 18))

@hookimpl
def ge_observe(event):
    heard.append(event)
    act(None)

@hookimpl
def ge_register_passes(registry):
    registry.add({name!r} + ".pass", lambda: "the pass")

@hookimpl
def ge_register_operators(registry):
    registry.add({name!r} + "::Op", lambda: "the operator")
"""


class WildTensor:
    data = (1.0, 2.0)


@pytest.fixture
def wild(site):
    """A host with the one plugin, and the module whose mood decides."""
    import importlib

    site.add("wild", WILD)
    host = site.host()
    plugin = host.frontend("wild")
    return host, plugin, importlib.import_module("ge_frontend_wild")


def test_import_model_hands_over_every_argument(wild):
    _, plugin, _ = wild
    imported = plugin.import_model("m", [1], {"k": 2}, {"x": 3}, {"o": 4})
    assert imported == ImportedModel(("m", [1], {"k": 2}, {"x": 3}, {"o": 4}), None)


def test_claims_hands_over_the_evidence(wild):
    from ge_core.plugins import Evidence

    _, plugin, _ = wild
    assert plugin.claims(Evidence(type_names=("a", "b")))
    assert not plugin.claims(Evidence(path="a", head=b""))


def test_tensors_cross_by_their_owner(wild):
    host, plugin, _ = wild
    tensor = WildTensor()
    assert host.tensor_owner(tensor) is plugin
    np.testing.assert_array_equal(host.tensor_to_numpy(tensor), [1.0, 2.0])
    assert host.tensor_owner(object()) is None and host.tensor_to_numpy(object()) is None
    array = np.ones(2)
    assert plugin.tensor_from_numpy(array, tensor) == (array, tensor)


def test_run_original_runs_the_model(wild):
    _, plugin, _ = wild
    assert plugin.run_original(lambda x, y: (x, y), [1], {"y": 2}) == (1, 2)


def test_export_hands_over_every_argument(wild):
    _, plugin, _ = wild
    plugin.export_graph("g", "p", 18)
    with pytest.raises(PluginError, match="ge_export_graph of the frontend 'wild' returned False"):
        plugin.export_graph("g", "p", None)


CALLS = {
    "ge_import_model": lambda plugin: plugin.import_model("m", None, None, None, {}),
    "ge_tensor_to_numpy": lambda plugin: plugin.tensor_to_numpy(WildTensor()),
    "ge_tensor_from_numpy": lambda plugin: plugin.tensor_from_numpy(np.ones(1), None),
    "ge_run_original": lambda plugin: plugin.run_original(lambda: 1, [], {}),
    "ge_export_graph": lambda plugin: plugin.export_graph("g", "p", 18),
    "ge_observe": lambda plugin: plugin.observe(Event("pass.done")),
}


@pytest.mark.parametrize("hook", CALLS)
def test_a_failure_names_the_plugin_the_hook_and_the_line(wild, hook):
    _, plugin, module = wild
    module.mood = "raise"
    with pytest.raises(PluginError) as caught:
        CALLS[hook](plugin)
    assert caught.value.what == f"the frontend 'wild' failed in {hook}: ValueError: wild"
    assert re.search(r"ge_frontend_wild\.py:\d+ \(ge-frontend-wild 1\.0\)", caught.value.where)
    assert isinstance(caught.value.__cause__, ValueError)


@pytest.mark.parametrize("hook", CALLS)
def test_an_exit_is_contained_and_an_interrupt_is_not(wild, hook):
    _, plugin, module = wild
    module.mood = "exit"
    with pytest.raises(PluginError, match="SystemExit: 5"):
        CALLS[hook](plugin)
    module.mood = "interrupt"
    with pytest.raises(KeyboardInterrupt):
        CALLS[hook](plugin)


@pytest.mark.parametrize("hook", CALLS)
def test_an_error_of_ours_passes_as_it_is(wild, hook):
    _, plugin, module = wild
    module.mood = "unsupported"
    with pytest.raises(UnsupportedError) as caught:
        CALLS[hook](plugin)
    assert caught.value.details == ("aten.foo",)


@pytest.mark.parametrize("hook", ["ge_import_model", "ge_tensor_to_numpy"])
def test_an_answer_of_another_type_is_refused(wild, hook):
    _, plugin, module = wild
    module.mood = "nonsense"
    with pytest.raises(PluginError, match=f"{hook} of the frontend 'wild' returned 'nonsense'"):
        CALLS[hook](plugin)


def test_a_hook_that_is_missing_is_said(site):
    site.add("plain")
    plugin = site.host().frontend("plain")
    with pytest.raises(PluginError, match="the frontend 'plain' has no ge_run_original"):
        plugin.run_original(None, [], {})
    assert plugin.tensor_to_numpy(WildTensor()) is None


def test_observers_hear_and_their_failures_go_no_further(wild, caplog):
    host, _, module = wild
    host.observe(Event("pass.done", {"seconds": 1.0}))
    module.mood = "raise"
    host.observe(Event("build.done"))
    assert [event.name for event in module.heard] == ["pass.done", "build.done"]
    assert "the frontend 'wild' failed in ge_observe" in caplog.text


def test_passes_and_operators_are_registered_at_load(wild):
    host, _, _ = wild
    assert {name: (entry.owner, entry.make()) for name, entry in host.passes.items()} == {
        "wild.pass": ("frontend wild", "the pass")
    }
    assert host.operators["wild::Op"].make() == "the operator"


def test_a_pass_name_given_twice_breaks_the_later_plugin_alone(site):
    site.add("wild", WILD)
    site.add("other", WILD.replace('{name!r} + ".pass"', '"wild.pass"'))
    host = site.host()
    host.frontend("wild")
    with pytest.raises(PluginError, match="two plugins register the pass 'wild.pass'"):
        host.frontend("other")
    assert host.passes["wild.pass"].owner == "frontend wild"
    assert list(host.operators) == ["wild::Op"]


def test_tracing_prints_each_call(site, capsys):
    site.add("wild", WILD)
    plugin = site.host(trace=True).frontend("wild")
    plugin.run_original(lambda x: x, [7], {})
    line = r"ge plugins: wild\.ge_run_original\(model=a function, args=\[7\], kwargs=\{\}\) -> 7 \[\d"
    assert re.search(line, capsys.readouterr().err)


def test_an_input_error_of_a_tensor_hook_reaches_the_caller(site):
    site.add("wild", WILD.replace('raise ValueError("wild"', 'raise InputError("wild"'))
    import importlib

    plugin = site.host().frontend("wild")
    importlib.import_module("ge_frontend_wild").mood = "raise"
    with pytest.raises(InputError, match="wild"):
        plugin.tensor_to_numpy(WildTensor())


def test_a_framework_that_is_missing_comes_with_the_pip_line(site):
    source = "from absent_framework import tensor\n        raise ValueError("
    site.add("wild", WILD.replace("raise ValueError(", source))
    import importlib

    plugin = site.host().frontend("wild")
    importlib.import_module("ge_frontend_wild").mood = "raise"
    with pytest.raises(PluginError, match="No module named 'absent_framework'") as caught:
        plugin.run_original(lambda: 1, [], {})
    assert caught.value.fix.startswith("pip install -U ge-frontend-wild (brings what provides 'absent_framework')")


def test_a_frontend_that_fails_at_every_tensor_does_not_stop_the_others(site, caplog):
    import importlib

    site.add("wild", WILD)
    site.add("able", WILD)
    host = site.host()
    host.statuses()
    importlib.import_module("ge_frontend_able").mood = "raise"
    owner = host.tensor_owner(WildTensor())
    assert owner is not None and owner.name == "wild"
    assert [row.state for row in host.statuses()] == ["broken", "loaded"]
    assert "the frontend 'able' failed in ge_tensor_to_numpy" in caplog.text
