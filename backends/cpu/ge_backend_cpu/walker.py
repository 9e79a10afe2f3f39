"""The native runtime: a table of launches, walked by all threads of a team.

Every thread walks the whole table and takes its share of each row; a barrier stands only where a row needs what
other threads did. Rows hold addresses of code and of parameters, nothing that a call changes, so that calls at the
same time share one table. The text is LLVM IR with the system calls as instructions, so that the code needs nothing
outside itself.

Rows, contexts and teams are the structures below; `ROW`, `CONTEXT` and the offsets mirror them.
"""

from __future__ import annotations

import numpy as np

from ge_backend_cpu.isa import LEVELS, Isa

VERSION = 1
"""Part of the symbols' names: code of another version is not used."""

RUN, STOP, WORK = (f"ge_runtime{VERSION}_{name}" for name in ("run", "stop", "work"))

ROW = np.dtype(
    [("function", "u8"), ("extent", "i8"), ("chunks", "i4"), ("flags", "i4"), ("params", "u8"), ("counter", "i8")]
)
"""One launch. `chunks` 1 means that it runs unsplit in the calling thread; `counter` numbers the uneven rows."""
BARRIER, UNEVEN = 1, 2

CONTEXT = np.dtype(
    [("rows", "u8"), ("count", "i8"), ("bases", "u8"), ("counters", "u8"), ("uneven", "i8"), ("error", "i8")]
)
"""One running call. `error` is 0, or (row + 1) * 256 + the status that it returned."""

TEAM_BYTES = 384
EPOCH_AT, CONFIG_AT = 0, 256
"""Places in a team's memory of the epoch (i32) and of threads, barrier spins, idle spins, closed (i32 each)."""

SPINS, YIELDS, IDLE_SPINS = 64, 16, 1500
"""Looks at a barrier before yielding and sleeping; looks for a new call before a worker sleeps (about 50 us)."""

_X86 = {
    "pause": "call void @llvm.x86.sse2.pause()",
    "declare": "declare void @llvm.x86.sse2.pause()",
    "yield": 'call i64 asm sideeffect "syscall", "={rax},{rax},~{rcx},~{r11},~{memory}"(i64 24)',
    "futex": 'call i64 asm sideeffect "syscall", '
    '"={rax},{rax},{rdi},{rsi},{rdx},{r10},~{rcx},~{r11},~{memory}"(i64 202, ptr %word, i64 %op, i64 %value, i64 0)',
}
_AARCH64 = {
    "pause": "call void @llvm.aarch64.hint(i32 1)",
    "declare": "declare void @llvm.aarch64.hint(i32)",
    "yield": 'call i64 asm sideeffect "svc #0", "={x0},{x8},~{memory}"(i64 124)',
    "futex": 'call i64 asm sideeffect "svc #0", '
    '"={x0},{x8},{x0},{x1},{x2},{x3},~{memory}"(i64 98, ptr %word, i64 %op, i64 %value, i64 0)',
}


def source(isa: Isa) -> str:
    """The module's text for an architecture."""
    words = _X86 if isa.is_x86 else _AARCH64
    text = _SOURCE
    for name, value in {**words, "triple": isa.triple, "run": RUN, "stop": STOP, "work": WORK}.items():
        text = text.replace(f"<{name}>", value)
    return text.replace("<yields>", str(YIELDS))


def base_isa(isa: Isa) -> Isa:
    """The lowest level of an architecture: one runtime serves all of them."""
    return LEVELS["x86-64-v3" if isa.is_x86 else "aarch64"]


