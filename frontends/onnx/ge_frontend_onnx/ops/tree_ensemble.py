"""TreeEnsemble of ai.onnx.ml: every row walks all trees at once, one level for each round of gathers.

Nodes and leaves stand in one table; a leaf leads to itself, so that rows which arrive early wait there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ge_core.ir.constant import Constant
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import Results, converts

COMPARISONS = ("LessOrEqual", "Less", "GreaterOrEqual", "Greater", "Equal")
NOT_EQUAL, _MEMBER = 5, 6
_AVERAGE, _SUM, _MIN, _MAX = range(4)
_SOFTMAX, _LOGISTIC = 1, 2
_MOST_LEVELS = 512


@dataclass(frozen=True)
class Trees:
    """The tables of an ensemble: nodes first, then leaves.

    Attributes:
        modes: how a node compares.
        features, splits: the column and the number that it compares.
        after: `[2, places]`, where a row goes on when the comparison fails or holds.
        missing: whether a missing value (NaN) counts as holding.
        members: `[places, n]`, the sets of nodes that test membership, filled up with NaN.
        roots: where each tree begins.
        levels: the steps after which every row has arrived.
    """

    modes: np.ndarray
    features: np.ndarray
    splits: np.ndarray
    after: np.ndarray
    missing: np.ndarray
    members: np.ndarray | None
    roots: np.ndarray
    levels: int


@converts("TreeEnsemble", domain="ai.onnx.ml")
def tree_ensemble(c: Call) -> Results:
    """TreeEnsemble(T X) -> (T Y); aggregate_function, leaf_*, membership_values, n_targets, nodes_*, post_transform,
    tree_roots
    """
    b, x = c.b, c.input(0)
    if c.rank(x) != 2:
        raise c.error(f"needs a matrix, got {x.type}")
    trees = _trees(c)
    weights, targets = _array(c, "leaf_weights"), np.array(c.needed("leaf_targetids"), np.int64)
    leaf = leaves_of(c, x, trees)
    weight = b.Gather(b.constant(weights.astype(x.dtype.numpy)), leaf)
    y = _joined(c, weight, b.Gather(b.constant(targets), leaf), int(c.needed("n_targets")), len(trees.roots))
    return _transformed(c, y)


def _array(c: Call, name: str) -> np.ndarray:
    found = c.needed(name)
    if not isinstance(found, Constant):
        raise c.error(f"the attribute {name} is no tensor")
    return found.array().reshape(-1)


def _trees(c: Call) -> Trees:
    modes = _array(c, "nodes_modes").astype(np.int64)
    count, leaves = len(modes), len(c.needed("leaf_targetids"))
    after = []
    for side in ("false", "true"):
        ids = np.array(c.needed(f"nodes_{side}nodeids"), np.int64)
        ends = np.array(c.needed(f"nodes_{side}leafs"), np.int64) != 0
        if len(ids) != count or len(ends) != count or (ids < 0).any() or (ids >= np.where(ends, leaves, count)).any():
            raise c.error(f"its nodes_{side}nodeids name nodes or leaves that are not there")
        after.append(np.concatenate([ids + count * ends, np.arange(count, count + leaves)]))
    roots = np.array(c.needed("tree_roots"), np.int64)
    features, splits = np.array(c.needed("nodes_featureids"), np.int64), _array(c, "nodes_splits")
    missing = np.array(c.attr("nodes_missing_value_tracks_true") or [0] * count, np.int64) != 0
    lengths = {count, len(features), len(splits), len(missing)}
    if len(lengths) != 1 or (roots < 0).any() or (roots >= count).any() or not 0 <= modes.min() <= modes.max() <= 6:
        raise c.error("its tables do not fit together")
    # a tree that is a leaf alone is written as a node both of whose sides are that leaf
    alone = (after[0][:count] == after[1][:count]) & (after[0][:count] >= count)
    roots = np.where(alone[roots], after[0][roots], roots)
    table = np.stack(after)
    levels = levels_of(c, table, roots, count)
    return Trees(modes, features, splits, table, missing, _members(c, modes, table, roots), roots, levels)


def levels_of(c: Call, after: np.ndarray, roots: np.ndarray, count: int) -> int:
    """The depth of the deepest tree."""
    front, levels = np.unique(roots[roots < count]), 0
    while len(front):
        levels += 1
        if levels > _MOST_LEVELS:
            raise c.error(f"its trees are over {_MOST_LEVELS} levels deep, or lead in a circle")
        front = np.unique(after[:, front])
        front = front[front < count]
    return levels


def _members(c: Call, modes: np.ndarray, after: np.ndarray, roots: np.ndarray) -> np.ndarray | None:
    """The sets of the nodes that test membership; they stand in the order of a walk, each ended by NaN."""
    count = len(modes)
    if not (modes == _MEMBER).any():
        return None
    values = _array(c, "membership_values")
    ends = np.flatnonzero(np.isnan(values))
    sets = np.split(values, ends + 1)[: len(ends)]
    found: dict[int, np.ndarray] = {}
    stack = list(roots[::-1])
    given = iter(sets)
    while stack:
        node = int(stack.pop())
        if node >= count:
            continue
        if modes[node] == _MEMBER:
            one = next(given, None)
            if one is None:
                raise c.error("membership_values holds fewer sets than there are nodes that test membership")
            found[node] = one[:-1]
        stack += [after[0][node], after[1][node]]
    width = max((len(s) for s in found.values()), default=0)
    table = np.full((after.shape[1], max(width, 1)), np.nan, values.dtype)
    for node, members in found.items():
        table[node, : len(members)] = members
    return table


def leaves_of(c: Call, x: Value, trees: Trees) -> Value:
    """`[rows, trees]`: the leaf at which each row arrives in each tree."""
    b = c.b
    shape = b.Concat([c.size(x, 0), b.ints(len(trees.roots))], axis=0)
    place = b.Expand(b.constant(trees.roots), shape)
    for _ in range(trees.levels):
        place = _step(c, x, place, trees)
    # a row that has arrived stands behind the nodes
    leaf: Value = b.Sub(place, b.constant(np.int64(len(trees.modes))))
    return leaf


def _step(c: Call, x: Value, place: Value, trees: Trees) -> Value:
    """Where the rows go from where they are."""
    b = c.b
    leaves = trees.after.shape[1] - len(trees.modes)

    def of(table: np.ndarray, fill: float) -> Value:
        padded = np.concatenate([table, np.full(leaves, fill).astype(table.dtype)])
        value: Value = b.Gather(b.constant(padded), place)
        return value

    value = b.GatherElements(x, of(trees.features, 0), axis=1)
    split = of(trees.splits.astype(x.dtype.numpy), 0)
    holds: Value | None = None
    mode_of = of(trees.modes, 0)
    for mode in np.unique(trees.modes):
        if mode == _MEMBER:
            assert trees.members is not None
            members = b.Gather(b.constant(trees.members.astype(x.dtype.numpy)), place)
            hit = b.Cast(b.Equal(c.unsqueeze(value, 2), members), to="uint8")
            one: Value = b.Cast(b.ReduceMax(hit, b.ints(2), keepdims=0), to="bool")
        elif mode == NOT_EQUAL:
            one = b.Not(b.Equal(value, split))
        else:
            one = b.op(COMPARISONS[mode], value, split)
        holds = one if holds is None else b.Where(b.Equal(mode_of, b.constant(np.int64(mode))), one, holds)
    assert holds is not None
    if trees.missing.any():
        holds = b.Or(holds, b.And(b.IsNaN(value), of(trees.missing, 0)))
    low, high = (b.Gather(b.constant(side.copy()), place) for side in trees.after)
    going: Value = b.Where(holds, high, low)
    return going


def _joined(c: Call, weight: Value, target: Value, targets: int, trees: int) -> Value:
    """`[rows, targets]`: the weights of all trees at their targets."""
    b, kind = c.b, c.attr("aggregate_function", _SUM)
    hit = b.Equal(c.unsqueeze(target, 2), b.constant(np.arange(targets, dtype=np.int64)))
    if kind in (_SUM, _AVERAGE):
        y = b.ReduceSum(b.Where(hit, c.unsqueeze(weight, 2), 0.0), b.ints(1), keepdims=0)
        average: Value = b.Div(y, c.scalar(trees, y.dtype)) if kind == _AVERAGE else y
        return average
    if kind not in (_MIN, _MAX):
        raise c.error(f"has the aggregate function {kind}")
    fill = c.scalar(weight.dtype.max if kind == _MIN else weight.dtype.min, weight.dtype)
    op = "ReduceMin" if kind == _MIN else "ReduceMax"
    found = b.op(op, b.Where(hit, c.unsqueeze(weight, 2), fill), b.ints(1), keepdims=0)
    reached = b.Cast(b.ReduceMax(b.Cast(hit, to="uint8"), b.ints(1), keepdims=0), to="bool")
    value: Value = b.Where(reached, found, 0.0)  # a target that no tree reaches
    return value


def _transformed(c: Call, y: Value) -> Value:
    kind = c.attr("post_transform", 0)
    if kind == 0:
        return y
    if kind == _SOFTMAX:
        return c.b.Softmax(y, axis=-1)
    if kind == _LOGISTIC:
        return c.b.Sigmoid(y)
    raise c.unsupported(f"the post transform {kind}")
