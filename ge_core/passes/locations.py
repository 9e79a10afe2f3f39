"""The location of a node that replaces several."""

from __future__ import annotations

from collections.abc import Iterable

from ge_core.ir.location import UNKNOWN, Location


def merged(root: Location, others: Iterable[Location]) -> Location:
    """One location for a node made from the node at `root` and others.

    The module is the innermost one that encloses all of them; line and operator are the root's, or, where the
    root has none, those of the first that does.
    """
    known = [loc for loc in (root, *others) if loc != UNKNOWN]
    if not known:
        return UNKNOWN
    first = known[0]
    modules = [loc.module for loc in known if loc.module]
    return Location(first.framework, _enclosing(modules), first.file, first.line, first.op)


def _enclosing(modules: list[str]) -> str:
    if not modules or all(m == modules[0] for m in modules):
        return modules[0] if modules else ""
    paths = [m.split(".") for m in modules]
    shared: list[str] = []
    for parts in zip(*paths, strict=False):
        if any(p != parts[0] for p in parts):
            break
        shared.append(parts[0])
    return ".".join(shared) or modules[0]
