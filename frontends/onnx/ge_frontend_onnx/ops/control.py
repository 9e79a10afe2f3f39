"""If, Loop, Scan and SequenceMap: subgraphs become regions, or stand in line where only one branch can run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ge_core.ir.builder import Builder
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Region, Value, constant_of
from ge_core.ir.types import SequenceType, TensorType, Type

from ..call import Call
from ..conditions import known_condition
from ..registry import Results, converts

_INT64, _BOOL = DType.of("int64"), DType.of("bool")

# A loop that only its trip count can end does not end in a lifetime above this.
_MOST_TRIPS = 1 << 48
_ATTEMPTS = 16


@converts("If")
def if_(c: Call) -> Results:
    """If(B cond) -> (V outputs, ...); then_branch, else_branch"""
    cond = c.input(0)
    branches = {name: c.needed(name) for name in ("then_branch", "else_branch")}
    known = known_condition(cond)
    if known is not None:
        return c.converter.subgraph(c, c.b, branches["then_branch" if known else "else_branch"], ())
    regions = {
        name: c.b.region([], lambda inner, proto=proto: c.converter.subgraph(c, inner, proto, ()))
        for name, proto in branches.items()
    }
    return _several(c.b.If(cond, **regions))


@converts("Loop")
def loop(c: Call) -> Results:
    """Loop(I M?, B cond?, V v_initial, ...) -> (V v_final_and_scan_outputs, ...); body"""
    body = c.needed("body")
    trips, cond = c.optional(0), c.optional(1)
    initial = [c.input(i) for i in range(2, len(c.inputs))]
    counter = [("i", TensorType(_INT64, ())), ("cond", TensorType(_BOOL, ()))]
    if len(body.input) != len(initial) + 2 or len(body.output) < len(initial) + 1:
        raise c.error(
            f"the body takes {len(body.input)} values and gives {len(body.output)}",
            expected=f"{len(initial) + 2}, and {len(initial) + 1} or more",
        )
    region = _fixed(c, c.b, body, counter, initial, first_output=1)
    _check_end(c, trips, cond, region)
    return _several(c.b.op("Loop", trips, cond, initial, body=region))


def _check_end(c: Call, trips: Value | None, cond: Value | None, region: Region) -> None:
    """Refuse a loop that cannot end."""
    known = constant_of(trips)
    if trips is not None and (known is None or known.array().size != 1 or int(known.array().reshape(())) < _MOST_TRIPS):
        return
    start = True if cond is None else known_condition(cond)
    again = region.outputs[0]
    while again.producer is not None and again.producer.op == "Identity":
        again = again.producer.inputs[0] or again
    goes_on = True if again is region.params[1] else known_condition(again)
    if start is True and goes_on is True:
        raise c.error("the loop never ends", expected="a trip count, or a condition that can become false")


@converts("Scan")
def scan(c: Call) -> Results:
    """Scan(V initial_state_and_scan_inputs, ...) -> (V final_state_and_scan_outputs, ...); body, scan_*"""
    return build_scan(c, c.b, [c.input(i) for i in range(len(c.inputs))])


def build_scan(c: Call, b: Builder, inputs: Sequence[Value]) -> list[Value]:
    """Build a Scan of `c`'s body over `inputs`."""
    body, scanned = c.needed("body"), int(c.needed("num_scan_inputs"))
    states = len(inputs) - scanned
    if scanned < 1 or states < 0 or len(body.input) != len(inputs) or len(body.output) < states:
        raise c.error(
            f"the body takes {len(body.input)} values and gives {len(body.output)}",
            expected=f"{len(inputs)} inputs of which {scanned} are scanned",
        )
    axes = c.attr("scan_input_axes", (0,) * scanned)
    if len(axes) != scanned:
        raise c.error(f"scan_input_axes has {len(axes)} numbers", expected=str(scanned))
    elements = [(f"x{k}", _element(c, x, axis)) for k, (x, axis) in enumerate(zip(inputs[states:], axes, strict=True))]
    region = _fixed(c, b, body, [], inputs[:states], first_output=0, after=elements)
    attrs = {name: value for name, value in c.attrs.items() if name != "body"}
    return _several(b.op("Scan", list(inputs), body=region, **attrs))


def _element(c: Call, x: Value, axis: int) -> TensorType:
    """The type of what one step of a Scan sees of a scanned input."""
    if x.tensor.shape is None:
        return TensorType(x.dtype, None)
    if not -x.rank <= axis < x.rank:
        raise c.error(f"a scan axis is {axis} for the shape {list(x.shape)}")
    axis %= x.rank
    return TensorType(x.dtype, x.shape[:axis] + x.shape[axis + 1 :])


@converts("SequenceMap")
def sequence_map(c: Call) -> Results:
    """SequenceMap(S input_sequence, V additional_inputs, ...) -> (S out_sequence, ...); body"""
    body = c.needed("body")
    inputs = [c.input(i) for i in range(len(c.inputs))]
    params = [(f"p{k}", v.type.element if isinstance(v.type, SequenceType) else v.type) for k, v in enumerate(inputs)]
    region = c.b.region(params, lambda inner, *values: c.converter.subgraph(c, inner, body, values))
    return _several(c.b.op("SequenceMap", *inputs, body=region, num_outputs=len(region.outputs)))


def _several(results: Value | Sequence[Value]) -> list[Value]:
    return [results] if isinstance(results, Value) else list(results)


def _fixed(
    c: Call,
    b: Builder,
    body: Any,
    before: Sequence[tuple[str, Type]],
    initial: Sequence[Value],
    first_output: int,
    after: Sequence[tuple[str, Type]] = (),
) -> Region:
    """The region of a body that carries values from one run to the next.

    The types of the carried values are those of the initial ones at first; what a run changes in them (a size, the
    rank) is widened until a run changes nothing any more.

    Args:
        before, after: params around the carried ones.
        first_output: which output of the body is the first carried value.
    """
    carried = c.converter.carried(body, c.frame)
    carried.widen(c, [v.type for v in initial])
    for _ in range(_ATTEMPTS):
        params = [*before, *((f"s{k}", t) for k, t in enumerate(carried.types)), *after]
        region = b.region(params, lambda inner, *values: c.converter.subgraph(c, inner, body, values))
        results = region.outputs[first_output : first_output + len(carried.types)]
        if not carried.widen(c, [r.type for r in results]):
            return region
        region.drop()
    raise c.error("the types of the carried values do not settle")
