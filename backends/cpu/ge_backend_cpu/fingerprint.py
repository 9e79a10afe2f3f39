"""Keyed digests of weights at the speed of memory: what the cache of compiled models is searched by.

Data are cut into blocks of 8 KiB, the last one filled with zeros, and each block becomes 32 bytes by NH of UMAC
(Black, Halevi, Krawczyk, Krovetz, Rogaway: "UMAC: Fast and Secure Message Authentication", 1999; RFC 4418):

    NH(m, k) = sum over i of ((m[2i] + k[2i]) mod 2^32) * ((m[2i+1] + k[2i+1]) mod 2^32), mod 2^64

in four passes, each with the key moved on by one vector (the Toeplitz construction of that paper). Two different
blocks of one place have the same 32 bytes with a probability of at most 2^-128 over random keys. These bytes and the
lengths of the data then go through BLAKE2b, keyed by the secret too: lists of different lengths, or with one
different block, have the same fingerprint with a probability of about 2^-128.
"""

from __future__ import annotations

import ctypes
import hashlib
import struct
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from ge_backend_cpu.cache import Cache, generator_version
from ge_backend_cpu.elf import Code
from ge_backend_cpu.image import Mapped, pack_image, read_image
from ge_backend_cpu.isa import Isa, host
from ge_core.plan.aligned import aligned_bytes

BLOCK = 8192
PASSES = 4
_SYMBOL = "ge_fingerprint"

_SOURCE = """
target triple = "<triple>"

; rows of data, number of blocks, and where PASSES sums of each go
define void @<symbol>(ptr %rows, i64 %count, ptr %key) {
start:
  br label %row
row:
  %r = phi i64 [0, %start], [%r.next, %next]
  %row.p = getelementptr [3 x i64], ptr %rows, i64 %r
  %left = icmp slt i64 %r, %count
  br i1 %left, label %begin, label %end
begin:
  %data = load ptr, ptr %row.p
  %blocks.p = getelementptr i64, ptr %row.p, i64 1
  %blocks = load i64, ptr %blocks.p
  %out.p = getelementptr i64, ptr %row.p, i64 2
  %out = load ptr, ptr %out.p
  br label %block
block:
  %b = phi i64 [0, %begin], [%b.next, %done]
  %from = mul i64 %b, <block>
  %to = mul i64 %b, <sums>
  %m = getelementptr i8, ptr %data, i64 %from
  %o = getelementptr i8, ptr %out, i64 %to
  %more = icmp slt i64 %b, %blocks
  br i1 %more, label %vector, label %next
vector:
  %at = phi i64 [0, %block], [%at.next, %vector]
<accumulators>
  %pm = getelementptr i8, ptr %m, i64 %at
  %w = load <<words> x i32>, ptr %pm, align 1
  %pk = getelementptr i8, ptr %key, i64 %at
<passes>
  %at.next = add i64 %at, <step>
  %last = icmp eq i64 %at.next, <block>
  br i1 %last, label %done, label %vector
done:
<results>
  %b.next = add i64 %b, 1
  br label %block
next:
  %r.next = add i64 %r, 1
  br label %row
end:
  ret void
}
declare i64 @llvm.vector.reduce.add.v<lanes>i64(<<lanes> x i64>)
"""
_ACCUMULATOR = "  %a<p> = phi <<lanes> x i64> [zeroinitializer, %block], [%a<p>.next, %vector]"
_PASS = """
  %pk<p> = getelementptr i8, ptr %pk, i64 <shift>
  %k<p> = load <<words> x i32>, ptr %pk<p>, align 1
  %s<p> = add <<words> x i32> %w, %k<p>
  %t<p> = bitcast <<words> x i32> %s<p> to <<lanes> x i64>
  %hi<p> = lshr <<lanes> x i64> %t<p>, <thirty-two>
  %lo<p> = and <<lanes> x i64> %t<p>, <mask>
  %x<p> = mul <<lanes> x i64> %lo<p>, %hi<p>
  %a<p>.next = add <<lanes> x i64> %a<p>, %x<p>"""
