"""The states of one session: packed bytes that a call reads and updates in place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

import numpy as np

from ge_core.errors import InputError
from ge_core.ir.constant import Constant
from ge_core.ir.dtype import pack, unpack
from ge_core.ir.graph import State
from ge_core.plan.aligned import aligned_bytes
from ge_core.plan.storage import static_shape


class StateBuffer:
    """One state; it stays where it is for the session."""

    def __init__(self, name: str, initial: Constant) -> None:
        self.name, self.type, self._initial = name, initial.type, initial

    @cached_property
    def data(self) -> np.ndarray:
        """Its packed row-major bytes, 64-byte aligned; made at the first use, since a model's first values may be
        absent.

        Raises:
            GeError: they are.
        """
        data = aligned_bytes(self._initial.nbytes)
        self._write(data, self._initial.array())
        return data

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return static_shape(self.type)

    def reset(self) -> None:
        """Back to the value at the start of a session."""
        self._write(self.data, self._initial.array())

    def array(self) -> np.ndarray:
        """The current value: a copy."""
        return unpack(self.data.data, self.type.dtype, self.shape).copy()

    def set(self, value: np.ndarray) -> None:
        """Replace the value.

        Raises:
            InputError: another dtype or shape.
        """
        value = np.asarray(value)
        if value.dtype != self.type.dtype.numpy or value.shape != self.shape:
            raise InputError(
                f"the state {self.name!r} is given {value.dtype}{list(value.shape)}", expected=str(self.type)
            )
        self._write(self.data, value)

    def _write(self, data: np.ndarray, value: np.ndarray) -> None:
        if self.type.dtype.bits >= 8:
            np.copyto(data.view(self.type.dtype.numpy).reshape(self.shape), value)
        else:
            data[:] = np.frombuffer(pack(value, self.type.dtype), np.uint8)


class StateStore(Mapping[str, StateBuffer]):
    """The states of one session by name; several entries of one model share them.

    Attributes:
        damaged: why the values cannot be trusted (a call failed after it had begun to change them), else "".
    """

    def __init__(self, states: Iterable[State] = ()) -> None:
        self._buffers: dict[str, StateBuffer] = {}
        self.damaged = ""
        for state in states:
            self._add(state)

    def _add(self, state: State) -> None:
        known = self._buffers.get(state.name)
        if known is None:
            self._buffers[state.name] = StateBuffer(state.name, state.initial)
        elif known.type != state.initial.type:
            raise InputError(
                f"two entries have a state {state.name!r} of different types",
                expected=f"{known.type}, got {state.initial.type}",
            )

    def reset(self) -> None:
        """All states back to their values at the start of a session."""
        for buffer in self._buffers.values():
            buffer.reset()
        self.damaged = ""

    def check(self) -> None:
        """Refuse to go on with values that a failed call has left half changed.

        Raises:
            InputError: that is the case.
        """
        if self.damaged:
            raise InputError(
                f"the states of this session were left half changed: {self.damaged}",
                fix="call session.reset(), or set every state, before the next call",
            )

    def __getitem__(self, name: str) -> StateBuffer:
        if name not in self._buffers:
            raise InputError(f"there is no state {name!r}", expected=", ".join(sorted(self._buffers)) or "no states")
        return self._buffers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._buffers)

    def __len__(self) -> int:
        return len(self._buffers)
