"""LSTM, GRU and RNN layers: one product for all inputs, then one kernel over the time steps."""

from __future__ import annotations

from collections.abc import Sequence

from ge_backend_cpu.contract.arithmetic import arithmetic_of
from ge_backend_cpu.contract.cost import example, figures
from ge_backend_cpu.contract.epilogue import Epilogue, Side, Step
from ge_backend_cpu.contract.matrix import Matrix
from ge_backend_cpu.contract.plan import Plan, Walk, multiply
from ge_backend_cpu.contract.product import Product
from ge_backend_cpu.contract.recurrent import Recurrent, rows_of_item
from ge_backend_cpu.contract.site import Collected
from ge_backend_cpu.contract.tile import PANEL
from ge_backend_cpu.contract.windows import NodeAttributes
from ge_backend_cpu.implementations import implementation
from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import Launch, Operand, Recipe, launch_data, result, source
from ge_backend_cpu.serial.launch import launched
from ge_core.backend import Implementation, Options
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.graph import Node, constant_of
from ge_core.ops.rnn import activations, directions

_CELLS = {"RNN": "rnn", "GRU": "gru", "LSTM": "lstm", "ge.LSTM": "lstm"}


@implementation(*_CELLS)
def recurrent(node: Node, isa: Isa, options: Options) -> Sequence[Implementation]:
    """A kernel for a layer whose directions have the same activations."""
    x, w, r = (node.input(i) for i in range(3))
    assert x is not None and w is not None and r is not None
    functions = activations(NodeAttributes(node), node.op)
    known = all(isinstance(size, int) for size in (*w.shape, *r.shape))
    if arithmetic_of(x.dtype) is None or any(f != functions[0] for f in functions) or not known:
        return ()
    return [_Layer(node, isa).implementation()]


