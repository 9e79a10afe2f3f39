"""Instruction sets: levels that objects are compiled for, the host's level, and LLVM's machine for a level.

A level is what an object needs; kernels are generated for a level and a number of lanes, never for a processor's
name, so that one object runs on every machine of its level.
"""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ge_core.errors import BackendError

ENVIRONMENT = "GE_CPU_ISA"


@dataclass(frozen=True)
class Isa:
    """What a kernel is generated for.

    Attributes:
        level: name of the level.
        triple, cpu, features: LLVM's words for it; `features` are switches such as "+avx512vnni".
        lanes: float32 elements of one vector as generators emit it. A generator may be run with other lanes than
            the level's registers have (LLVM splits the vectors), which is how tests run all widths on one host.
        registers: vector registers.
        extras: features beyond the level that generators may use, such as "avx512vnni".
    """

    level: str
    triple: str
    cpu: str
    lanes: int
    registers: int
    features: tuple[str, ...] = ()
    extras: frozenset[str] = frozenset()

    def __str__(self) -> str:
        """The text that `Isa.of` reads: `level[/lanes][+extra...]`."""
        lanes = "" if self.lanes == LEVELS[self.level].lanes else f"/{self.lanes}"
        return self.level + lanes + "".join(f"+{extra}" for extra in sorted(self.extras))

    @property
    def rank(self) -> int:
        """Levels of one architecture in order of what they can do."""
        return _RANK[self.level]

    @property
    def is_x86(self) -> bool:
        return self.triple.startswith("x86_64")

    def has(self, extra: str) -> bool:
        """Whether generators may use a feature that the level does not imply."""
        return extra in self.extras

    @property
    def runs_here(self) -> bool:
        """Whether this machine executes code of this level and these extras."""
        machine = host()
        if self.is_x86 != machine.is_x86:
            return False
        extras = machine.extras if self.level == machine.level else _features() & set(EXTRAS[self.level])
        return self.rank <= machine.rank and self.extras <= extras

    @staticmethod
    def of(text: str) -> Isa:
        """The instruction set that a text names; "host" is the host's.

        Raises:
            BackendError: unknown level, feature or number of lanes.
        """
        if text == "host":
            return host()
        head, *extras = text.split("+")
        name, _, lanes = head.partition("/")
        if name not in LEVELS:
            raise BackendError(f"unknown instruction set {name!r}", expected=", ".join(("host", *LEVELS)))
        isa = LEVELS[name]
        for extra in extras:
            if extra not in EXTRAS[name]:
                raise BackendError(f"{name} has no extra {extra!r}", expected=", ".join(EXTRAS[name]) or "none")
        if lanes:
            if lanes not in ("4", "8", "16"):
                raise BackendError(f"kernels with {lanes} lanes", expected="4, 8 or 16")
            isa = replace(isa, lanes=int(lanes))
        return replace(isa, extras=frozenset(extras))


_X86 = "x86_64-unknown-linux-gnu"
LEVELS: dict[str, Isa] = {
    "x86-64-v3": Isa("x86-64-v3", _X86, "x86-64-v3", 8, 16),
    "x86-64-v4": Isa("x86-64-v4", _X86, "x86-64-v4", 16, 32, ("-prefer-256-bit",)),
    "aarch64": Isa("aarch64", "aarch64-unknown-linux-gnu", "generic", 4, 32, ("+neon",)),
}
_RANK: dict[str, int] = {"x86-64-v3": 3, "x86-64-v4": 4, "aarch64": 8}
EXTRAS: dict[str, tuple[str, ...]] = {
    "x86-64-v3": ("avxvnni",),
    "x86-64-v4": ("avx512vnni", "avx512bf16", "amx-int8"),
    "aarch64": ("dotprod",),
}
"""Features of which generators make use when the object need not run on every machine of the level."""

_NEEDS: dict[str, tuple[str, ...]] = {
    "x86-64-v3": ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt"),
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}

_WORDS = {
    "abm": "lzcnt", "amx_int8": "amx-int8", "asimddp": "dotprod", "avx512_bf16": "avx512bf16",
    "avx512_vnni": "avx512vnni", "avx_vnni": "avxvnni", "bmi1": "bmi",
}  # fmt: skip
"""Linux's names of features where they differ from LLVM's."""


