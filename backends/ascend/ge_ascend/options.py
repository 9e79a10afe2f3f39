"""The options that the Ascend targets read."""

from __future__ import annotations

from collections.abc import Mapping

OPTIONS: Mapping[str, str] = {
    "precision_mode": "ATC's precision mode, such as force_fp16 or mixed_float16; see docs/ascend.md",
    "allow_unsure": "True: use operators whose mapping no official plugin confirms, such as fused attention",
    "matmul_v2": "True: MatMulV2 on 910B too, for releases of CANN that do not declare MatMulV3",
    "bfloat16": "'float16' or 'float32': what bfloat16 becomes on a chip without it",
    "via": "'air' or 'onnx': what is given to ATC",
    "soc_version": "the chip as ATC names it; by default a common one of the target",
    "gears": "listed sizes of symbols, such as {'batch': [1, 8]}; ATC compiles for these",
    "external_weight": "True: ATC puts the weights beside the offline model",
    "preprocess": "images by input name: AIPP prepares them on the device",
    "atc_options": "further options of ATC, a list",
}
