"""Tensors cross between torch and numpy on the same memory, with every dtype both have; the rest is refused."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
import torch

from ge_core.errors import InputError
from ge_frontend_torch.tensors import from_numpy, to_numpy

DTYPES = {
    torch.float32: np.float32,
    torch.float64: np.float64,
    torch.float16: np.float16,
    torch.bfloat16: ml_dtypes.bfloat16,
    torch.float8_e4m3fn: ml_dtypes.float8_e4m3fn,
    torch.float8_e4m3fnuz: ml_dtypes.float8_e4m3fnuz,
    torch.float8_e5m2: ml_dtypes.float8_e5m2,
    torch.float8_e5m2fnuz: ml_dtypes.float8_e5m2fnuz,
    torch.int8: np.int8,
    torch.int16: np.int16,
    torch.int32: np.int32,
    torch.int64: np.int64,
    torch.uint8: np.uint8,
    torch.uint16: np.uint16,
    torch.uint32: np.uint32,
    torch.uint64: np.uint64,
    torch.bool: np.bool_,
}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
def test_both_ways_with_every_dtype(dtype, shape):
    tensor = torch.arange(int(np.prod(shape))).reshape(shape).to(dtype)
    array = to_numpy(tensor)
    assert (array.dtype, array.shape) == (np.dtype(DTYPES[dtype]), shape)
    np.testing.assert_array_equal(array.astype(np.float64), tensor.to(torch.float64).numpy())
    back = from_numpy(array, tensor)
    assert (back.dtype, back.shape) == (dtype, tensor.shape)
    assert torch.equal(back.to(torch.float64), tensor.to(torch.float64))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float8_e5m2], ids=str)
def test_memory_is_shared_both_ways(dtype):
    tensor = torch.zeros(4).to(dtype)
    array = to_numpy(tensor)
    array[1] = 2
    assert tensor[1] == 2
    back = from_numpy(array, tensor)
    back[2] = 4
    assert array[2] == 4 and tensor[2] == 4


def test_strides_are_kept():
    tensor = torch.arange(12.0).reshape(3, 4).to(torch.bfloat16).T[1:, ::2]
    array = to_numpy(tensor)
    np.testing.assert_array_equal(array.astype(np.float32), tensor.float().numpy())


@pytest.mark.parametrize("like", [None, torch.ones(1)], ids=["no tensor", "a tensor"])
def test_what_torch_cannot_share_is_copied(like):
    frozen = np.arange(3.0)
    frozen.flags.writeable = False
    for array in (frozen, np.arange(3.0)[::-1], np.arange(3, dtype=">i4"), np.broadcast_to(np.float32(1), (2, 2))):
        tensor = from_numpy(array, like)
        np.testing.assert_array_equal(tensor.numpy(), array)
        tensor.zero_()
    assert frozen[2] == 2


def test_a_parameter_and_a_negated_view_have_values():
    parameter = torch.nn.Parameter(torch.ones(2))
    np.testing.assert_array_equal(to_numpy(parameter), [1, 1])
    negated = torch.tensor([1 + 2j]).conj().imag
    assert negated.is_neg()
    np.testing.assert_array_equal(to_numpy(negated), [-2])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: torch.ones(2, device="meta"), "on the device 'meta'"),
        (lambda: torch.ones(2, 2).to_sparse(), "is sparse"),
        (lambda: torch.ones(2, dtype=torch.complex64), "is complex"),
    ],
)
def test_what_has_no_plain_values_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        to_numpy(make())


def test_what_is_no_tensor_is_nobodys():
    assert to_numpy(np.ones(2)) is None
    assert to_numpy(3) is None
