"""Element types and formats: known numbers, what the prototype allows, what the chip's kernels take."""

from __future__ import annotations

from collections.abc import Iterator

from ge_ascend.air.importer import input_ports, output_ports
from ge_ascend.air.model import FORMATS, UNKNOWN_RANK, AirNode, TensorDesc
from ge_ascend.air.tensors import BY_PROTO
from ge_ascend.check.findings import Findings
from ge_ascend.chips import Chip
from ge_ascend.prototypes import Port, Prototype


def check_types(findings: Findings, node: AirNode, declared: Prototype, chip: Chip | None) -> None:
    """The descriptors of one node."""
    tied: dict[str, tuple[str, int]] = {}
    taken: dict[str, str] = {}
    for side, name, desc in _all(node, declared):
        port = _port(declared, side, name)
        if not _plain(findings, node, name, desc) or port is None:
            continue
        dtype = BY_PROTO[desc.dtype]
        if side == "input":
            taken[name] = dtype.name
        kernels = declared.kernel_types(port.name)
        if not port.takes(dtype) and dtype.name not in kernels:
            findings.error("type", node.name, f"{node.type} takes no {dtype} at its {side} {name}")
        if port.symbol and len(port.symbol) > 1 and port.symbol != "$?":
            first, number = tied.setdefault(port.symbol, (name, desc.dtype))
            if number != desc.dtype:
                findings.error(
                    "tied-types", node.name, f"{name} is {dtype}, {first} is {BY_PROTO[number]}; they must be equal"
                )
        if chip is not None and not chip.takes(dtype):
            findings.error("chip-type", node.name, f"{name} is {dtype}, which {chip.name} has not")
    if chip is not None and chip.kernels:
        _kernel(findings, node, declared, taken)


def _all(node: AirNode, declared: Prototype) -> Iterator[tuple[str, str, TensorDesc]]:
    """Side, port name and descriptor of every connected tensor."""
    for slot, (name, desc) in enumerate(zip(input_ports(node, declared), node.input_descs, strict=False)):
        if slot < len(node.inputs) and node.inputs[slot] is None:
            continue  # a slot that is left open has an undefined type
        yield "input", name, desc
    for name, desc in zip(output_ports(node, declared), node.output_descs, strict=False):
        yield "output", name, desc


def _port(declared: Prototype, side: str, name: str) -> Port | None:
    ports = declared.inputs if side == "input" else declared.outputs
    return next((p for p in ports if p.name in (name, name.rstrip("0123456789"))), None)


def _plain(findings: Findings, node: AirNode, name: str, desc: TensorDesc) -> bool:
    """Whether the descriptor can be understood at all."""
    if desc.layout and desc.layout not in FORMATS:
        findings.error("format", node.name, f"{name} has the unknown format {desc.layout[:40]!r}, which GE drops")
    if desc.shape != UNKNOWN_RANK and any(size < -1 for size in desc.shape):
        findings.error("shape", node.name, f"{name} has the shape {list(desc.shape)}")
    ranges = desc.attrs.get("shape_range")
    if isinstance(ranges, list) and ranges and len(ranges) != len(desc.shape) and -2 not in desc.shape:
        findings.error("shape-range", node.name, f"{name} has {len(ranges)} ranges for {len(desc.shape)} axes")
    origin = desc.attrs.get("origin_shape")
    if isinstance(origin, list) and not desc.attrs.get("origin_shape_initialized"):
        findings.error("origin-shape", node.name, f"{name} has an origin_shape that GE does not read",
                       "set origin_shape_initialized")  # fmt: skip
    if desc.dtype not in BY_PROTO:
        findings.error("type-number", node.name, f"{name} has the element type number {desc.dtype}")
        return False
    return True


def _kernel(findings: Findings, node: AirNode, declared: Prototype, taken: dict[str, str]) -> None:
    """At least one combination of the kernel takes these operands together."""
    columns = declared.columns
    if not columns:
        return
    ports = [(columns[p.rstrip("0123456789")] if p not in columns else columns[p], dtype)
             for p, dtype in taken.items() if p in columns or p.rstrip("0123456789") in columns]  # fmt: skip
    if not ports:
        return
    count = min(len(column) for column, _ in ports)
    if not any(all(column[i] == dtype for column, dtype in ports) for i in range(count)):
        shown = ", ".join(f"{name} {dtype}" for name, dtype in taken.items())
        findings.warning("kernel", node.name, f"{node.type} has no AI Core kernel for {shown}")
