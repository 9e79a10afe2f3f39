"""docs/write_a_frontend.md runs as it stands: its packages are written out, found and used."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import numpy as np
import pytest

from ge_core.errors import UnsupportedError
from ge_core.ir import symbol

PAGE = (Path(__file__).parents[3] / "docs" / "write_a_frontend.md").read_text()


@pytest.fixture
def tinynet(site):
    """A host that sees the page's frontend, and the framework's module."""
    site.add("tinynet", distribution="ge-frontend-tinynet")
    (site.folder / "ge_frontend_tinynet.py").unlink()
    for path, source in re.findall(r"```python\n# (\S+)\n(.*?)```", PAGE, flags=re.S):
        (site.folder / path).parent.mkdir(exist_ok=True)
        (site.folder / path).write_text(source)
    importlib.invalidate_caches()
    return site.host(), importlib.import_module("tinynet")


def test_the_page_s_frontend_imports_a_net(tinynet):
    host, framework = tinynet
    weight, bias = np.ones((32, 3), np.float32), np.zeros(3, np.float32)
    last = framework.Dense(np.ones((3, 2), np.float32), bias[:2])
    net = framework.Net([framework.Dense(weight, bias, "relu"), last])
    plugin = host.recognise(net)
    graph = plugin.import_model(net, None, None, {"x": "any"}, {}).graph
    assert [node.op for node in graph.nodes] == ["MatMul", "Add", "Relu", "MatMul", "Add"]
    (output,) = graph.outputs
    assert output.type.shape == (symbol("batch", 1), 2)
    assert [node.loc.module for node in graph.nodes][-1] == "layers.1"
    assert any(np.shares_memory(value.constant.array(), weight) for value in graph.constants)


def test_the_page_s_frontend_reports_everything_at_once(tinynet):
    host, framework = tinynet
    layer = framework.Dense(np.ones((4, 4), np.float32), np.zeros(4, np.float32), "swirl")
    net = framework.Net([layer, layer])
    with pytest.raises(UnsupportedError) as caught:
        host.recognise(net).import_model(net, None, None, None, {})
    assert len(caught.value.details) == 2
