"""Contractions: products, convolutions, pools, attention and recurrent layers."""

from ge_backend_cpu.contract import attention, depthwise, gemm, pack, pad, pairs, pool, winograd

__all__ = ["attention", "depthwise", "gemm", "pack", "pad", "pairs", "pool", "winograd"]
