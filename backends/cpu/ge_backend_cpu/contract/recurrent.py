"""The family "contract.recurrent": LSTM, GRU and RNN cells over all time steps, given the inputs' part of the gates.

A work item is one direction of some rows of the batch, whose states stay with one thread: a step is one product with
the packed recurrent weights, then the gates element by element. Gates are padded to whole panels of 16.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from ge_backend_cpu.contract.pack import panels
from ge_backend_cpu.contract.tile import PANEL
from ge_backend_cpu.kernel import Kernel, recipe
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType

FAMILY = "contract.recurrent"
MOST_ROWS = 8
"""Rows of a work item at most."""


def rows_of_item(batch: int) -> int:
    """Rows of a work item: few that are not there, so that 16 are twice 8, and at least two items of many rows."""
    if batch <= 6:
        return max(batch, 1)
    return min(range(min(MOST_ROWS, -(-batch // 2)), 3, -1), key=lambda rows: -(-batch // rows) * rows)


def _padded(size: int) -> int:
    return -(-size // PANEL) * PANEL


@recipe("contract.gate_panels")
def gate_panels(weights: np.ndarray, *, gates: int) -> np.ndarray:
    """Weights [direction, gate * h, i] as panels [direction, panel, i, 16] with every gate in panels of its own."""
    directions, rows, inner = weights.shape
    hidden = rows // gates
    found = np.zeros((directions, gates, _padded(hidden), inner), weights.dtype)
    found[:, :, :hidden] = weights.reshape(directions, gates, hidden, inner)
    shape = [directions, gates * _padded(hidden), inner]
    return panels(found, shape=shape, transpose=True)


@recipe("contract.gate_bias")
def gate_bias(bias: np.ndarray, *, gates: int, apart: bool, dtype: str) -> np.ndarray:
    """Both halves of a bias [direction, 2 * gate * h] added, [direction, gate * h padded].

    Args:
        apart: leave out the last gate's recurrent half, see `hidden_bias`.
    """
    directions = len(bias)
    hidden = bias.shape[1] // (2 * gates)
    ours, recurrent = np.moveaxis(bias.astype(DType.of(dtype).numpy).reshape(directions, 2, gates, hidden), 1, 0)
    if apart:
        recurrent = recurrent.copy()
        recurrent[:, -1] = 0
    found = np.zeros((directions, gates, _padded(hidden)), DType.of(dtype).numpy)
    found[:, :, :hidden] = ours + recurrent
    return found


@recipe("contract.hidden_bias")
def hidden_bias(bias: np.ndarray, *, gates: int, dtype: str) -> np.ndarray:
    """The last gate's recurrent half of a bias, [direction, h padded]."""
    hidden = bias.shape[1] // (2 * gates)
    found = np.zeros((len(bias), _padded(hidden)), DType.of(dtype).numpy)
    found[:, :hidden] = bias[:, -hidden:]
    return found


@recipe("contract.zero_bias")
def zero_bias(weights: np.ndarray, *, gates: int, dtype: str) -> np.ndarray:
    """The bias of a layer without one."""
    return np.zeros((len(weights), gates * _padded(weights.shape[1] // gates)), DType.of(dtype).numpy)


@dataclass(frozen=True)
class Recurrent:
    """What the code depends on.

    Attributes:
        cell: "rnn", "gru" or "lstm".
        arithmetic: of sums, states and gates.
        weights: element type of the panels; y: of results and initial states.
        activations: (name, alpha, beta) as the operator lists them, for all directions.
        clip: bound of what activations get; None for none.
        backwards: for each direction whether it starts at the end.
        rows: of a work item.
        outputs: which of y, last h and last c are wanted.
        starts: which of the initial h and c are given.
        coupled: the forget gate is 1 - input gate.
        peephole: element type of the peephole weights, "" without them.
        lengths: element type of the sequences' lengths, "" without them.
        after: a GRU applies its reset gate after the product.
        projected: the hidden state is projected.
        even: whether the runs of products are multiples of 4.
    """

    cell: Literal["rnn", "gru", "lstm"]
    arithmetic: str
    weights: str
    y: str
    activations: tuple[tuple[str, float, float], ...]
    clip: float | None
    backwards: tuple[bool, ...]
    rows: int
    outputs: tuple[bool, ...]
    starts: tuple[bool, ...]
    coupled: bool = False
    peephole: str = ""
    lengths: str = ""
    after: bool = False
    projected: bool = False
    even: bool = False

    @property
    def gates(self) -> int:
        return {"rnn": 1, "gru": 3, "lstm": 4}[self.cell]

    def operands(self) -> tuple[str, ...]:
        """Names of the kernel's operands, in order."""
        found = ["gates", "panels"]
        found += ["hidden_bias"] if self.after else []
        found += ["projection"] if self.projected else []
        found += ["peephole"] if self.peephole else []
        found += ["lengths"] if self.lengths else []
        found += [name for name, there in zip(("start_h", "start_c"), self.starts, strict=False) if there]
        found.append("work")
        found += [name for name, there in zip(("y", "last_h", "last_c"), self.outputs, strict=False) if there]
        return tuple(found)

    def names(self) -> tuple[str, ...]:
        """The kernel's integers, in order; strides count elements.

        steps, batch, hidden, out: sizes; out is that of the state h. blocks: work items of a direction. area: of an
        item in the workspace. gate_{d,t,b}: strides of the gates' input part by direction, time and batch. y_{t,d,b}:
        of y. h_{d,b}, c_{d,b}: of initial and last states.
        """
        return (
            "steps", "batch", "hidden", "out", "blocks", "area", "gate_d", "gate_t", "gate_b", "y_t", "y_d", "y_b",
            "h_d", "h_b", "c_d", "c_b",
        )  # fmt: skip

    def params(self, values: Mapping[str, Size]) -> tuple[Size, ...]:
        return tuple(values[name] for name in self.names())

    def kernel(self) -> Kernel:
        return Kernel(FAMILY, asdict(self))

    @staticmethod
    def from_json(parameters: Mapping[str, Any]) -> Recurrent:
        given: dict[str, Any] = dict(parameters)
        given["activations"] = tuple(tuple(a) for a in given["activations"])
        for name in ("backwards", "outputs", "starts"):
            given[name] = tuple(given[name])
        return Recurrent(**given)

    def area(self, hidden: Size, out: Size) -> Size:
        """Elements of an item's workspace: two states h, the sums, then c and what goes into a second product.

        Args:
            hidden, out: padded sizes.
        """
        return self.rows * (2 * out + self.gates * hidden + 2 * hidden + out)