_RESULT = """
  %r<p> = call i64 @llvm.vector.reduce.add.v<lanes>i64(<<lanes> x i64> %a<p>.next)
  %po<p> = getelementptr i64, ptr %o, i64 <p>
  store i64 %r<p>, ptr %po<p>, align 8"""


def source(isa: Isa) -> str:
    """The module's text for an instruction set."""
    lanes = isa.lanes // 2
    step = lanes * 8
    many = {"thirty-two": 32, "mask": 0xFFFFFFFF}
    texts = {name: f"<{', '.join([f'i64 {value}'] * lanes)}>" for name, value in many.items()}

    def repeated(text: str) -> str:
        return "\n".join(text.replace("<p>", str(p)).replace("<shift>", str(p * step)) for p in range(PASSES))

    values = {
        "accumulators": repeated(_ACCUMULATOR), "passes": repeated(_PASS), "results": repeated(_RESULT), **texts,
        "triple": isa.triple, "symbol": _SYMBOL, "block": BLOCK, "sums": 8 * PASSES, "step": step, "lanes": lanes,
        "words": 2 * lanes,
    }  # fmt: skip
    text = _SOURCE
    for name, value in values.items():
        text = text.replace(f"<{name}>", str(value))
    return text


def fingerprint(secret: bytes, data: Sequence[np.ndarray], meanwhile: Callable[[], None] | None = None) -> bytes:
    """See `ge_core.device_contract.KeepsModels.fingerprint`; the bound is about 2^-128.

    Args:
        meanwhile: called while the data are read, without holding it up.
    """
    key, native, blocks = _key(secret), _native(), [-(-len(array) // BLOCK) for array in data]
    sums = np.empty(sum(blocks) * PASSES, np.int64)
    rows: list[tuple[int, int, int]] = []
    at, filled = sums.ctypes.data, []
    for array in data:
        whole, rest = divmod(len(array), BLOCK)
        rows.append((array.ctypes.data, whole, at))
        at += whole * PASSES * 8
        if rest:
            filled.append(np.zeros(BLOCK, np.uint8))
            filled[-1][:rest] = array[whole * BLOCK :]
            rows.append((filled[-1].ctypes.data, 1, at))
            at += PASSES * 8
    table = np.array(rows, np.int64).reshape(-1, 3)
    aside = threading.Thread(target=native, args=(table, key))
    if meanwhile is not None:
        aside.start()
        meanwhile()
        aside.join()
    else:
        native(table, key)
    digest = hashlib.blake2b(digest_size=32, key=secret)
    digest.update(struct.pack(f"<{len(data) + 1}q", len(data), *(len(array) for array in data)))
    digest.update(sums.data)
    return digest.digest()


@lru_cache(maxsize=4)
def _key(secret: bytes) -> np.ndarray:
    """The words that blocks are added to: of a stream that only the secret tells."""
    size = BLOCK + (PASSES - 1) * 64  # the widest vector moves it by 64 bytes
    key = aligned_bytes(size)
    key[:] = np.frombuffer(hashlib.shake_256(b"ge fingerprint" + secret).digest(size), np.uint8)
    return key


class _Native:
    """The kernel as a function of the table of rows, which is an array of its words."""

    def __init__(self, code: Code) -> None:
        self._code = Mapped(code)
        pointer = ctypes.c_void_p
        self._run = ctypes.CFUNCTYPE(None, pointer, ctypes.c_int64, pointer)(self._code.address(_SYMBOL))

    def __call__(self, table: np.ndarray, key: np.ndarray) -> None:
        self._run(table.ctypes.data, len(table), key.ctypes.data)


@lru_cache(maxsize=1)
def _native() -> _Native:
    return _Native(native_code(host()))


def native_code(isa: Isa) -> Code:
    """The kernel's code, from the user's cache or compiled."""
    cache, key = Cache(), f"{1:02}fingerprint-{isa}-{generator_version()}"
    stored = cache.get(key)
    if stored is not None:
        return read_image(stored).code
    from ge_backend_cpu.generate import compile_text

    code = compile_text(source(isa), isa)
    cache.put(key, pack_image(str(isa), code))
    return code
