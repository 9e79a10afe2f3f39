"""Contractions: products, convolutions, pools, attention and recurrent layers."""

from ge_backend_cpu.contract import attention, cells, depthwise, gemm, pack, pad, pairs, pool, winograd

__all__ = ["attention", "cells", "depthwise", "gemm", "pack", "pad", "pairs", "pool", "winograd"]