class _Layer:
    """One layer while its launches are made."""

    def __init__(self, node: Node, isa: Isa) -> None:
        self.node, self.plan = node, Plan(isa)
        self.attributes = NodeAttributes(node)
        x, weights, recurrence = (node.input(i) for i in range(3))
        assert x is not None and weights is not None and recurrence is not None
        self.x = x
        found = arithmetic_of(x.dtype)
        assert found is not None
        self.sums = found
        self.batch_first = bool(self.attributes.attr("layout"))
        self.steps, self.batch = (x.shape[1], x.shape[0]) if self.batch_first else (x.shape[0], x.shape[1])
        gates = {"rnn": 1, "gru": 3, "lstm": 4}[_CELLS[node.op]]
        directions, rows, inner = weights.shape
        out = recurrence.shape[2]
        assert isinstance(directions, int) and isinstance(rows, int) and isinstance(inner, int) and isinstance(out, int)
        self.directions, self.inner, self.out = directions, inner, out
        self.hidden, self.gates = rows // gates, gates
        self.padded = [-(-size // PANEL) * PANEL for size in (self.hidden, self.out)]
        self.weights = recurrence.dtype
        self.projection = node.input(7) if node.op == "ge.LSTM" else None

    def implementation(self) -> Implementation:
        gates = self._inputs()
        self._cells(gates)
        seconds = sum(example(launch.picoseconds) for launch in self.plan.launches) * 1e-12
        return Implementation(
            name=_CELLS[self.node.op],
            workspace=self.plan.workspace,
            cost=seconds,
            precision="accurate",
            data=launch_data(self.plan.launches, self.plan.recipes),
        )

    @property
    def after(self) -> bool:
        """Whether the reset gate of a GRU comes after the product."""
        return self.node.op == "GRU" and bool(self.attributes.attr("linear_before_reset"))

    def _inputs(self) -> Operand:
        """The inputs' part of all gates: [direction][row of the input][gate padded]."""
        plan, x, line = self.plan, self.x, self.gates * self.padded[0]
        rows = self.steps * self.batch
        a = plan.rows(Matrix(source(0), x.dtype, rows, self.inner, self.inner, 1), (), self.sums)
        panels = self._panels("inputs", 1, self.gates)
        dtype = self.sums.element.name
        bias = self._bias()
        target = plan.reserve(self.directions * rows * line, self.sums.element)
        add = Step(["add", ["value", 0], ["side", 0]], dtype)
        epilogue = Epilogue(dtype, (add,), (Side("column", dtype),), (1,))
        product = Product(a=dtype, b=self._stored(1), arithmetic=self.sums.name, epilogue=epilogue)
        multiply(
            plan, product, Collected(epilogue, ()), a.at, panels,
            {"m": rows, "n": line, "k": self.inner, "columns": line},
            Walk((rows,), (self.inner,), (line,)), batch=[(self.directions, 0, line * self.inner, rows * line)],
            outputs=[target], sides=[bias],
        )  # fmt: skip
        return target

    def _stored(self, index: int) -> str:
        value = self.node.input(index)
        assert value is not None
        return value.dtype.name

    def _cells(self, gates: Operand) -> None:
        plan, node = self.plan, self.node
        rows = rows_of_item(self.batch if isinstance(self.batch, int) else 4)
        blocks = dims.ceildiv(self.batch, rows)
        peephole = node.input(7) if node.op == "LSTM" else None
        lengths, starts = node.input(4), (node.input(5), node.input(6) if self.gates == 4 else None)
        functions = activations(self.attributes, node.op)[0]
        form = Recurrent(
            cell=_CELLS[node.op],  # type: ignore[arg-type]
            arithmetic=self.sums.name,
            weights=self.weights.name,
            y=self.x.dtype.name,
            activations=tuple((f.name, f.alpha or 0.0, f.beta or 0.0) for f in functions),
            clip=None if node.op == "ge.LSTM" else self.attributes.attr("clip"),
            backwards=directions(self.attributes),
            rows=rows,
            outputs=tuple(i < len(node.outputs) and node.outputs[i] is not None for i in range(3)),
            starts=tuple(s is not None for s in starts),
            coupled=node.op == "LSTM" and bool(self.attributes.attr("input_forget")),
            peephole="" if peephole is None else peephole.dtype.name,
            lengths="" if lengths is None else lengths.dtype.name,
            after=self.after,
            projected=self.projection is not None,
            even=self.out % 4 == 0 and (self.projection is None or self.hidden % 4 == 0),
        )
        area = form.area(self.padded[0], self.padded[1])
        found = {
            "gates": gates,
            "panels": self._panels("panels", 2, self.gates),
            "work": plan.reserve(self.directions * blocks * area, self.sums.element),
            "lengths": source(4), "start_h": source(5), "start_c": source(6), "peephole": source(7),
            "y": result(0), "last_h": result(1), "last_c": result(2),
        }  # fmt: skip
        if form.after:
            found["hidden_bias"] = self._hidden_bias()
        if form.projected:
            found["projection"] = self._panels("projection", 7, 1)
        line, whole = self.gates * self.padded[0], self.batch * self.steps
        count = self.directions
        time, row = (line, self.steps * line) if self.batch_first else (self.batch * line, line)
        values: dict[str, Size] = {
            "steps": self.steps, "batch": self.batch, "hidden": self.hidden, "out": self.out, "blocks": blocks,
            "area": area, "gate_d": whole * line, "gate_t": time, "gate_b": row, "y_d": self.out,
        }  # fmt: skip
        if self.batch_first:
            values |= {"y_t": count * self.out, "y_b": self.steps * count * self.out}
            values |= {"h_d": self.out, "h_b": count * self.out, "c_d": self.hidden, "c_b": count * self.hidden}
        else:
            values |= {"y_t": self.batch * count * self.out, "y_b": self.out, "y_d": self.batch * self.out}
            values |= {"h_d": self.batch * self.out, "h_b": self.out}
            values |= {"c_d": self.batch * self.hidden, "c_b": self.hidden}
        speed = figures(plan.isa)
        each = line * (self.out * max(speed.multiply_picoseconds(), round(4e12 / speed.near / rows)) + 400)
        plan.launches.append(
            Launch(
                kernel=form.kernel(),
                operands=tuple(found[name] for name in form.operands()),
                params=form.params(values),
                extent=count * blocks,
                picoseconds=count * whole * each,
            )
        )

    def _panels(self, key: str, index: int, gates: int) -> Operand:
        """Weights [direction, gate * h, i] in panels, every gate in panels of its own."""
        value = self.node.input(index)
        assert value is not None
        if constant_of(value) is not None:
            return self.plan.prepare(key, Recipe("contract.gate_panels", (index,), {"gates": gates}))
        _, rows, inner = value.shape
        hidden = dims.floordiv(rows, gates)
        matrix = Matrix(source(index), value.dtype, inner, hidden, 1, inner, (rows * inner, hidden * inner))
        return self.plan.panels(matrix, (self.directions, gates)).at

    def _bias(self) -> Operand:
        """What is added to the gates before the cells run."""
        options = {"gates": self.gates, "dtype": self.sums.element.name}
        if self._is_constant(3):
            return self.plan.prepare("bias", Recipe("contract.gate_bias", (3,), {**options, "apart": self.after}))
        if self.node.input(3) is None and self._is_constant(1):
            return self.plan.prepare("bias", Recipe("contract.zero_bias", (1,), options))
        return self._late_bias(self.gates, "inputs" if self.after else "both")

    def _hidden_bias(self) -> Operand:
        """What a reset gate is applied to as well."""
        options = {"gates": self.gates, "dtype": self.sums.element.name}
        if self._is_constant(3):
            return self.plan.prepare("hidden", Recipe("contract.hidden_bias", (3,), options))
        if self.node.input(3) is None and self._is_constant(1):
            return self.plan.prepare("hidden", Recipe("contract.zero_bias", (1,), options))
        return self._late_bias(1, "hidden")

    def _is_constant(self, index: int) -> bool:
        return constant_of(self.node.input(index)) is not None

    def _late_bias(self, kept: int, halves: str) -> Operand:
        """The last gates' biases, made by a kernel."""
        bias, element, padded = self.node.input(3), self.sums.element, self.padded[0]
        target = self.plan.reserve(self.directions * kept * padded, element)
        operands = [] if bias is None else [(source(3), bias.dtype)]
        self.plan.launches.append(
            launched(
                "gates", [*operands, (target, element)], {"hidden": self.hidden, "padded": padded},
                self.directions * kept, self.directions * kept * padded * 1000, gates=self.gates, kept=kept,
                halves=halves,
            )
        )  # fmt: skip
        return target
