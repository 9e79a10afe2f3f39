"""LLVM's code in its text form, as generators write it.

Every instruction becomes a line of text at once, of the length that LLVM's reader needs: generating code takes a
third of the time that objects for instructions take. What is written is checked by LLVM, which reads it.
"""

from ge_backend_cpu.llvm_ir.builder import Builder
from ge_backend_cpu.llvm_ir.types import (
    ArrayType,
    DoubleType,
    FloatType,
    FunctionType,
    HalfType,
    IntType,
    LiteralStructType,
    PointerType,
    Type,
    VectorType,
    VoidType,
)
from ge_backend_cpu.llvm_ir.values import (
    Block,
    Constant,
    Function,
    GlobalVariable,
    Module,
    Undefined,
    Value,
)

__all__ = [
    "ArrayType",
    "Block",
    "Builder",
    "Constant",
    "DoubleType",
    "FloatType",
    "Function",
    "FunctionType",
    "GlobalVariable",
    "HalfType",
    "IntType",
    "LiteralStructType",
    "Module",
    "PointerType",
    "Type",
    "Undefined",
    "Value",
    "VectorType",
    "VoidType",
]
