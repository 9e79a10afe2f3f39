"""Every operator in every version of the default domain: what changed is converted, what did not is the same.

Changed forms are compared with ONNX Runtime at the older opset (below 7, which it does not run, with numbers by
hand). Unchanged versions run ONNX's own cases of the newest version under the older opset.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, checker, defs, helper, numpy_helper
from onnx.backend.test.loader import load_model_tests

from ge_core.errors import UnsupportedError
from ge_frontend_onnx.registry import REFUSED, changes
from tests.frontends.onnx.agreement import check, one_node, run
from tests.frontends.onnx.onnx_backend import GeModel, GeTest, refusal

_OLDEST, _NEWEST = 7, 28
_random = np.random.default_rng(0)


def _f(*shape: int) -> np.ndarray:
    return _random.standard_normal(shape).astype(np.float32)


@cache
def _history() -> dict[str, dict[int, defs.OpSchema]]:
    """Schemas by operator and version."""
    found: dict[str, dict[int, defs.OpSchema]] = defaultdict(dict)
    for schema in defs.get_all_schemas_with_history():
        if schema.domain == "" and ("", schema.name) not in REFUSED and schema.since_version <= _NEWEST:
            found[schema.name][schema.since_version] = schema
    return dict(found)


def _steps() -> list[tuple[str, int, int]]:
    """Operator, version, and the version that follows it, of all that a model of opset 7 to 28 can have."""
    steps = []
    for op, schemas in sorted(_history().items()):
        versions = sorted(schemas)
        steps += [(op, a, b) for a, b in zip(versions, versions[1:], strict=False) if b > _OLDEST]
    return steps


def _parameters(schema: defs.OpSchema) -> tuple[list[tuple[str, Any]], dict[str, Any]]:
    attributes = {}
    for name, attribute in schema.attributes.items():
        default = attribute.default_value
        attributes[name] = helper.get_attribute_value(default) if default.type else None
    return [(p.name, p.option) for p in schema.inputs], attributes


@pytest.mark.parametrize(("op", "old", "new"), _steps())
def test_a_version_that_is_not_converted_only_gained(op: str, old: int, new: int) -> None:
    """Without a conversion, a later version has all inputs, attributes and defaults of the earlier one."""
    if new in changes(op) or op == "Upsample":  # deprecated at 10, with the same form
        return
    (old_inputs, old_attributes), (new_inputs, new_attributes) = (_parameters(_history()[op][v]) for v in (old, new))
    assert len(new_inputs) >= len(old_inputs)
    optional = defs.OpSchema.FormalParameterOption.Optional
    for (_, before), (_, after) in zip(old_inputs, new_inputs, strict=False):
        assert after in (before, optional)
    assert all(option == optional for _, option in new_inputs[len(old_inputs) :])
    for name, default in old_attributes.items():
        assert name in new_attributes and new_attributes[name] == default


# Changed forms, by operator and the opset from which on the form is another one: opset of the model, inputs,
# attributes, and what `check` takes besides.
_Case = tuple[int, list[Any], dict[str, Any], dict[str, Any]]


def _i64(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


def _batch_norm(*names: bool) -> list[np.ndarray]:
    return [_f(2, 3, 4, 4), _f(3), _f(3), _f(3), np.abs(_f(3)) + 0.5]


def _reductions() -> dict[tuple[str, int], list[_Case]]:
    cases: dict[tuple[str, int], list[_Case]] = {}
    for op in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"):
        x = np.abs(_f(2, 3, 4)) + 0.1
        limit = 13 if op == "Sum" else 18
        cases[f"Reduce{op}", limit] = [
            (opset, [x], attrs, {})
            for opset in (7, 11, limit - 1)
            for attrs in ({"axes": [1]}, {"axes": [0, 2], "keepdims": 0}, {})
        ] + [(limit - 1, [x], {"axes": [-1]}, {})]
    return cases


_X = _f(2, 3, 4, 5)
_SCALES = {
    "up": np.array([1, 1, 2, 3], np.float32),
    "down": np.array([1, 1, 0.6, 0.6], np.float32),
    "mixed": np.array([1, 1, 0.6, 2], np.float32),
}
_GRID = (_random.random((2, 3, 3, 2)) * 2 - 1).astype(np.float32)

_CHANGED: dict[tuple[str, int], list[_Case]] = {
    **_reductions(),
    ("BatchNormalization", 9): [(7, _batch_norm(), {}, {}), (8, _batch_norm(), {"epsilon": 0.1, "spatial": 1}, {})],
    ("BatchNormalization", 14): [(9, _batch_norm(), {}, {}), (13, _batch_norm(), {"epsilon": 0.1}, {})],
    ("Clip", 11): [(7, [_X], {"min": -0.5}, {}), (10, [_X], {"max": 0.5}, {}), (10, [_X], {}, {})],
    ("DFT", 20): [
        (17, [_f(2, 6, 1)], {"axis": 1}, {"tolerance": 1e-5}),
        (19, [_f(2, 6, 1), np.array(4, np.int64)], {"onesided": 1}, {"constants": (1,)}),
        (19, [_f(2, 6, 2)], {"inverse": 1, "axis": 0}, {}),
    ],
    ("Dropout", 10): [(7, [_X], {"ratio": 0.3}, {}), (9, [_X], {}, {})],
    ("Dropout", 12): [(10, [_X], {"ratio": 0.3}, {}), (11, [_X], {}, {})],
    ("GridSample", 20): [
        (16, [_X, _GRID], {}, {}),
        (19, [_X, _GRID], {"mode": "bicubic", "padding_mode": "border"}, {"tolerance": 1e-4}),
        (19, [_X, _GRID], {"mode": "nearest", "align_corners": 1}, {}),
    ],
    ("Hardmax", 13): [(7, [_X], {}, {}), (12, [_X], {"axis": 2}, {}), (12, [_X], {"axis": -1}, {})],
    ("Softmax", 13): [(7, [_X], {}, {}), (12, [_X], {"axis": 2}, {}), (11, [_X], {"axis": -1}, {}),
                      (12, [_X], {"axis": 0}, {}), (12, [_X], {"axis": 2}, {"dynamic": (0,)})],
    ("LogSoftmax", 13): [(7, [_X], {}, {}), (12, [_X], {"axis": 2}, {}), (11, [_X], {"axis": -3}, {})],
    ("Pad", 11): [(7, [_X], {"pads": [0, 1, 1, 0, 0, 0, 2, 1], "value": 1.5}, {}),
                  (10, [_X], {"pads": [0, 0, 1, 2, 0, 0, 2, 1], "mode": "reflect"}, {}),
                  (10, [_X], {"pads": [0, 0, 1, -2, 0, 0, 2, 1], "mode": "edge"}, {})],
    ("Resize", 11): [
        (10, [_X, _SCALES[scales]], {"mode": mode}, {"constants": (1,)})
        for scales in _SCALES
        for mode in ("nearest", "linear")
    ],
    ("Resize", 13): [
        (11, [_X, np.zeros(0, np.float32), _SCALES["up"]], {"mode": "linear"}, {"constants": (1, 2)}),
        (12, [_X, np.zeros(0, np.float32), np.zeros(0, np.float32), _i64(2, 3, 7, 3)],
         {"mode": "nearest", "coordinate_transformation_mode": "tf_half_pixel_for_nn", "nearest_mode": "floor"},
         {"constants": (1, 2, 3)}),
        (11, [_X, np.zeros(0, np.float32), _SCALES["up"]],
         {"mode": "cubic", "coordinate_transformation_mode": "align_corners"}, {"constants": (1, 2)}),
    ],
    ("Resize", 18): [
        (13, [_X, None, _SCALES["down"]], {"mode": "linear"}, {"constants": (2,)}),
        (17, [_X, None, None, _i64(2, 3, 7, 9)], {"mode": "nearest"}, {"constants": (3,)}),
    ],
    ("RoiAlign", 16): [
        (opset, [_X, np.array([[0, 0, 3, 3], [1, 0.5, 4, 3]], np.float32), _i64(0, 1)],
         {"output_height": 2, "output_width": 2, "sampling_ratio": 2}, {})
        for opset in (10, 15)
    ],
    ("Slice", 10): [(7, [_X], {"starts": [1, -2], "ends": [2, 100], "axes": [1, 3]}, {}),
                    (9, [_X], {"starts": [0, 1], "ends": [-1, 3]}, {})],
    ("Split", 13): [(7, [_X], {"axis": 1}, {"outputs": (True, True, True)}),
                    (12, [_X], {"axis": -1, "split": [2, 3]}, {"outputs": (True, True)})],
    ("Split", 18): [(13, [_X, _i64(1, 3)], {"axis": 2}, {"outputs": (True, True), "constants": (1,)}),
                    (17, [_X], {"axis": 2}, {"outputs": (True, True)}),
                    (17, [_X, _i64(1, 3)], {"axis": 2}, {"outputs": (True, True)})],
    ("Squeeze", 13): [(7, [_f(1, 3, 1)], {"axes": [0]}, {}), (12, [_f(1, 3, 1)], {"axes": [-1]}, {}),
                      (11, [_f(1, 3, 1)], {}, {})],
    ("TopK", 10): [(7, [_X], {"k": 2, "axis": 1}, {"outputs": (True, True)}),
                   (9, [_X], {"k": 3}, {"outputs": (True, True)})],
    ("Unsqueeze", 13): [(7, [_X], {"axes": [0, 3]}, {}), (12, [_X], {"axes": [-1]}, {})],
    ("Upsample", 9): [(7, [_X], {"scales": [1.0, 1.0, 2.0, 3.0]}, {}),
                      (8, [_f(1, 1, 3, 4)], {"scales": [1.0, 1.0, 2.0, 3.0], "mode": "linear"}, {})],
}  # fmt: skip


@pytest.mark.parametrize(
    ("op", "opset", "inputs", "attrs", "form"),
    [(op, *case) for (op, _), cases in _CHANGED.items() for case in cases],
    ids=[f"{op}-below-{limit}-{i}" for (op, limit), cases in _CHANGED.items() for i in range(len(cases))],
)
def test_a_changed_form_agrees(op: str, opset: int, inputs: list[Any], attrs: dict[str, Any], form: Any) -> None:
    check(op, inputs, attrs, opset=opset, **form)


def test_every_changed_form_has_a_case() -> None:
    wanted = {(op, new) for op, _, new in _steps() if new in changes(op)}
    own = {("GroupNormalization", 21), ("Scan", 9)}
    assert wanted == set(_CHANGED) | own
    for op, limit in _CHANGED:
        below = max(v for v in _history()[op] if v < limit)
        opsets = [opset for opset, *_ in _CHANGED[op, limit]]
        assert min(opsets) >= _OLDEST and below <= max(opsets) < limit


@pytest.mark.parametrize("opset", [18, 20])
def test_group_normalization_scaled_by_group(opset: int) -> None:
    x, scale, bias = _f(2, 6, 4), _f(3), _f(3)
    parts = x.reshape(2, 3, -1)
    normal = (parts - parts.mean(2, keepdims=True)) / np.sqrt(parts.var(2, keepdims=True) + 1e-5)
    want = (normal * scale[:, None] + bias[:, None]).reshape(x.shape)
    check("GroupNormalization", [x, scale, bias], {"num_groups": 3}, opset=opset, expected=[want])


@pytest.mark.parametrize(("opset", "dtype"), [(7, np.float32), (9, np.float32), (10, np.bool_), (11, np.bool_)])
def test_the_mask_of_a_dropout_keeps_everything(opset: int, dtype: type) -> None:
    """As from 12 on; below 10 it has the type of the data."""
    y, mask = run(one_node("Dropout", [_X], {"ratio": 0.3}, outputs=(True, True), opset=opset), {"i0": _X})
    np.testing.assert_array_equal(y, _X)
    assert mask.dtype == dtype and mask.shape == _X.shape and mask.all()


def test_scan_over_a_batch() -> None:
    """Below 9 the state and the scanned inputs have a batch axis."""
    names = ("state", "x", "sum", "each")
    infos = {name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in names}
    nodes = [helper.make_node("Add", ["state", "x"], ["sum"]), helper.make_node("Identity", ["sum"], ["each"])]
    body = helper.make_graph(nodes, "body", [infos["state"], infos["x"]], [infos["sum"], infos["each"]])
    start, x = _f(3, 2), _f(3, 5, 2)
    for directions, step in (([0], 1), ([1], -1)):
        attrs = {"body": body, "num_scan_inputs": 1, "directions": directions}
        form = {"outputs": (True, True), "opset": 8}
        each = start[:, None] + np.cumsum(x[:, ::step], axis=1)
        check("Scan", [None, start, x], attrs, expected=[each[:, -1], each], **form)
    with pytest.raises(UnsupportedError, match="different lengths"):
        lengths = np.array([1, 2, 3], np.int64)
        run(one_node("Scan", [lengths, start, x], {"body": body, "num_scan_inputs": 1}, opset=8), {})


_Y = _f(3, 4)
_BELOW_7: list[tuple[str, int, list[np.ndarray], dict[str, Any], Callable[..., np.ndarray]]] = [
    ("Add", 6, [_X, _Y], {"broadcast": 1, "axis": 1}, lambda x, y: x + y[:, :, None]),
    ("Sub", 6, [_X, _f(5)], {"broadcast": 1}, lambda x, y: x - y),
    ("Mul", 1, [_X, _f(2)], {"broadcast": 1, "axis": -4, "consumed_inputs": [0, 0]},
     lambda x, y: x * y[:, None, None, None]),
    ("Div", 6, [_X, _X + 9], {}, lambda x, y: x / y),
    ("Relu", 1, [_X], {"consumed_inputs": [0]}, lambda x: np.maximum(x, 0)),
    ("Cast", 1, [_X], {"to": "INT32"}, lambda x: x.astype(np.int32)),
    ("Cast", 5, [_X], {"to": "DOUBLE"}, lambda x: x.astype(np.float64)),
    ("Clip", 6, [_X], {"min": 0.0, "max": 0.5}, lambda x: np.clip(x, 0, 0.5)),
    ("PRelu", 6, [_X, np.float32([1, 2, 3])], {},
     lambda x, s: np.where(x < 0, x * s[:, None, None], x)),
    ("Selu", 1, [_X], {}, lambda x: 1.0507 * np.where(x > 0, x, 1.6732 * np.expm1(x))),
    ("Reshape", 1, [_X], {"shape": [6, -1]}, lambda x: x.reshape(6, -1)),
    ("Concat", 1, [_X, _X], {}, lambda x, y: np.concatenate([x, y], 1)),
    ("Tile", 1, [_X, np.array(3, np.int64), np.array(1, np.int64)], {}, lambda x, n, axis: np.tile(x, (1, 3, 1, 1))),
    ("Pad", 1, [_X], {"paddings": [0, 0, 1, 1, 0, 0, 1, 1]}, lambda x: np.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)])),
    ("Dropout", 6, [_X], {"is_test": 1}, lambda x: x),
    ("Gemm", 6, [_f(2, 3), _f(3, 4), _f(4)], {"broadcast": 1}, lambda a, b, c: a @ b + c),
    ("GlobalLpPool", 1, [_X], {"p": 2.0}, lambda x: np.sqrt((x * x).sum((2, 3), keepdims=True))),
    ("BatchNormalization", 6, _batch_norm(), {"is_test": 1},
     lambda x, s, b, m, v: (x - m[:, None, None]) / np.sqrt(v[:, None, None] + 1e-5) * s[:, None, None]
     + b[:, None, None]),
    ("BatchNormalization", 7, [_X[:, :, 0, 0], _f(3), _f(3), _f(3), np.float32([1, 2, 3])], {"spatial": 0},
     lambda x, s, b, m, v: (x - m) / np.sqrt(v + 1e-5) * s + b),
]  # fmt: skip


@pytest.mark.parametrize(
    ("op", "opset", "inputs", "attrs", "formula"), _BELOW_7, ids=[f"{row[0]}-{row[1]}" for row in _BELOW_7]
)
def test_forms_below_opset_7(
    op: str, opset: int, inputs: list[Any], attrs: dict[str, Any], formula: Callable[..., np.ndarray]
) -> None:
    constants = (1, 2) if op == "Tile" else ()
    want = formula(*inputs).astype(inputs[0].dtype if op != "Cast" else None)
    form = {"opset": opset, "constants": constants}
    check(op, inputs, attrs, expected=[want if op != "Cast" else formula(*inputs)], **form)


@cache
def _node_cases() -> dict[str, list[Any]]:
    """ONNX's cases of one node of the default domain, by operator."""
    found: dict[str, list[Any]] = defaultdict(list)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in load_model_tests(kind="node"):
            nodes = case.model.graph.node
            if len(nodes) == 1 and nodes[0].domain == "" and refusal(case.name) is None:
                found[nodes[0].op_type].append(case)
    return found


