"""An image as it comes from a camera or a decoder, and what a model wants of it.

y = (x - mean) / std, per channel, after changing the order of axes; x is in the image's own numbers (0 to 255)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ge_core.errors import OptionError
from ge_core.ir.builder import Builder
from ge_core.ir.dtype import DType, float32
from ge_core.ir.graph import Graph, Value
from ge_core.ir.types import TensorType


@dataclass(frozen=True)
class Image:
    """How an input arrives, for the option `preprocess={"x": Image("uint8", "NHWC", mean=..., std=...)}`.

    The model's own input has four axes in NCHW order and a float type.

    Attributes:
        dtype: element type of what the caller gives.
        layout: order of its axes, NHWC or NCHW.
        mean, std: per channel, or one number for all; in the numbers of `dtype`.
        swap_channels: the caller gives the channels in the opposite order (BGR for RGB).
    """

    dtype: str = "uint8"
    layout: Literal["NHWC", "NCHW"] = "NHWC"
    mean: Sequence[float] | float = 0.0
    std: Sequence[float] | float = 1.0
    swap_channels: bool = False

    def numbers(self, channels: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Mean and std for every channel.

        Raises:
            OptionError: not one number, and not one for each channel.
        """
        found = []
        for name in ("mean", "std"):
            value = getattr(self, name)
            each = (float(value),) * channels if isinstance(value, (int, float)) else tuple(map(float, value))
            if len(each) != channels:
                raise OptionError(
                    f"{name} has {len(each)} numbers", expected=f"{channels}, one for each channel, or one"
                )
            found.append(each)
        if any(value == 0 for value in found[1]):
            raise OptionError("a std of 0", expected="numbers other than 0")
        return found[0], found[1]


def images(given: object) -> dict[str, Image]:
    """The option `preprocess` as images by input name; a table of an image's fields stands for it.

    Raises:
        OptionError: it is no such table.
    """
    expected = "a table of input names and ge_core.Image"
    if not isinstance(given, Mapping):
        raise OptionError(f"preprocess={given!r}", expected=expected)
    found = {}
    for name, image in given.items():
        try:
            found[str(name)] = image if isinstance(image, Image) else Image(**image)
        except TypeError as error:
            raise OptionError(f"preprocess[{name!r}]={image!r}: {error}", expected=expected) from error
    return found


def image_inputs(given: object, graph: Graph) -> dict[Value, Image]:
    """The images of a graph's inputs, checked.

    Raises:
        OptionError: no such input, or one that is no image in NCHW.
    """
    by_name = {value.name: value for value in graph.inputs}
    found = {}
    for name, image in images(given).items():
        value = by_name.get(name)
        if value is None:
            raise OptionError(f"preprocess names the input {name!r}", expected=", ".join(by_name))
        if not isinstance(value.type, TensorType) or len(value.shape) != 4 or not value.dtype.is_float:
            raise OptionError(f"the input {name!r} is {value.type}", expected="a float tensor of four axes, NCHW")
        if not isinstance(value.shape[1], int):
            raise OptionError(f"the input {name!r} has {value.shape[1]} channels", expected="a known number")
        if image.layout not in ("NHWC", "NCHW"):
            raise OptionError(f"the layout {image.layout!r}", expected="NHWC or NCHW")
        image.numbers(value.shape[1])
        found[value] = image
    return found


def prepend_images(graph: Graph, given: object) -> None:
    """Let a graph take images as they come: the operators that prepare them become its first ones.

    Raises:
        OptionError: see `image_inputs`.
    """
    for value, image in image_inputs(given, graph).items():
        channels = value.shape[1]
        assert isinstance(channels, int)
        mean, std = image.numbers(channels)
        n, c, h, w = value.shape
        shape = (n, h, w, c) if image.layout == "NHWC" else (n, c, h, w)
        raw = Value(graph.fresh_name(value.name), TensorType(DType.of(image.dtype), shape), None, graph)
        graph.params[graph.params.index(value)] = raw
        b = Builder(graph, next(iter(graph.nodes), None))
        x = b.Cast(raw, to=float32)
        if image.layout == "NHWC":
            x = b.Transpose(x, perm=[0, 3, 1, 2])
        if image.swap_channels:
            x = b.Gather(x, np.arange(channels)[::-1].copy(), axis=1)
        each = (1, channels, 1, 1)
        x = b.Sub(x, np.array(mean, np.float32).reshape(each))
        x = b.Mul(x, (np.float32(1) / np.array(std, np.float32)).reshape(each))
        value.replace_uses(x if value.dtype == float32 else b.Cast(x, to=value.dtype))
        raw.name, value.name = value.name, raw.name
