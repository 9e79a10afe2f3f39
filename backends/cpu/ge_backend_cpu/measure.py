"""Times the implementations of a node on this machine, for the switch "measure".

Each is planned alone, compiled and called in turn with the others on values of the node's own sizes, while other bytes
pass through the caches between two calls as they do in a model. What was measured is kept in the user's cache under
everything that it depends on, so that the choice is made once and stays; without the cache it is made anew each time.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ge_backend_cpu.cache import Cache, generator_version
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.team import thread_count
from ge_core.backend import Implementation, Options, PlannedBackend, operands
from ge_core.errors import GeError
from ge_core.ir.clone import isolated
from ge_core.ir.graph import Node, Value, constant_of
from ge_core.ir.types import TensorType
from ge_core.passes.base import SWITCHES
from ge_core.plan.aligned import aligned_bytes
from ge_core.plan.build import PlanRequest, build_plan
from ge_core.plan.states import StateStore

if TYPE_CHECKING:
    from ge_core.backend import Storage

ROUNDS = 24
"""Calls of each implementation at most; the fastest counts."""
LEAST_ROUNDS = 4
SECONDS = 0.4
"""For all implementations of a node, after the least rounds."""
BETWEEN = 4 << 20
"""Bytes that pass through the caches between two calls."""

_known: dict[str, list[float]] = {}


def measured(
    backend: PlannedBackend,
    node: Node,
    offered: Sequence[Implementation],
    target: str,
    isa: Isa,
    options: Options,
    cache: Cache | None,
) -> Sequence[Implementation]:
    """The implementations with measured costs.

    As they were where a size is known in the call only, where this machine does not execute the instruction set, and
    where values that are made up are no arguments of the operator.
    """
    if not isa.runs_here or not all(_is_fixed(v) for v in (*operands(node), *node.outputs) if v is not None):
        return offered
    key = _key(node, offered, isa, options)
    if key not in _known:
        stored = None if cache is None else _decoded(cache.get(key), len(offered))
        if stored is None:
            try:
                stored = _Race(backend, node, offered, target, options).run()
            except GeError:
                return offered
            if cache is not None:
                cache.put(key, json.dumps(stored).encode())
        _known[key] = stored
    return [replace(each, cost=seconds) for each, seconds in zip(offered, _known[key], strict=True)]


def _is_fixed(value: Value) -> bool:
    return (
        isinstance(value.type, TensorType)
        and value.type.shape is not None
        and all(isinstance(size, int) for size in value.type.shape)
    )


def _key(node: Node, offered: Sequence[Implementation], isa: Isa, options: Options) -> str:
    """A digest of all that the times depend on: kernels, sizes, storage, machine, threads."""
    from llvmlite.binding import get_host_cpu_name

    values = [
        None if v is None else [str(v.type), constant_of(v) is not None] for v in (*operands(node), *node.outputs)
    ]
    kernels = [
        [i.name, dict(i.data), str(i.workspace), [_storage(s) for s in (*i.inputs, *i.outputs)]] for i in offered
    ]
    threads = thread_count(options.get("num_threads"))
    text = json.dumps([generator_version(), get_host_cpu_name(), str(isa), threads, values, kernels], default=str)
    return hashlib.sha256(b"measured" + text.encode()).hexdigest()


def _storage(storage: Storage) -> list[str]:
    return [str(storage.layout), str(storage.dtype)]


def _decoded(data: bytes | None, count: int) -> list[float] | None:
    if data is None:
        return None
    with suppress(ValueError, TypeError):
        found = [float(seconds) for seconds in json.loads(data)]
        if len(found) == count and all(seconds > 0 for seconds in found):
            return found
    return None


class _Offering:
    """The backend, but with one implementation for one kind of operator."""

    def __init__(self, backend: PlannedBackend, op: str, only: Implementation) -> None:
        self._backend, self._op, self._only = backend, op, only

    def __getattr__(self, name: str) -> Any:
        return getattr(self._backend, name)

    def implementations(self, node: Node, target: str, options: Options) -> Sequence[Implementation]:
        if node.op == self._op:
            return (self._only,)
        return self._backend.implementations(node, target, options)


class _Race:
    """Implementations of one node that are called in turn."""

    def __init__(
        self, backend: PlannedBackend, node: Node, offered: Sequence[Implementation], target: str, options: Options
    ) -> None:
        self.runners: list[tuple[Any, StateStore]] = []
        random = np.random.default_rng(0)
        self.arguments: list[np.ndarray] = []
        for only in offered:
            graph = isolated(node)
            if not self.arguments:
                self.arguments = [_made_up(v.type, random) for v in graph.inputs]  # type: ignore[arg-type]
            graph.stage = "legal"
            request = PlanRequest(
                _Offering(backend, node.op, only),
                target,
                options,
                SWITCHES - {"fusion"},
                "speed",
            )
            plan = build_plan(graph, request)[0]
            executable = backend.load(backend.build({"main": plan}, target, options), options)
            self.runners.append((executable, StateStore(graph.states)))
        self.op, self.between = node.op, aligned_bytes(BETWEEN)

    def run(self) -> list[float]:
        """Seconds of each.

        Raises:
            GeError: the operator refuses the values.
        """
        best = [float("inf")] * len(self.runners)
        end = time.perf_counter() + SECONDS
        for number in range(ROUNDS):
            if number >= LEAST_ROUNDS and time.perf_counter() > end:
                break
            for i, (executable, states) in enumerate(self.runners):
                self.between += 1
                steps = executable.profile(self.arguments, states)
                best[i] = min(best[i], sum(s.seconds for s in steps if s.operator != "ge.Relayout"))
        return best


def _made_up(type: TensorType, random: np.random.Generator) -> np.ndarray:
    """Values of a type: normal ones, zeros for integers, which are indices often."""
    shape = tuple(int(size) for size in type.shape or ())  # type: ignore[arg-type]
    if type.dtype.is_float:
        return random.standard_normal(shape, np.float32).astype(type.dtype.numpy)
    return np.zeros(shape, type.dtype.numpy)
