"""Operators that kernels compute in several steps: how this target writes them, by family.

A result whose size the data decide becomes two steps: its size is counted and bound, then it is made.
"""