@lru_cache(maxsize=1)
def host() -> Isa:
    """The best level of this machine, by its features.

    Raises:
        BackendError: it has less than the lowest level.
    """
    machine, features = platform.machine().lower(), _features()
    if machine in ("aarch64", "arm64"):
        return replace(LEVELS["aarch64"], extras=frozenset(features & set(EXTRAS["aarch64"])))
    if machine not in ("x86_64", "amd64") or not set(_NEEDS["x86-64-v3"]) <= features:
        raise BackendError(
            f"this processor ({machine}, {processor()}) is not supported",
            expected="x86-64 with AVX2 and FMA (2013 and later), or aarch64",
            fix="use target='reference'",
        )
    level = "x86-64-v4" if set(_NEEDS["x86-64-v4"]) <= features else "x86-64-v3"
    if "amx-int8" in features and not _tiles_allowed():
        features = features - {"amx-int8"}
    return replace(LEVELS[level], extras=frozenset(features & set(EXTRAS[level])))


def _tiles_allowed() -> bool:
    """Ask the system for the tile registers, for this process and all its threads; whether it gave them.

    Their state is larger than what signal handlers' stacks had to hold before, which is why Linux wants to be asked.
    """
    import ctypes

    arch_prctl, request, tiles = 158, 0x1023, 18
    try:
        return ctypes.CDLL(None).syscall(*map(ctypes.c_long, (arch_prctl, request, tiles))) == 0
    except (OSError, AttributeError):
        return False


def _features() -> set[str]:
    """What the processor and the system can do, in LLVM's words: as the system tells it, else as LLVM finds it.

    The system is asked first, since loading LLVM takes longer than opening a model.
    """
    told = _told().get("flags") or _told().get("Features")
    if told:
        return {_WORDS.get(word, word) for word in told.split()}
    import llvmlite.binding as llvm

    return {name for name, on in llvm.get_host_cpu_features().items() if on}


def processor() -> str:
    """The processor's name, as the system tells it."""
    told = _told()
    return told.get("model name") or " ".join(told.get(f"CPU {part}", "") for part in ("implementer", "part")).strip()


@lru_cache(maxsize=1)
def _told() -> dict[str, str]:
    """What /proc/cpuinfo says about the first processor."""
    found: dict[str, str] = {}
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            for line in lines:
                name, colon, value = line.partition(":")
                if not colon:
                    break
                found[name.strip()] = value.strip()
    except OSError:
        return {}
    return found


def wanted(option: object = None) -> tuple[Isa, ...]:
    """The instruction sets to compile for: the option, else the environment's GE_CPU_ISA, else the host's.

    Args:
        option: a text for `Isa.of`, or several of them in a sequence.

    Raises:
        BackendError: unknown instruction set.
    """
    if option is None:
        option = [name for name in os.environ.get(ENVIRONMENT, "").split(",") if name] or "host"
    if isinstance(option, str):
        option = [option]
    if not isinstance(option, (list, tuple)) or not option or not all(isinstance(x, str) for x in option):
        raise BackendError(f"the option isa is {option!r}", expected="a name or a list of names")
    return tuple(dict.fromkeys(Isa.of(name) for name in option))


@lru_cache(maxsize=1)
def llvm_binding() -> Any:
    """LLVM, with every target that a level needs."""
    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()  # for the inline assembly of the runtime, which is only made for the host
    return llvm


def target_machine(isa: Isa, opt: int = 2) -> Any:
    """LLVM's target machine for position independent objects in the small code model."""
    llvm = llvm_binding()
    features = ",".join((*isa.features, *(f"+{extra}" for extra in sorted(isa.extras))))
    return llvm.Target.from_triple(isa.triple).create_target_machine(
        cpu=isa.cpu, features=features, opt=opt, reloc="pic", codemodel="small"
    )


def supported_platform() -> str:
    """Why kernels cannot run on this operating system; "" when they can."""
    return "" if sys.platform == "linux" else f"the CPU backend runs on Linux, not on {sys.platform}"
