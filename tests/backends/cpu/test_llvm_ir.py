"""LLVM's text form as generators write it: texts, numbers, and every instruction through LLVM's own reader."""

from __future__ import annotations

import struct

import pytest

from ge_backend_cpu import llvm_ir as ir
from ge_backend_cpu.emit import new_module
from ge_backend_cpu.generate import object_file
from ge_backend_cpu.isa import host
from ge_core.errors import BackendError

I1, I8, I32, I64 = (ir.IntType(n) for n in (1, 8, 32, 64))
HALF, FLOAT, DOUBLE, POINTER = ir.HalfType(), ir.FloatType(), ir.DoubleType(), ir.PointerType()
WIDE, WORDS = ir.VectorType(FLOAT, 4), ir.VectorType(I32, 4)


def function(*arguments: ir.Type, returns: ir.Type = I32) -> tuple[ir.Module, ir.Function, ir.Builder]:
    module = new_module(host())
    made = ir.Function(module, ir.FunctionType(returns, arguments), "f")
    return module, made, ir.Builder(made.append_basic_block("entry"))


def test_a_function_is_the_text_of_its_lines() -> None:
    module, f, b = function(I32, POINTER)
    f.args[1].add_attribute("noalias")
    f.attributes.add("nounwind")
    done = f.append_basic_block("done")
    b.store(b.add(f.args[0], ir.Constant(I32, 7), flags=("nsw",)), f.args[1], align=4)
    b.branch(done)
    b.position_at_end(done)
    b.ret(ir.Constant(I32, 0))
    assert str(module).splitlines()[1:] == [
        'define i32 @"f"(i32 %a0, ptr noalias %a1) nounwind {',
        "entry:",
        "  %v1 = add nsw i32 %a0, 7",
        "  store i32 %v1, ptr %a1, align 4",
        "  br label %done",
        "done:",
        "  ret i32 0",
        "}",
    ]


def test_equal_types_and_constants_are_one_object() -> None:
    assert ir.VectorType(ir.FloatType(), 8) is ir.VectorType(FLOAT, 8) is not ir.VectorType(FLOAT, 4)
    assert ir.Constant(I64, 5) is ir.Constant(I64, 5) is not ir.Constant(I32, 5)
    assert ir.Constant(FLOAT, 0.0) is not ir.Constant(FLOAT, -0.0)


@pytest.mark.parametrize(
    ("type", "number", "text"),
    [
        (I1, True, "1"),
        (I8, -1, "-1"),
        (DOUBLE, 0.1, "0x3fb999999999999a"),
        (FLOAT, 0.1, "0x3fb99999a0000000"),
        (HALF, 0.1, "0x3fb9980000000000"),
        (FLOAT, -0.0, "0x8000000000000000"),
        (FLOAT, float("-inf"), "0xfff0000000000000"),
        (ir.VectorType(I8, 2), [3, -4], "<i8 3, i8 -4>"),
        (ir.ArrayType(I64, 2), [ir.Constant(I64, 1), 2], "[i64 1, i64 2]"),
        (WIDE, ir.Undefined, "undef"),
    ],
)
def test_numbers(type: ir.Type, number: object, text: str) -> None:
    assert ir.Constant(type, number).ref == text


def test_a_constant_has_as_many_elements_as_its_type() -> None:
    with pytest.raises(AssertionError):
        ir.Constant(WORDS, [1, 2, 3])


def test_numbers_reach_the_object_as_they_are() -> None:
    numbers = [0.1, -0.0, float("inf"), 1e-45, 3.4028234663852886e38]
    module, f, b = function(returns=POINTER)
    data = ir.GlobalVariable(module, ir.ArrayType(FLOAT, len(numbers)), "numbers")
    data.global_constant, data.initializer = True, ir.Constant(data.value_type, numbers)
    b.ret(data)
    assert struct.pack(f"<{len(numbers)}f", *numbers) in object_file(str(module), host())


