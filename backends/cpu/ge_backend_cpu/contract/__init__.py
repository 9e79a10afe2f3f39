"""Contractions: products, convolutions, pools, attention and recurrent layers."""

from ge_backend_cpu.contract import (
    attention,
    cells,
    depthwise,
    gemm,
    pack,
    pad,
    pair_image,
    pairs,
    pool,
    quad_image,
    quad_rows,
    quads,
    winograd,
    winograd_late,
)

__all__ = [
    "attention",
    "cells",
    "depthwise",
    "gemm",
    "pack",
    "pad",
    "pair_image",
    "pairs",
    "pool",
    "quad_image",
    "quad_rows",
    "quads",
    "winograd",
    "winograd_late",
]
