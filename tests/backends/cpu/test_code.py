"""Instruction sets, generated code, linking, images: what may run, and what is refused."""

from __future__ import annotations

import json
import struct

import numpy as np
import pytest

from ge_backend_cpu import isa as isas
from ge_backend_cpu.compile import compiled
from ge_backend_cpu.elf import Code
from ge_backend_cpu.generate import assembly, compile_text
from ge_backend_cpu.image import Mapped, joined, pack_image, read_image
from ge_backend_cpu.isa import Isa, host, wanted
from ge_backend_cpu.kernel import Kernel, Launch, Operand, generator, recipe_of, size_from_json, source
from ge_backend_cpu.moves import BLOCK, COPY
from ge_core.errors import BackendError
from ge_core.ir.dims import symbol, symbols
from tests.backends.cpu.calling import call

ALL = ["x86-64-v3", "x86-64-v4", "aarch64"]


def test_instruction_sets() -> None:
    for name in ALL:
        assert str(Isa.of(name)) == name
    assert str(Isa.of("x86-64-v3/4")) == "x86-64-v3/4"
    assert Isa.of("x86-64-v3/4").lanes == 4
    assert str(Isa.of("x86-64-v4+avx512vnni")) == "x86-64-v4+avx512vnni"
    assert Isa.of("x86-64-v4+avx512vnni").has("avx512vnni")
    assert host().runs_here
    assert str(Isa.of(str(host()))) == str(host())
    for wrong in ("x86-64-v9", "x86-64-v3/5", "aarch64+avx2"):
        with pytest.raises(BackendError):
            Isa.of(wrong)


def test_wanted_instruction_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    assert wanted() == (host(),)
    assert wanted(["x86-64-v3", "aarch64", "x86-64-v3"]) == (Isa.of("x86-64-v3"), Isa.of("aarch64"))
    monkeypatch.setenv(isas.ENVIRONMENT, "x86-64-v3,aarch64")
    assert [str(i) for i in wanted()] == ["x86-64-v3", "aarch64"]
    for wrong in (3, [], [1]):
        with pytest.raises(BackendError, match="isa"):
            wanted(wrong)


@pytest.mark.parametrize("name", ALL)
def test_objects_for_every_level_on_any_host(name: str) -> None:
    isa = Isa.of(name)
    code = compiled([COPY], isa, workers=0)[COPY.symbol]
    assert code.symbols == {COPY.symbol: 0}
    assert code.alignment == (64 if isa.is_x86 else 4096)
    assert len(code.data) > 50


@pytest.mark.parametrize("name", ["x86-64-v3", "x86-64-v4", "x86-64-v3/4", "x86-64-v3/16"])
@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, BLOCK, BLOCK + 1, 3 * BLOCK + 17])
def test_copies(name: str, size: int) -> None:
    isa = Isa.of(name)
    if not isa.runs_here:
        pytest.skip(f"this machine has no {name}")
    given = np.random.default_rng(size).integers(0, 256, size + 7, np.uint8)
    got = np.full(size + 7, 7, np.uint8)
    blocks = -(-size // BLOCK)
    for lo in range(blocks):
        assert call(COPY, isa, [given, got[1:]], (size,), lo, lo + 1) == 0
    assert np.array_equal(got[1 : size + 1], given[:size])
    assert got[0] == 7 and (got[size + 1 :] == 7).all()


def module(body: str) -> str:
    return f'target triple = "{host().triple}"\n{body}'


def test_calls_out_of_the_code_are_refused() -> None:
    text = module(
        "declare float @expf(float)\ndefine float @f(float %x) {\n%y = call float @expf(float %x)\nret float %y\n}"
    )
    with pytest.raises(BackendError, match="expf"):
        compile_text(text, host())


def test_library_functions_that_llvm_makes_up_are_refused() -> None:
    text = module("define float @f(float %x, float %y) {\n%z = frem float %x, %y\nret float %z\n}")
    with pytest.raises(BackendError, match="fmodf"):
        compile_text(text, host())


def test_writable_data_is_refused() -> None:
    text = module("@n = global i32 0\ndefine i32 @f() {\n%x = load i32, ptr @n\nstore i32 3, ptr @n\nret i32 %x\n}")
    with pytest.raises(BackendError, match="writable"):
        compile_text(text, host())


def test_invalid_code_is_refused() -> None:
    with pytest.raises(BackendError, match="invalid code"):
        compile_text(module("define i32 @f() {\nret float 1.0\n}"), host())


TABLE = """
@table = internal constant [16 x float] [float 0.0, float 1.0, float 2.0, float 3.0, float 4.0, float 5.0, float 6.0,
  float 7.0, float 8.0, float 9.0, float 10.0, float 11.0, float 12.0, float 13.0, float 14.0, float 15.0]
define internal float @inner(i64 %i) noinline {
  %p = getelementptr float, ptr @table, i64 %i
  %x = load float, ptr %p
  ret float %x
}
define i32 @f(ptr %params, ptr %bases, i64 %lo, i64 %hi) {
  %out = load ptr, ptr %bases
  %x = call float @inner(i64 %lo)
  %y = call float @inner(i64 %hi)
  %z = fmul float %x, %y
  store float %z, ptr %out
  ret i32 0
}
"""


def test_constants_and_inner_calls_are_linked() -> None:
    code = compile_text(module(TABLE), host())
    mapped = Mapped(joined([compile_text(module("define void @other() {\nret void\n}"), host()), code]))
    import ctypes

    word = ctypes.c_int64
    f = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, word, word)(mapped.address("f"))
    out = np.zeros(1, np.float32)
    bases = np.array([out.ctypes.data], np.uint64)
    assert f(None, bases.ctypes.data, 3, 5) == 0
    assert out[0] == 15.0
    with pytest.raises(BackendError, match="lack"):
        mapped.address("nothing")