def test_llvm_reads_every_instruction() -> None:
    """What the optimiser takes out was read, and its types checked, before that."""
    module, f, b = function(POINTER, I64, FLOAT, WIDE, WORDS)
    pointer, n, x, v, w = f.args
    one = ir.Constant(I64, 1)
    for name in ("add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr", "and_", "or_", "xor"):
        n = getattr(b, name)(n, one)
        w = getattr(b, name)(w, ir.Constant(WORDS, [1, 2, 3, 4]))
    for name in ("fadd", "fsub", "fmul", "fdiv"):
        x, v = getattr(b, name)(x, x), getattr(b, name)(v, v)
    n, w, x, v = b.neg(b.not_(n)), b.neg(b.not_(w)), b.fneg(x), b.fneg(v)
    assert b.bitcast(x, FLOAT) is x
    n = b.zext(b.trunc(n, I32), I64)
    n = b.sext(b.bitcast(b.fptrunc(b.fpext(x, DOUBLE), FLOAT), I32), I64)
    for to, back in (("sitofp", "fptosi"), ("uitofp", "fptoui")):
        w = getattr(b, back)(getattr(b, to)(w, WIDE), WORDS)
    for sign in ("==", "!=", "<", "<=", ">", ">="):
        for compare in (b.icmp_signed, b.icmp_unsigned):
            n = b.select(compare(sign, n, one), n, one)
            w = b.select(compare(sign, w, w), w, w)
        for compare in (b.fcmp_ordered, b.fcmp_unordered):
            x = b.select(compare(sign, x, x), x, x)
            v = b.select(compare(sign, v, v), v, v)
    n = b.zext(b.and_(b.fcmp_ordered("ord", x, x), b.fcmp_unordered("uno", x, x)), I64)
    slot = b.alloca(WIDE, align=16)
    b.store(v, slot, align=16)
    v = b.load(b.gep(slot, [ir.Constant(I64, 0)], source_etype=FLOAT), typ=WIDE)
    places = b.gep(pointer, [b.sext(w, ir.VectorType(I64, 4))], source_etype=FLOAT)
    assert places.type is ir.VectorType(POINTER, 4)
    gather = module.declared("llvm.masked.gather.v4f32.v4p0", WIDE, [places.type, I32, ir.VectorType(I1, 4), WIDE])
    v = b.call(gather, [places, ir.Constant(I32, 4), ir.Constant(ir.VectorType(I1, 4), [1] * 4), v])
    v = b.insert_element(v, b.extract_element(v, ir.Constant(I32, 1)), ir.Constant(I32, 0))
    v = b.shuffle_vector(v, v, ir.Constant(WORDS, [3, 2, 1, 0]))
    pair = ir.LiteralStructType([I64, FLOAT])
    whole = b.insert_value(ir.Constant(pair, ir.Undefined), n, 0)
    n = b.extract_value(whole, 0)
    again, done = f.append_basic_block("loop"), f.append_basic_block("loop")
    before = b.block
    b.branch(again)
    b.position_at_end(again)
    number = b.phi(I64)
    number.add_incoming(ir.Constant(I64, 0), before)
    further = b.add(number, one)
    number.add_incoming(further, again)
    assert module.declared("llvm.prefetch.p0", ir.VoidType(), []) is module.globals["llvm.prefetch.p0"]
    b.cbranch(b.icmp_signed("<", further, n), again, done)
    b.position_at_end(done)
    b.store(v, pointer)
    b.ret(b.trunc(b.add(n, number), I32))
    module.globals.pop("llvm.prefetch.p0")
    assert [block.name for block in f.blocks] == ["entry", "loop", "loop.1"]
    assert b"ELF" in object_file(str(module), host())[:4]


def test_llvm_refuses_types_that_do_not_fit() -> None:
    module, f, b = function(I64, FLOAT)
    b.ret(b.trunc(b.add(f.args[0], f.args[1]), I32))
    with pytest.raises(BackendError, match="invalid code"):
        object_file(str(module), host())
