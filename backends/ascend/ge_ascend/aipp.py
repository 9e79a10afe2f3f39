"""Images prepared by AIPP, the chip's unit for that, as a configuration for ATC.

AIPP computes (x - mean_chn - min_chn) * var_reci_chn per channel; mean_chn takes integers, so that the mean stands in
min_chn.
"""

from __future__ import annotations

from typing import Any

from ge_core.image_input import image_inputs, images
from ge_core.ir.graph import Graph

_FORMATS = {1: "YUV400_U8", 3: "RGB888_U8"}


def aipp_problem(graph: Graph, given: Any) -> str:
    """Why AIPP cannot prepare these images; empty when it can, or when there are none."""
    if not given:
        return ""
    for value, image in image_inputs(given, graph).items():
        _, channels, height, width = value.shape
        if image.dtype != "uint8" or image.layout != "NHWC":
            return f"{value.name} is {image.dtype} in {image.layout}, AIPP takes uint8 in NHWC"
        if channels not in _FORMATS:
            return f"{value.name} has {channels} channels, AIPP takes 1 or 3"
        if not isinstance(height, int) or not isinstance(width, int):
            return f"{value.name} has sizes that are known at run time only"
    return ""


def aipp_config(graph: Graph, given: Any) -> str:
    """The text of `--insert_op_conf`.

    Args:
        graph: takes the images as they come, in the order of its inputs.
    """
    parts = []
    for rank, value in enumerate(graph.inputs):
        image = images(given).get(value.name)
        if image is None:
            continue
        _, height, width, channels = value.shape
        assert isinstance(channels, int)
        mean, std = image.numbers(channels)
        lines = [
            "aipp_mode: static",
            f"related_input_rank: {rank}",
            f"input_format: {_FORMATS[channels]}",
            f"src_image_size_w: {width}",
            f"src_image_size_h: {height}",
            "csc_switch: false",
            f"rbuv_swap_switch: {'true' if image.swap_channels else 'false'}",
        ]
        for c in range(channels):
            lines += [f"mean_chn_{c}: 0", f"min_chn_{c}: {mean[c]:.8g}", f"var_reci_chn_{c}: {1 / std[c]:.8g}"]
        parts.append("aipp_op {\n" + "".join(f"  {line}\n" for line in lines) + "}\n")
    return "".join(parts)