def _under(model: onnx.ModelProto, opset: int) -> onnx.ModelProto | None:
    """The model with an older opset; None where the operator did not have that form or those types then."""
    older = onnx.ModelProto()
    older.CopyFrom(model)
    older.opset_import[0].version = opset
    try:
        checker.check_model(older, full_check=True)
    except (checker.ValidationError, onnx.shape_inference.InferenceError):
        return None
    return older


def _plain(value: Any) -> Any:
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else value


def _loop_1() -> None:
    infos = {name: helper.make_tensor_value_info(name, kind, []) for name, kind in
             (("i", TensorProto.INT64), ("go", TensorProto.BOOL), ("x", TensorProto.FLOAT))}  # fmt: skip
    nodes = [helper.make_node("Add", ["x", "x"], ["y"]), helper.make_node("Identity", ["go"], ["again"])]
    outputs = [onnx.ValueInfoProto(name="again"), onnx.ValueInfoProto(name="y"), onnx.ValueInfoProto(name="y")]
    body = helper.make_graph(nodes, "body", list(infos.values()), outputs)
    inputs = [np.array(3, np.int64), None, np.array(2, np.float32)]
    want = [np.array(16, np.float32), np.float32([4, 8, 16])]
    check("Loop", inputs, {"body": body}, outputs=(True, True), opset=9, constants=(0,), expected=want)


