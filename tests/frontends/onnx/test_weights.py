"""Tensors of every type in every field, sparse ones, and tensors that lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from ge_core.errors import GeError, ModelImportError, UnsupportedError
from ge_core.ir.dtype import DTYPES, DType
from ge_frontend_onnx.external_data import ExternalData
from ge_frontend_onnx.weights import Weights

_TYPES = [d.name for d in DTYPES if d.kind != "string"]


def _read(proto: TensorProto, owned: bool = False) -> np.ndarray:
    return Weights(ExternalData(None), owned).constant(proto).array()


def _example(dtype: DType) -> np.ndarray:
    raw = np.random.default_rng(0).integers(0, 100, (3, 5))
    if dtype.kind == "complex":
        return (raw + 1j * raw.T.reshape(3, 5)).astype(dtype.numpy)
    if dtype.is_integer:
        low, high = int(dtype.min), int(dtype.max)
        return (low + raw % (min(high - low, 200) + 1)).astype(dtype.numpy)
    return (raw % 2 == 1) if dtype.kind == "bool" else (raw % 5 - 1.5).astype(np.float32).astype(dtype.numpy)


@pytest.mark.parametrize("name", _TYPES)
@pytest.mark.parametrize("owned", [False, True])
def test_raw_data(name: str, owned: bool) -> None:
    want = _example(DType.of(name))
    proto = numpy_helper.from_array(want, "w")
    assert proto.HasField("raw_data")
    got = _read(proto, owned)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got.astype(np.complex128), want.astype(np.complex128))


@pytest.mark.parametrize("name", _TYPES)
def test_typed_fields(name: str) -> None:
    dtype = DType.of(name)
    want = _example(dtype)
    proto = helper.make_tensor("w", dtype.onnx, want.shape, want.ravel())
    if proto.HasField("raw_data"):
        pytest.skip("onnx writes this type as raw data only")
    got = _read(proto)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got.astype(np.complex128), want.astype(np.complex128))


def test_scalars_and_empty_tensors() -> None:
    assert _read(numpy_helper.from_array(np.float32(2.5), "w")).shape == ()
    assert _read(numpy_helper.from_array(np.zeros((0, 4), np.int64), "w")).shape == (0, 4)
    assert _read(helper.make_tensor("w", TensorProto.FLOAT, [0], [])).size == 0


def test_memory_is_shared_until_it_must_be_unpacked() -> None:
    proto = numpy_helper.from_array(np.zeros(1000, np.float32), "w")
    constant = Weights(ExternalData(None), owned=True).constant(proto)
    assert constant.array().base is not None and constant.array() is constant.array()
    packed = numpy_helper.from_array(np.zeros(5, ml_dtypes.int4), "w")
    assert len(packed.raw_data) == 3 and _read(packed).dtype == ml_dtypes.int4


def _sparse(indices: list[Any], shape: list[int], values: list[float]) -> Any:
    return helper.make_sparse_tensor(
        helper.make_tensor("w", TensorProto.FLOAT, [len(values)], values),
        helper.make_tensor("i", TensorProto.INT64, np.array(indices).shape, np.array(indices).ravel()),
        shape,
    )


def test_sparse_tensors() -> None:
    weights = Weights(ExternalData(None), False)
    want = np.float32([[0, 5, 0], [0, 0, 7]])
    for indices in ([1, 5], [[0, 1], [1, 2]]):
        np.testing.assert_array_equal(weights.dense(_sparse(indices, [2, 3], [5, 7])).array(), want)
    for indices, shape in (([1, 6], [2, 3]), ([[0, 1], [2, 0]], [2, 3]), ([1], [2, 3]), ([0, -1], [2, 3])):
        with pytest.raises(ModelImportError, match="index|indices"):
            weights.dense(_sparse(indices, shape, [5, 7]))
    with pytest.raises(ModelImportError, match="at most 2 GiB"):
        weights.dense(_sparse([1, 5], [1 << 31, 1 << 31], [5, 7]))


def _lie(change: Callable[[TensorProto], None], typed: bool = False) -> TensorProto:
    proto = (
        helper.make_tensor("w", 1, [2, 3], range(6)) if typed else numpy_helper.from_array(np.zeros((2, 3), "f"), "w")
    )
    change(proto)
    return proto


@pytest.mark.parametrize(
    ("proto", "message", "error"),
    [
        (_lie(lambda p: p.dims.append(4)), "holds 24 bytes", ModelImportError),
        (_lie(lambda p: p.dims.append(4), typed=True), "holds 6 numbers in float_data", ModelImportError),
        (_lie(lambda p: p.dims.append(1 << 62)), "holds 24 bytes", ModelImportError),
        (_lie(lambda p: p.dims.append(-1)), r"shape \[2, 3, -1\]", ModelImportError),
        (_lie(lambda p: setattr(p, "data_type", 0)), "no element type", ModelImportError),
        (_lie(lambda p: setattr(p, "data_type", 99)), "number 99", ModelImportError),
        (_lie(lambda p: setattr(p, "data_type", TensorProto.STRING)), "strings", UnsupportedError),
        (_lie(lambda p: setattr(p, "raw_data", b"123")), "holds 3 bytes", ModelImportError),
        (_lie(lambda p: p.segment.SetInParent()), "segments", ModelImportError),
        (_lie(lambda p: setattr(p, "data_location", 1)), "without a folder", ModelImportError),
    ],
)
def test_tensors_that_lie(proto: TensorProto, message: str, error: type[GeError]) -> None:
    with pytest.raises(error, match=message):
        _read(proto)
