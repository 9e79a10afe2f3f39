"""Reading and writing by index against torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.export import Dim
from torch.nn import functional as F

import ge_core
from ge_core.errors import CheckError, IndexRangeError
from ge_core.reference.interpret import interpret
from ge_frontend_torch.importer import import_model
from tests.frontends.torch.agreement import check, check_all

X = torch.arange(60.0).reshape(3, 4, 5)
I = torch.tensor([[0, 2], [1, -1]])  # noqa: E741
J = torch.tensor([3, 0])
MASK = torch.tensor([True, False, True])

READS: list[Callable[..., Any]] = [
    lambda x, i, j, m: x[i], lambda x, i, j, m: x[:, j], lambda x, i, j, m: x[i, j],
    lambda x, i, j, m: x[:, i, j], lambda x, i, j, m: x[i, :, j],
    lambda x, i, j, m: x[0, i], lambda x, i, j, m: x[i, 1:, j],
    lambda x, i, j, m: x[..., j], lambda x, i, j, m: x[i[0], i[0], i[0]],
    lambda x, i, j, m: x[None, i], lambda x, i, j, m: x[[0, 1], [1, 2]], lambda x, i, j, m: x[torch.tensor(1)],
    lambda x, i, j, m: x.index_select(1, j),
    lambda x, i, j, m: x.gather(1, i[:, None].expand(2, 3, 2) % 4), lambda x, i, j, m: x.take(i % 60),
    lambda x, i, j, m: torch.take_along_dim(x, x[:1].long() % 3, 0),
    lambda x, i, j, m: F.embedding(i % 3, x[0]), lambda x, i, j, m: x[i.int()],
    lambda x, i, j, m: F.embedding(i % 3, x[0], padding_idx=0),
]  # fmt: skip

WRITES: list[Callable[..., Any]] = [
    lambda x, i, j, m: x.index_put((i,), x[0]), lambda x, i, j, m: x.index_put((i[0], j), x[0, 0]),
    lambda x, i, j, m: x.index_put((j % 3,), torch.tensor(9.0)),
    lambda x, i, j, m: x.index_put((j % 2,), x[:2], accumulate=True),
    lambda x, i, j, m: x.index_put((m,), torch.tensor(5.0)),
    lambda x, i, j, m: torch.ops.aten.index_put(x, [None, j], x[:, :2]),
    lambda x, i, j, m: torch.ops.aten.index_put(x, [j % 3, None, j], x[:2, :, 0]),
    lambda x, i, j, m: x.index_copy(1, j, x[:, :2]), lambda x, i, j, m: x.index_add(1, j, x[:, :2], alpha=2),
    lambda x, i, j, m: x.index_fill(2, j, -1.0),
    lambda x, i, j, m: x.scatter(1, i[:, None].expand(2, 3, 2) % 4, x),
    lambda x, i, j, m: x.scatter(2, i[None] % 5, 7.0), lambda x, i, j, m: x.scatter_add(0, i[:, None] % 3, x),
    lambda x, i, j, m: x.scatter_reduce(1, i[None] % 4, x, "amax"),
    lambda x, i, j, m: x.scatter_reduce(1, i[None] % 4, x, "mean", include_self=False),
    lambda x, i, j, m: x.scatter_reduce(0, i[:, None] % 3, x, "prod"),
    lambda x, i, j, m: x.scatter(1, i[None] % 4, x, reduce="add"),
    lambda x, i, j, m: x.slice_scatter(x[:2], 0, 1), lambda x, i, j, m: x.slice_scatter(x[:, :2], 1, 0, 4, 2),
    lambda x, i, j, m: x.slice_scatter(x[:, :1], 1, -1),
    lambda x, i, j, m: x.select_scatter(x[0], 0, 1), lambda x, i, j, m: x.select_scatter(x[:, 0], 1, -1),

    lambda x, i, j, m: torch.diagonal_scatter(x[0], x[0, 0, :4]),
    lambda x, i, j, m: x.masked_fill(m[:, None, None], 0.0),
    lambda x, i, j, m: x.masked_scatter(m[:, None, None], x + 100),
]  # fmt: skip


def test_reads() -> None:
    check_all(READS, (X, I, J, MASK))
    check_all(READS[:9], (X.long(), I, J, MASK))


def test_writes() -> None:
    check_all(WRITES, (X, I, J, MASK))


def test_assignments() -> None:
    def assign(x: torch.Tensor, j: torch.Tensor, m: torch.Tensor) -> torch.Tensor:
        y = x.clone()
        y[0] = 1
        y[:, 1] = y[:, 2] * 2
        y[1, :, j] = 7
        y[m] = -1
        y[..., -1] += 3
        y[:, ::2] = 0.5
        return y

    check(assign, (X, J, MASK))


def test_dynamic_rows() -> None:
    n = Dim("n", min=1)
    functions: list[Callable[..., Any]] = [
        lambda x, i: x[i], lambda x, i: x[:, i[0] * 0], lambda x, i: x.gather(0, i[:, None].expand(-1, 4)),
        lambda x, i: x.index_add(0, i, x),
        lambda x, i: x.scatter(0, i[:, None] % x.shape[0], 1.0), lambda x, i: F.embedding(i, x),
        lambda x, i: F.one_hot(i, 9), lambda x, i: x.index_copy(0, i, x),
    ]  # fmt: skip
    x, i = torch.randn(3, 4), torch.zeros(3, dtype=torch.long)
    check_all(functions, (x, i), dynamic=({0: n}, {0: n}), sizes=(1, 6))


def test_sizes_that_depend_on_data() -> None:
    def find(x: torch.Tensor) -> Any:
        places = torch.nonzero(x > 0)
        torch._check(places.shape[0] >= 0)
        return places, x[x > 0], x[x > 0].sum(), torch.unique(x.round()), torch.masked_select(x, x < 0), x[x[:, 0] > 0]

    check(find, (torch.randn(5, 8),))
    check(lambda x: torch.argwhere(x), (torch.tensor([[0, 1], [2, 0]]),))
    check(lambda x: torch.unique(x, return_inverse=True, return_counts=True), (torch.tensor([3, 1, 3, 2, 1]),))
    check(
        lambda x: torch.unique_consecutive(x, return_inverse=True, return_counts=True), (torch.tensor([3, 3, 1, 1, 3]),)
    )
    check(lambda x: torch.unique(x, dim=0), (torch.tensor([[1, 2], [0, 1], [1, 2]]),))
    check(lambda x, r: x.repeat_interleave(r, dim=0), (torch.arange(6).reshape(3, 2), torch.tensor([2, 0, 3])))
    check(lambda x: torch.bincount(x, minlength=3), (torch.tensor([1, 4, 4]),))


def test_python_values_of_elements() -> None:
    def rows(x: torch.Tensor, n: torch.Tensor) -> Any:
        count = n.item()
        torch._check(count >= 0)
        torch._check(count <= x.shape[0])
        return x[:count] * 2, torch.zeros(count, 2), x * count

    imported = check(rows, (torch.randn(5, 3), torch.tensor(3)))
    with pytest.raises((CheckError, IndexRangeError, Exception), match="5|assert|outside|torch"):
        interpret(imported.graph, [np.zeros((5, 3), np.float32), np.array(9)])
    check(lambda x, s: x * s.item(), (torch.randn(3), torch.tensor(2.5)))


def test_searching() -> None:
    edges = torch.tensor([-1.0, 0.0, 0.5, 0.5, 2.0])
    x = torch.tensor([[-2.0, 0.0, 0.5], [0.7, 2.0, 3.0]])
    check_all(
        [
            lambda v, e: torch.bucketize(v, e), lambda v, e: torch.bucketize(v, e, right=True),
            lambda v, e: torch.searchsorted(e, v),
            lambda v, e: torch.searchsorted(e, v, right=True),
            lambda v, e: torch.searchsorted(e, v, side="right", out_int32=True),
            lambda v, e: torch.searchsorted(e, 0.5), lambda v, e: torch.bucketize(0.6, e),
            lambda v, e: torch.histc(v, 4, -2, 2),
            lambda v, e: torch.searchsorted(e.expand(2, -1).contiguous(), v),
        ],
        (x, edges),
    )  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("target", ["reference", "cpu"])
def test_elements_at_the_edges_of_bins(dtype: torch.dtype, target: str) -> None:
    """Torch's own formula says to which bin they belong."""
    for bins, low, high in ((100, -3, 3), (10, 0.1, 0.9), (256, -1.5, 2.7)):
        edges = (torch.arange(bins + 1, dtype=torch.float64) * (high - low) / bins + low).to(dtype)
        beside = [torch.nextafter(edges, torch.full_like(edges, far)) for far in (-9.0, 9.0)]
        x = torch.cat([edges, *beside, torch.tensor([float("nan"), float("inf"), -float("inf")], dtype=dtype)])

        class Counts(torch.nn.Module):
            def forward(self, v: torch.Tensor, bins: int = bins, low: float = low, high: float = high) -> torch.Tensor:
                return torch.histc(v, bins, low, high)

        model = ge_core.compile(Counts().eval(), (x,), target=target)
        torch.testing.assert_close(model(x), torch.histc(x, bins, low, high), rtol=0, atol=0)


def test_embedding_bags() -> None:
    weight, i = torch.randn(6, 3), torch.tensor([1, 2, 4, 5, 4, 3])
    offsets = torch.tensor([0, 2, 2])
    modes = ["sum", "mean", "max"]
    check_all([lambda w, i, o, m=m: F.embedding_bag(i, w, o, mode=m) for m in modes], (weight, i, offsets))
    check_all(
        [lambda w, i, o, m=m: F.embedding_bag(i, w, o, mode=m, padding_idx=4) for m in modes], (weight, i, offsets)
    )
    check_all([lambda w, i, m=m: F.embedding_bag(i.reshape(2, 3), w, mode=m) for m in modes], (weight, i))
    check(
        lambda w, i, o, s: F.embedding_bag(i, w, o, mode="sum", per_sample_weights=s),
        (weight, i, offsets, torch.rand(6)),
    )


def test_an_index_out_of_range_is_an_error() -> None:
    imported = import_model(lambda x, i: x[i], (torch.randn(3), torch.tensor([1])))
    with pytest.raises(IndexRangeError):
        interpret(imported.graph, [np.zeros(3, np.float32), np.array([3])])
