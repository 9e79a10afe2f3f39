"""Contractions: products, convolutions, pools, attention and recurrent layers."""

from ge_backend_cpu.contract import depthwise, gemm, pack, pad, pairs, pool, winograd

__all__ = ["depthwise", "gemm", "pack", "pad", "pairs", "pool", "winograd"]