def _optional_15() -> None:
    assert run(one_node("Optional", [_X], opset=15), {"i0": _X})[0] is _X


# Versions that none of ONNX's cases can be written in.
_BY_HAND: dict[tuple[str, int], Callable[[], None]] = {
    ("DepthToSpace", 1): lambda: check("DepthToSpace", [_f(2, 8, 2, 3)], {"blocksize": 2}, opset=9),
    ("GlobalLpPool", 2): lambda: check("GlobalLpPool", [_X], {"p": 3}, opset=21),
    ("Loop", 1): _loop_1,
    ("MaxRoiPool", 1): lambda: check(
        "MaxRoiPool",
        [_f(1, 2, 6, 6), np.float32([[0, 1, 1, 4, 5], [0, 0, 0, 2, 3]])],
        {"pooled_shape": [2, 2], "spatial_scale": 1.0},
        opset=21,
    ),
    ("Optional", 15): _optional_15,
}


def test_unchanged_versions_run_the_newest_cases() -> None:
    """Under every older opset whose form was not changed since, the cases that are valid there pass."""
    missing = []
    for op, old, _ in _steps():
        limits = changes(op)
        if any(old < limit <= _NEWEST for limit in limits):
            continue
        opset = max(old, _OLDEST)
        passed = 0
        for case in _node_cases().get(op, ()):
            model = _under(case.model, opset)
            if model is None or passed == 3:
                continue
            for given, wanted in case.data_sets:
                inputs, outputs = ([_plain(value) for value in values] for values in (given, wanted))
                GeTest.assert_similar_outputs(outputs, GeModel(model).run(inputs), case.rtol, case.atol)
            passed += 1
        if (op, old) in _BY_HAND:
            _BY_HAND[op, old]()
        elif not passed:
            missing.append((op, old))
    assert not missing, ", ".join(f"{op}-{version}" for op, version in missing)