_SOURCE = r"""
target triple = "<triple>"

%Row = type { ptr, i64, i32, i32, ptr, i64 }
%Context = type { ptr, i64, ptr, ptr, i64, i64 }
; What different threads write lies on different cache lines.
%Team = type { i32, i32, ptr, [48 x i8],      ; 0 epoch (futex word), 1 workers asleep, 2 the call's context
               i32, [60 x i8],                ; 4 arrivals at the barrier
               i32, i32, [56 x i8],           ; 6 barrier generation (futex word), 7 sleepers in the barrier
               i32, [60 x i8],                ; 9 taken by a caller
               i32, i32, i32, i32 }           ; 11 threads, 12 barrier spins, 13 idle spins, 14 closed
%Worker = type { ptr, i32, i32 }              ; team, thread number, epoch at its creation

<declare>

define internal i64 @yield() noinline {
  %r = <yield>
  ret i64 %r
}

; FUTEX_WAIT_PRIVATE 128 sleeps only while the word has the value; FUTEX_WAKE_PRIVATE 129
define internal i64 @futex(ptr %word, i64 %op, i64 %value) noinline {
  %r = <futex>
  ret i64 %r
}

; Spin, then yield, then sleep: an idle core lets the system move the late thread there.
define internal void @barrier(ptr %team) noinline {
  %count = getelementptr %Team, ptr %team, i32 0, i32 4
  %generation = getelementptr %Team, ptr %team, i32 0, i32 6
  %waiters = getelementptr %Team, ptr %team, i32 0, i32 7
  %threads.p = getelementptr %Team, ptr %team, i32 0, i32 11
  %spins.p = getelementptr %Team, ptr %team, i32 0, i32 12
  %threads = load i32, ptr %threads.p
  %old = load atomic i32, ptr %generation monotonic, align 4
  %arrived = atomicrmw add ptr %count, i32 1 acq_rel
  %mine = add i32 %arrived, 1
  %last = icmp eq i32 %mine, %threads
  br i1 %last, label %release, label %wait
release:
  store atomic i32 0, ptr %count monotonic, align 4
  %new = add i32 %old, 1
  store atomic i32 %new, ptr %generation seq_cst, align 4
  %asleep = load atomic i32, ptr %waiters seq_cst, align 4
  %any = icmp sgt i32 %asleep, 0
  br i1 %any, label %wake, label %out
wake:
  %w = call i64 @futex(ptr %generation, i64 129, i64 2147483647)
  ret void
wait:
  %spins = load i32, ptr %spins.p
  %budget = add i32 %spins, <yields>
  br label %look
look:
  %left = phi i32 [ %budget, %wait ], [ %fewer, %relax ], [ %fewer, %share ], [ 0, %sleep ]
  %fewer = sub i32 %left, 1
  %now = load atomic i32, ptr %generation acquire, align 4
  %same = icmp eq i32 %now, %old
  br i1 %same, label %again, label %out
again:
  %spinning = icmp sgt i32 %left, <yields>
  br i1 %spinning, label %relax, label %tired
relax:
  <pause>
  br label %look
tired:
  %yielding = icmp sgt i32 %left, 0
  br i1 %yielding, label %share, label %sleep
share:
  %y = call i64 @yield()
  br label %look
sleep:
  %a = atomicrmw add ptr %waiters, i32 1 seq_cst
  %old64 = zext i32 %old to i64
  %r = call i64 @futex(ptr %generation, i64 128, i64 %old64)
  %b = atomicrmw sub ptr %waiters, i32 1 seq_cst
  br label %look
out:
  ret void
}

; The walk of one thread. After an error the barriers are kept and the work is skipped, so that nobody hangs.
define internal void @walk(ptr %context, ptr %team, i32 %me, i32 %threads) noinline {
entry:
  %rows = load ptr, ptr %context
  %count.p = getelementptr %Context, ptr %context, i32 0, i32 1
  %count = load i64, ptr %count.p
  %bases.p = getelementptr %Context, ptr %context, i32 0, i32 2
  %bases = load ptr, ptr %bases.p
  %counters.p = getelementptr %Context, ptr %context, i32 0, i32 3
  %counters = load ptr, ptr %counters.p
  %error.p = getelementptr %Context, ptr %context, i32 0, i32 5
  %single = icmp eq i32 %threads, 1
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %i.next, %next ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %body, label %done
body:
  %row = getelementptr %Row, ptr %rows, i64 %i
  %function = load ptr, ptr %row
  %extent.p = getelementptr %Row, ptr %row, i32 0, i32 1
  %extent = load i64, ptr %extent.p
  %chunks.p = getelementptr %Row, ptr %row, i32 0, i32 2
  %chunks = load i32, ptr %chunks.p
  %flags.p = getelementptr %Row, ptr %row, i32 0, i32 3
  %flags = load i32, ptr %flags.p
  %params.p = getelementptr %Row, ptr %row, i32 0, i32 4
  %params = load ptr, ptr %params.p
  %barrier.bit = and i32 %flags, 1
  %wants = icmp ne i32 %barrier.bit, 0
  %several = xor i1 %single, true
  %meets = and i1 %wants, %several
  br i1 %meets, label %meet, label %begin
meet:
  call void @barrier(ptr %team)
  br label %begin
begin:
  %failed = load atomic i64, ptr %error.p monotonic, align 8
  %ok = icmp eq i64 %failed, 0
  br i1 %ok, label %choose, label %next
choose:
  br i1 %single, label %whole, label %shared
whole:
  %r0 = call i32 %function(ptr %params, ptr %bases, i64 0, i64 %extent)
  %bad0 = icmp ne i32 %r0, 0
  br i1 %bad0, label %fail, label %next
shared:
  %uneven.bit = and i32 %flags, 2
  %uneven = icmp ne i32 %uneven.bit, 0
  %counter.p = getelementptr %Row, ptr %row, i32 0, i32 5
  %counter.i = load i64, ptr %counter.p
  %counter = getelementptr i64, ptr %counters, i64 %counter.i
  %chunks64 = zext i32 %chunks to i64
  br label %claim
claim:
  %turn = phi i32 [ %me, %shared ], [ %turn.next, %ran ]
  br i1 %uneven, label %take, label %have
take:
  %taken = atomicrmw add ptr %counter, i64 1 monotonic
  %taken32 = trunc i64 %taken to i32
  br label %have
have:
  %k = phi i32 [ %taken32, %take ], [ %turn, %claim ]
  %inside = icmp slt i32 %k, %chunks
  br i1 %inside, label %run, label %next
run:
  %k64 = zext i32 %k to i64
  %k1 = add i64 %k64, 1
  %lo.n = mul i64 %extent, %k64
  %hi.n = mul i64 %extent, %k1
  %lo = sdiv i64 %lo.n, %chunks64
  %hi = sdiv i64 %hi.n, %chunks64
  %r1 = call i32 %function(ptr %params, ptr %bases, i64 %lo, i64 %hi)
  %bad1 = icmp ne i32 %r1, 0
  br i1 %bad1, label %fail, label %ran
ran:
  %turn.next = add i32 %turn, %threads
  br label %claim
fail:
  %status = phi i32 [ %r0, %whole ], [ %r1, %run ]
  %status64 = zext i32 %status to i64
  %number = add i64 %i, 1
  %high = shl i64 %number, 8
  %word = or i64 %high, %status64
  %first = cmpxchg ptr %error.p, i64 0, i64 %word monotonic monotonic
  br label %next
next:
  %i.next = add i64 %i, 1
  br label %head
done:
  ret void
}

define internal void @publish(ptr %team, ptr %context) noinline {
  %epoch = getelementptr %Team, ptr %team, i32 0, i32 0
  %sleepers.p = getelementptr %Team, ptr %team, i32 0, i32 1
  %context.p = getelementptr %Team, ptr %team, i32 0, i32 2
  store ptr %context, ptr %context.p
  %old = atomicrmw add ptr %epoch, i32 1 seq_cst
  %sleepers = load atomic i32, ptr %sleepers.p seq_cst, align 4
  %any = icmp sgt i32 %sleepers, 0
  br i1 %any, label %wake, label %out
wake:
  %r = call i64 @futex(ptr %epoch, i64 129, i64 2147483647)
  br label %out
out:
  ret void
}

; One call: with the team if it is free and `alone` is 0, else in the calling thread. Returns the context's error.
define i64 @<run>(ptr %team, ptr %context, i32 %alone) {
entry:
  %uneven.p = getelementptr %Context, ptr %context, i32 0, i32 4
  %uneven = load i64, ptr %uneven.p
  %counters.p = getelementptr %Context, ptr %context, i32 0, i32 3
  %counters = load ptr, ptr %counters.p
  %error.p = getelementptr %Context, ptr %context, i32 0, i32 5
  store i64 0, ptr %error.p
  %forced = icmp ne i32 %alone, 0
  br i1 %forced, label %solo, label %ask
ask:
  %busy = getelementptr %Team, ptr %team, i32 0, i32 9
  %threads.p = getelementptr %Team, ptr %team, i32 0, i32 11
  %threads = load i32, ptr %threads.p
  %closed.p = getelementptr %Team, ptr %team, i32 0, i32 14
  %closed = load atomic i32, ptr %closed.p monotonic, align 4
  %open = icmp eq i32 %closed, 0
  %several = icmp sgt i32 %threads, 1
  %many = and i1 %several, %open
  br i1 %many, label %try, label %solo
try:
  %pair = cmpxchg ptr %busy, i32 0, i32 1 acquire monotonic
  %mine = extractvalue { i32, i1 } %pair, 1
  br i1 %mine, label %zero, label %solo
solo:
  call void @walk(ptr %context, ptr %team, i32 0, i32 1)
  br label %finish
zero:
  %z = phi i64 [ 0, %try ], [ %z.next, %clear ]
  %left = icmp slt i64 %z, %uneven
  br i1 %left, label %clear, label %together
clear:
  %place = getelementptr i64, ptr %counters, i64 %z
  store volatile i64 0, ptr %place
  %z.next = add i64 %z, 1
  br label %zero
together:
  call void @publish(ptr %team, ptr %context)
  call void @walk(ptr %context, ptr %team, i32 0, i32 %threads)
  call void @barrier(ptr %team)
  store atomic i32 0, ptr %busy release, align 4
  br label %finish
finish:
  %error = load atomic i64, ptr %error.p monotonic, align 8
  ret i64 %error
}

; Close a team: later calls run alone, then "no call" is published. The flag keeps callers from starving us.
define void @<stop>(ptr %team) {
  %busy = getelementptr %Team, ptr %team, i32 0, i32 9
  %closed = getelementptr %Team, ptr %team, i32 0, i32 14
  store atomic i32 1, ptr %closed seq_cst, align 4
  br label %try
try:
  %pair = cmpxchg ptr %busy, i32 0, i32 1 acquire monotonic
  %mine = extractvalue { i32, i1 } %pair, 1
  br i1 %mine, label %ours, label %retry
retry:
  %y = call i64 @yield()
  br label %try
ours:
  call void @publish(ptr %team, ptr null)
  ret void
}

; A worker: wait for a new epoch (spin and yield, since the caller may sit on this very core; then sleep), walk.
define void @<work>(ptr %worker) {
entry:
  %team = load ptr, ptr %worker
  %me.p = getelementptr %Worker, ptr %worker, i32 0, i32 1
  %me = load i32, ptr %me.p
  %seen.p = getelementptr %Worker, ptr %worker, i32 0, i32 2
  %seen0 = load i32, ptr %seen.p
  %epoch = getelementptr %Team, ptr %team, i32 0, i32 0
  %sleepers = getelementptr %Team, ptr %team, i32 0, i32 1
  %context.p = getelementptr %Team, ptr %team, i32 0, i32 2
  %threads.p = getelementptr %Team, ptr %team, i32 0, i32 11
  %threads = load i32, ptr %threads.p
  %idle.p = getelementptr %Team, ptr %team, i32 0, i32 13
  br label %wait
wait:
  %seen = phi i32 [ %seen0, %entry ], [ %fresh, %job ]
  %idle = load i32, ptr %idle.p
  br label %look
look:
  %left = phi i32 [ %idle, %wait ], [ %fewer, %relax ], [ %fewer, %share ], [ 0, %park ]
  %fresh = load atomic i32, ptr %epoch acquire, align 4
  %same = icmp eq i32 %fresh, %seen
  br i1 %same, label %again, label %called
again:
  %spent = icmp sle i32 %left, 0
  br i1 %spent, label %park, label %relax
relax:
  <pause>
  %fewer = sub i32 %left, 1
  %phase = and i32 %fewer, 63
  %turn = icmp eq i32 %phase, 0
  br i1 %turn, label %share, label %look
share:
  %y = call i64 @yield()
  br label %look
park:
  %a = atomicrmw add ptr %sleepers, i32 1 seq_cst
  %seen64 = zext i32 %seen to i64
  %r = call i64 @futex(ptr %epoch, i64 128, i64 %seen64)
  %b = atomicrmw sub ptr %sleepers, i32 1 seq_cst
  br label %look
called:
  %context = load ptr, ptr %context.p
  %stop = icmp eq ptr %context, null
  br i1 %stop, label %out, label %job
job:
  call void @walk(ptr %context, ptr %team, i32 %me, i32 %threads)
  call void @barrier(ptr %team)
  br label %wait
out:
  ret void
}
"""
