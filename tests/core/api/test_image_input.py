"""Models that take images as they come."""

from __future__ import annotations

import numpy as np
import pytest

import ge_core
from ge_core import Image
from ge_core.errors import OptionError
from ge_core.ir import Builder, Graph, symbol


def net() -> Graph:
    graph = Graph("net")
    b = Builder(graph)
    x = b.input("x", "float32", (symbol("batch", 1), 3, 4, 5))
    b.outputs(b.ReduceMean(x, b.ints(2, 3), keepdims=0))
    return graph


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_an_image_is_prepared_before_the_model(layout: str, swap: bool) -> None:
    mean, std = (10.0, 20.0, 30.0), (1.0, 2.0, 4.0)
    image = Image("uint8", layout, mean, std, swap)  # type: ignore[arg-type]
    compiled = ge_core.compile(net(), target="reference", options={"preprocess": {"x": image}})
    (spec,) = compiled.inputs
    assert (spec.name, str(spec.dtype)) == ("x", "uint8")
    raw = np.random.default_rng(0).integers(0, 256, (2, 4, 5, 3) if layout == "NHWC" else (2, 3, 4, 5), np.uint8)
    x = raw.transpose(0, 3, 1, 2) if layout == "NHWC" else raw
    x = x[:, ::-1] if swap else x
    want = ((x - np.float32(mean).reshape(3, 1, 1)) / np.float32(std).reshape(3, 1, 1)).mean((2, 3))
    np.testing.assert_allclose(compiled(raw), want, rtol=1e-5)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"y": Image()}, "names the input 'y'"),
        ({"x": "uint8"}, "a table of input names"),
        ({"x": Image(mean=(1.0, 2.0))}, "mean has 2 numbers"),
        ({"x": Image(std=0.0)}, "a std of 0"),
        ({"x": Image(layout="HWC")}, "the layout 'HWC'"),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_description_is_refused(given: object, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        ge_core.compile(net(), target="reference", options={"preprocess": given})
