"""The registry of native implementations: operator name -> what this target offers for a node.

Modules of `ge_backend_cpu.ops` register functions; the backend asks them all and hands the core what they offer.
They also register judges, which say by what a group may grow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import TypeAlias

from ge_backend_cpu.isa import Isa
from ge_core.backend import Group, Implementation, Options, Refusal
from ge_core.ir.graph import Node

Offer: TypeAlias = Callable[[Node, Isa, Options], Sequence[Implementation]]
"""`offer(node, isa, options)`: implementations of a node; none where it covers no such node."""

Judge: TypeAlias = Callable[[Group, Node], bool | Refusal]
"""`judge(group, node)`: whether a group may grow by a consumer of one of its values."""

_OFFERS: dict[str, list[Offer]] = {}
_JUDGES: list[Judge] = []
_loaded = False


def implementation(*ops: str) -> Callable[[Offer], Offer]:
    """Decorator: this function offers implementations for nodes of these operators ("Conv", "ge.Fused").

    Several functions may serve one operator; the core chooses among all that they offer.
    """

    def register(offer: Offer) -> Offer:
        for op in ops:
            known = _OFFERS.setdefault(op, [])
            if all((o.__module__, o.__qualname__) != (offer.__module__, offer.__qualname__) for o in known):
                known.append(offer)
        return offer

    return register


def joins(judge: Judge) -> Judge:
    """Decorator: this function judges groups. A node may join when one judge lets it: who lets a group grow must
    offer an implementation for what comes out."""
    if all((j.__module__, j.__qualname__) != (judge.__module__, judge.__qualname__) for j in _JUDGES):
        _JUDGES.append(judge)
    return judge


def may_join(group: Group, node: Node) -> bool | Refusal:
    """What the judges say; when all refuse, what each of them has against it."""
    _load()
    refusals: list[Refusal] = []
    for judge in _JUDGES:
        judged = judge(group, node)
        if judged:
            return True
        if isinstance(judged, Refusal):
            refusals.append(judged)
    if not refusals:
        return Refusal("no-kernel", f"no generator computes {node.op} in a group")
    codes, reasons = (list(dict.fromkeys(part)) for part in zip(*((r.code, r.reason) for r in refusals), strict=True))
    return Refusal("+".join(codes), "; ".join(reasons))


def _load() -> None:
    global _loaded
    if not _loaded:
        package = import_module("ge_backend_cpu.ops")
        for module in iter_modules(package.__path__):
            import_module(f"{package.__name__}.{module.name}")
        _loaded = True


def offers(node: Node, isa: Isa, options: Options) -> list[Implementation]:
    """Everything that is registered for a node."""
    _load()
    return [found for offer in _OFFERS.get(node.op, ()) for found in offer(node, isa, options)]


def covers(node: Node, isa: Isa, options: Options) -> bool:
    """Whether anything is offered for a node."""
    _load()
    return any(offer(node, isa, options) for offer in _OFFERS.get(node.op, ()))


def native_operators() -> tuple[str, ...]:
    """Operators for which something is registered."""
    _load()
    return tuple(sorted(_OFFERS))