def test_aarch64_code_is_linked() -> None:
    """The addresses in the code, decoded by hand: page and low bits of the table, the offset of the inner call."""
    isa = Isa.of("aarch64")
    code = compile_text(f'target triple = "{isa.triple}"\n{TABLE}', isa)
    words = struct.unpack(f"<{len(code.data) // 4}I", code.data)
    table = code.data.index(struct.pack("<16f", *range(16)))
    calls, pages = 0, 0
    for i, word in enumerate(words[: table // 4]):
        if word >> 26 == 0b100101:  # bl
            offset = (word & 0x3FFFFFF) << 2
            target = 4 * i + (offset - (1 << 28) if offset >> 27 else offset)
            assert 0 <= target < table
            calls += 1
        if word & 0x9F000000 == 0x90000000:  # adrp, then add
            pages += 1
            page = (word >> 29 & 3) | (word >> 5 & 0x7FFFF) << 2
            low = words[i + 1] >> 10 & 0xFFF
            assert (4 * i >> 12 << 12) + (page << 12) + low == table
    assert calls == 2 and pages == 1


def test_images_tell_damage() -> None:
    code = compiled([COPY], host(), workers=0)[COPY.symbol]
    image = pack_image(str(host()), code)
    assert read_image(image).code == Code(code.symbols, code.data)
    for at in range(0, len(image), 7):
        broken = bytearray(image)
        broken[at] ^= 0x41
        with pytest.raises(BackendError, match="damaged"):
            read_image(bytes(broken))
    for size in (0, 7, 40, len(image) - 1):
        with pytest.raises(BackendError, match="damaged"):
            read_image(image[:size])


def test_no_loop_becomes_a_library_call() -> None:
    """LLVM would turn this loop into memset, which the object does not have."""
    from ge_backend_cpu import llvm_ir as ir
    from ge_backend_cpu.emit import Function, new_module
    from ge_core.ir.dtype import DType

    made = new_module(host())
    f = Function(made, "zero", host(), 1, ("n",))
    with f.loop(0, f.params["n"]) as loop:
        f.store(ir.Constant(ir.IntType(8), 0), f.operands[0], loop.index, DType.of("uint8"))
    f.finish()
    assert "memset" not in assembly(str(made), host())


def test_an_index_is_computed_once_in_a_block() -> None:
    from ge_backend_cpu.emit import Function, new_module
    from ge_core.ir.dtype import float32

    made = new_module(host())
    f = Function(made, "sums", host(), 2, ("n",))
    with f.loop(0, f.params["n"]) as loop:
        for k in range(4):
            at = f.add(f.mul(f.mul(loop.index, 4), 16), k)
            f.store(f.load(f.operands[0], at, float32), f.operands[1], at, float32)
    f.finish()
    body = str(made).split("body:")[1]
    assert body.count(" mul ") == 1 and ", 256" in body  # 4 * 16 * 4 bytes
    assert body.count(" add ") == 1  # the loop's own
    assert body.count(" getelementptr ") == 2 * 4  # two operands, of which each has one address and three others
    import ctypes

    word, items = ctypes.c_int64, 3
    mapped = Mapped(compile_text(str(made), host()))
    sums = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, word, word)(mapped.address("sums"))
    given, out = np.arange(200, dtype=np.float32), np.zeros(200, np.float32)
    words = np.array([0, 0, 1, 0, items], np.int64)
    bases = np.array([given.ctypes.data, out.ctypes.data], np.uint64)
    assert sums(words.ctypes.data, bases.ctypes.data, 0, 1) == 0
    read = np.add.outer(np.arange(items) * 64, np.arange(4)).ravel()
    assert np.array_equal(np.flatnonzero(out), read[1:]) and np.array_equal(out[read], given[read])


def test_kernels_are_equal_by_content() -> None:
    a, b = Kernel("loops", {"x": 1, "y": [1, 2]}), Kernel("loops", {"y": [1, 2], "x": 1})
    assert a == b and hash(a) == hash(b) and a.symbol == b.symbol
    assert Kernel("loops", {"x": 2}).symbol != a.symbol
    assert Kernel("contract.gemm", {}).symbol.startswith("contract_gemm_")


def test_launches_travel_as_json() -> None:
    n = symbol("n", 1)
    launch = Launch(
        kernel=Kernel("moves.copy", {"block": 4}),
        operands=(source(1, n * 4), Operand("prepared", key="w"), Operand("work", offset=64)),
        params=(n, 3, n // 2 + 1),
        extent=n * n,
        picoseconds=n * 1000,
        barrier=False,
        uneven=True,
    )
    (known,) = symbols(n)
    data = json.loads(json.dumps(launch.to_json()))
    assert Launch.from_json(data, {"n": known}) == launch
    assert size_from_json("2*n + 1", {"n": known}) == 2 * n + 1


def test_unknown_families_and_recipes() -> None:
    for name in ("nothing", "moves.nothing"):
        with pytest.raises(BackendError, match=name):
            generator(name)
        with pytest.raises(BackendError, match=name):
            recipe_of(name)
