"""The family "serial.suppress": the boxes that stay when boxes which overlap a better one go.

A work item is one class of one image. Operands: boxes [batch, count, 4], scores [batch, classes, count], places
[batch, classes, kept], a workspace of `count` int64 per item; sizes: classes, count, kept; then the limits
(int64 `most`, floats `overlap` and `least`, which are operands of their own where the node has them).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ge_backend_cpu.isa import Isa
from ge_backend_cpu.kernel import family
from ge_backend_cpu.serial.code import Array, Code, Num, Variable


@family("serial.suppress")
def emit_suppress(module: Any, symbol: str, parameters: Mapping[str, Any], isa: Isa) -> None:
    """Take the boxes by falling score; keep one that overlaps none of those kept by more than the threshold."""
    c = Code(module, symbol, parameters, isa)
    boxes, scores, *given, work, places = c.arrays
    classes, count, kept = (c.sizes[name] for name in ("classes", "count", "kept"))
    limits = dict(zip(parameters["limits"], given, strict=True))
    with c.items() as item:
        order, mine = work.moved(item * count * 2), places.moved(item * kept)
        score, corners = scores.moved(item * count), boxes.moved(item // classes * count * 4)
        most = limits["most"][0].min(kept) if "most" in limits else c.integer(0)
        candidates = _candidates(c, score, order, count, limits.get("least"))
        _merge_sort(c, score, order, candidates.value, count)
        found, at = c.variable(0), c.variable(0)

        def unfinished(found: Variable = found, at: Variable = at, most: Num = most) -> Num:
            return (at.value < candidates.value) & (found.value < most)

        with c.repeat(unfinished):
            box = order[at.value]
            stays = c.variable(1)
            other = c.variable(0)

            def open_(other: Variable = other, found: Variable = found, stays: Variable = stays) -> Num:
                return (other.value < found.value) & stays.value.differs(0)

            with c.repeat(open_):
                ratio = _overlap(c, corners, mine[other.value], box, bool(parameters["center"]))
                limit = limits["overlap"][0].to(ratio.kind) if "overlap" in limits else 0.0
                stays.value = (ratio <= limit).choose(c.integer(1), 0)
                other.value = other.value + 1
            with c.when(stays.value.differs(0)):
                mine[found.value] = box
                found.value = found.value + 1
            at.value = at.value + 1
        with c.count(found.value, kept) as k:
            mine[k] = c.integer(-1)
    c.finish()


def _candidates(c: Code, score: Array, order: Array, count: Num, least: Array | None) -> Variable:
    """Write the numbers of the boxes that take part; how many they are."""
    if least is None:
        with c.count(0, count) as k:
            order[k] = k
        return c.variable(count)
    found = c.variable(0)
    with c.count(0, count) as k, c.when(score[k] > least[0].to(score.kind)):
        order[found.value] = k
        found.value = found.value + 1
    return found


def _before(a: Num, b: Num) -> Num:
    """Whether a box with score b must come before one with score a: NaN comes last."""
    return (b > a) | (a.call("isnan") & ~b.call("isnan"))


def _merge_sort(c: Code, score: Array, order: Array, size: Num, count: Num) -> None:
    """Order a list by falling score, stable; the second half of the workspace is the other list."""
    other = order.moved(count)
    width = c.variable(1)
    with c.repeat(lambda: width.value < size):
        with c.count(0, size, width.value * 2) as start:
            middle = (start + width.value).min(size)
            end = (middle + width.value).min(size)
            i, j = c.variable(start), c.variable(middle)
            with c.count(start, end) as k:
                has_left, has_right = i.value < middle, j.value < end
                left, right = order[i.value.min(size - 1)], order[j.value.min(size - 1)]
                later = has_right & (~has_left | _before(score[left], score[right]))
                other[k] = later.choose(right, left)
                i.value = later.choose(i.value, i.value + 1)
                j.value = later.choose(j.value + 1, j.value)
        with c.count(0, size) as k:
            order[k] = other[k]
        width.value = width.value * 2


def _overlap(c: Code, corners: Array, a: Num, b: Num, center: bool) -> Num:
    """The area that two boxes share, as a part of the area that they cover together; 0 for no area."""
    sides = []
    for axis in range(2):
        edges = []
        for box in (a, b):
            first, second = corners[box * 4 + axis], corners[box * 4 + axis + 2]
            if center:
                half = second / 2
                edges.append((first - half, first + half))
            else:
                edges.append((first.min(second), first.max(second)))
        sides.append(edges)
    shared = c.number(1.0, corners.kind)
    areas = [c.number(1.0, corners.kind)] * 2
    for (low_a, high_a), (low_b, high_b) in sides:
        shared = shared * (high_a.min(high_b) - low_a.max(low_b)).max(0.0)
        areas = [areas[0] * (high_a - low_a), areas[1] * (high_b - low_b)]
    union = areas[0] + areas[1] - shared
    return (union > 0.0).choose(shared / union, 0.0)
