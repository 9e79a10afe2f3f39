"""Contractions: products, convolutions, pools, attention and recurrent layers."""

from ge_backend_cpu.contract import gemm, pack, pad

__all__ = ["gemm", "pack", "pad"]
