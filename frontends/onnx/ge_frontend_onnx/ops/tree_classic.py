"""TreeEnsembleClassifier and TreeEnsembleRegressor of ai.onnx.ml, the forms that came before TreeEnsemble."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ge_core.ir.constant import Constant
from ge_core.ir.graph import Value

from ..call import Call
from ..registry import Results, converts
from .class_scores import best, either, labels_of, matrix, transformed
from .tree_ensemble import COMPARISONS, NOT_EQUAL, Trees, leaves_of, levels_of

_BRANCHES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
_MODES = {name: mode for mode, name in enumerate(_BRANCHES)}
assert len(_MODES) == len(COMPARISONS) + 1 and _MODES["BRANCH_NEQ"] == NOT_EQUAL


@dataclass(frozen=True)
class _Forest:
    """An ensemble and what its leaves give.

    Attributes:
        weights: `[leaves, results]`, the sum of a leaf's weights for each result.
        given: `[leaves, results]`, whether a leaf has a weight for a result.
        ids: the results that some leaf has a weight for.
    """

    trees: Trees
    weights: np.ndarray
    given: np.ndarray
    ids: np.ndarray


@converts("TreeEnsembleRegressor", domain="ai.onnx.ml")
def tree_ensemble_regressor(c: Call) -> Results:
    """TreeEnsembleRegressor(T X) -> (float Y); aggregate_function, base_values, n_targets, nodes_*, post_transform,
    target_*
    """
    x = matrix(c, c.input(0))
    count, kind = int(c.needed("n_targets")), c.attr("aggregate_function", "SUM")
    forest = _forest(c, "target", count)
    y = _added(c, _collected(c, x, forest, kind), "base_values", count)
    post = c.attr("post_transform", "NONE")
    if post != "NONE" and count == 1:
        raise c.unsupported(f"the post transform {post} of a single result")
    return c.cast(transformed(c, y, post), x.dtype)


@converts("TreeEnsembleClassifier", domain="ai.onnx.ml")
def tree_ensemble_classifier(c: Call) -> Results:
    """TreeEnsembleClassifier(T1 X) -> (T2 Y, float Z); base_values, class_*, classlabels_*, nodes_*, post_transform

    Of two classes, one alone has weights: its scores decide. Implementations disagree on all other forms of two
    classes, and these are refused.
    """
    x = matrix(c, c.input(0))
    labels = labels_of(c, "classlabels_int64s")
    if labels is None:
        raise c.error("names no classes")
    forest = _forest(c, "class", len(labels))
    post = c.attr("post_transform", "NONE")
    if len(labels) > 2:
        raw = _added(c, _collected(c, x, forest, "SUM"), "base_values", len(labels))
        label = best(c, raw, labels) if c.wants(0) else None
        return [label, transformed(c, raw, post)]
    if len(labels) == 1 or list(forest.ids) != [0] or post not in ("NONE", "LOGISTIC"):
        raise c.unsupported(
            f"{len(labels)} classes with weights for {len(forest.ids)} of them, transformed by {post},",
            "export the model with weights for the first of two classes alone",
        )
    b = c.b
    both = _collected(c, x, forest, "SUM")
    score = _added(c, c.slice(both, 1, 0, 1), "base_values", 1)
    positive = bool((forest.weights >= 0).all())
    label = either(c, b.Greater(score, 0.5 if positive else 0.0), labels) if c.wants(0) else None
    if post == "LOGISTIC":
        return [label, b.Sigmoid(b.Concat([b.Neg(score), score], axis=1))]
    return [label, b.Concat([b.Sub(1.0, score) if positive else b.Neg(score), score], axis=1)]


def _numbers(c: Call, name: str) -> np.ndarray | None:
    """A list of floats, or the tensor that may stand for it."""
    tensor = c.attr(f"{name}_as_tensor")
    if isinstance(tensor, Constant):
        return tensor.array().reshape(-1)
    given = c.attr(name)
    return None if not given else np.array(given, np.float32)


def _ints(c: Call, name: str) -> np.ndarray:
    return np.array(c.attr(name) or (), np.int64)


def _forest(c: Call, of: str, count: int) -> _Forest:
    names: Sequence[str] = c.needed("nodes_modes")
    places = list(zip(_ints(c, "nodes_treeids").tolist(), _ints(c, "nodes_nodeids").tolist(), strict=False))
    index = {place: i for i, place in enumerate(places)}
    values, features = _numbers(c, "nodes_values"), _ints(c, "nodes_featureids")
    ends = np.array([name == "LEAF" for name in names], bool)
    unknown = sorted(set(names) - {*_MODES, "LEAF"})
    if unknown:
        raise c.error(f"has nodes of the mode {unknown[0]!r}")
    lengths = {len(names), len(places), len(index), len(features), 0 if values is None else len(values)}
    if len(lengths) != 1 or values is None:
        raise c.error("its tables of nodes do not fit together")
    # nodes first, then leaves
    order = np.concatenate([np.flatnonzero(~ends), np.flatnonzero(ends)])
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    inner = order[: int((~ends).sum())]
    after = []
    for side in ("false", "true"):
        ids = _ints(c, f"nodes_{side}nodeids")
        found = [index.get((places[i][0], int(ids[i])) if i < len(ids) else (-1, -1), -1) for i in inner]
        if -1 in found:
            raise c.error(f"its nodes_{side}nodeids name nodes that are not there")
        after.append(np.concatenate([rank[np.array(found, np.int64)], np.arange(len(inner), len(order))]))
    missing = _ints(c, "nodes_missing_value_tracks_true")
    missing = missing[inner] != 0 if len(missing) else np.zeros(len(inner), bool)
    first: dict[int, int] = {}
    for i, (tree, _) in enumerate(places):
        first.setdefault(tree, i)
    roots, table = rank[np.array(list(first.values()), np.int64)], np.stack(after)
    modes = np.array([_MODES[names[i]] for i in inner], np.int64)
    depth = levels_of(c, table, roots, len(inner))
    trees = Trees(modes, features[inner], values[inner], table, missing, None, roots, depth)
    weights, given, ids = _leaves(c, of, count, {p: int(rank[i]) - len(inner) for p, i in index.items()}, len(order))
    return _Forest(trees, weights[: len(order) - len(inner)], given[: len(order) - len(inner)], ids)


def _leaves(
    c: Call, of: str, count: int, leaf_at: dict[tuple[int, int], int], size: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    weights, ids = _numbers(c, f"{of}_weights"), _ints(c, f"{of}_ids")
    places = list(zip(_ints(c, f"{of}_treeids").tolist(), _ints(c, f"{of}_nodeids").tolist(), strict=False))
    if weights is None or len({len(weights), len(ids), len(places)}) != 1:
        raise c.error("its tables of weights do not fit together")
    at = np.array([leaf_at.get(place, -1) for place in places], np.int64)
    if (at < 0).any() or (ids < 0).any() or (ids >= count).any():
        raise c.error("gives weights to leaves or results that are not there")
    table, given = np.zeros((size, count), weights.dtype), np.zeros((size, count), bool)
    np.add.at(table, (at, ids), weights)
    given[at, ids] = True
    return table, given, np.unique(ids)


def _collected(c: Call, x: Value, forest: _Forest, kind: str) -> Value:
    """`[rows, results]`: the weights of the leaves that the rows reach, of all trees together."""
    b, leaf = c.b, leaves_of(c, x, forest.trees)
    dtype = forest.weights.dtype
    if kind in ("SUM", "AVERAGE"):
        y: Value = b.ReduceSum(b.Gather(b.constant(forest.weights), leaf), b.ints(1), keepdims=0)
        return b.Div(y, c.scalar(len(forest.trees.roots), y.dtype)) if kind == "AVERAGE" else y
    if kind not in ("MIN", "MAX"):
        raise c.error(f"has the aggregate function {kind!r}")
    limits = np.finfo(dtype)
    filled = np.where(forest.given, forest.weights, limits.max if kind == "MIN" else limits.min).astype(dtype)
    op = "ReduceMin" if kind == "MIN" else "ReduceMax"
    found = b.op(op, b.Gather(b.constant(filled), leaf), b.ints(1), keepdims=0)
    reached = b.ReduceMax(b.Gather(b.constant(forest.given.astype(np.uint8)), leaf), b.ints(1), keepdims=0)
    value: Value = b.Where(b.Cast(reached, to="bool"), found, c.scalar(0, found.dtype))
    return value


def _added(c: Call, y: Value, name: str, count: int) -> Value:
    """`y` and its base values."""
    base = _numbers(c, name)
    if base is None:
        return y
    if len(base) != count:
        raise c.error(f"has {len(base)} {name}", expected=str(count))
    return c.b.Add(y, c.b.constant(base.astype(y.dtype.numpy)))
