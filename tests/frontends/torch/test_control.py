"""Control flow against torch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.while_loop import while_loop
from torch.export import Dim

from ge_core.errors import SizeBoundError, UnsupportedError
from ge_core.ir.traverse import walk
from ge_core.reference.interpret import interpret
from ge_frontend_torch.importer import import_model
from tests.frontends.torch.agreement import check


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> Any:
        return torch.cond(x.sum() > 0, lambda x: self.a(x).relu(), lambda x: self.b(x).sin(), (x,))


def test_cond() -> None:
    model = Branches()
    for x in (torch.ones(2, 4), -torch.ones(2, 4)):
        check(model, (x,), dynamic=({0: Dim("n", min=2)},))


def test_nested_cond_with_several_results() -> None:
    def model(x: torch.Tensor) -> Any:
        def inner(x: torch.Tensor) -> Any:
            return torch.cond(x.max() > 2, lambda x: (x + 1, x.sum()), lambda x: (x - 1, x.mean()), (x,))

        return torch.cond(x.sum() > 0, inner, lambda x: (x * 2, x.amin()), (x,))

    for x in (torch.ones(3), torch.full((3,), 3.0), -torch.ones(3)):
        check(model, (x,))


def test_cond_on_a_size() -> None:
    def model(x: torch.Tensor) -> Any:
        return torch.cond(x.shape[0] > 4, lambda x: x + 1, lambda x: x - 1, (x,))

    check(model, (torch.randn(6, 2),), dynamic=({0: Dim("n", min=2, max=9)},), sizes=(3, 5))


def test_while_loop() -> None:
    class Repeat(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(4, 4)

        def forward(self, n: torch.Tensor, x: torch.Tensor) -> Any:
            return while_loop(lambda i, x: i > 0, lambda i, x: (i - 1, self.layer(x).tanh()), (n, x))

    imported = check(Repeat(), (torch.tensor(3), torch.randn(2, 4)))
    assert [node.op for node in walk(imported.graph) if node.op == "Loop"] == ["Loop"]
    check(Repeat(), (torch.tensor(0), torch.randn(2, 4)))


def test_while_loop_over_an_integer() -> None:
    def model(x: torch.Tensor) -> Any:
        return while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (0, x))[1]

    check(model, (torch.randn(3),))


def test_scan_and_map() -> None:
    check(lambda xs: scan(lambda c, x: (c + x, (c * x).tanh()), torch.zeros(4), xs, dim=0), (torch.randn(5, 4),))
    check(lambda xs, y: torch_map(lambda x, y: (x + y).cos(), xs, y), (torch.randn(5, 4), torch.randn(4)))
    check(lambda xs: associative_scan(lambda a, b: a * b + b, xs, 0, combine_mode="generic"), (torch.randn(5, 4),))


def test_scan_of_dynamic_length() -> None:
    def model(xs: torch.Tensor) -> Any:
        return scan(lambda c, x: (c + x, c * x), torch.zeros(4), xs, dim=0)

    check(model, (torch.randn(5, 4),), dynamic=({0: Dim("t", min=2)},), sizes=(2, 7))


def test_assertions_run() -> None:
    def model(x: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        count = n.item()
        torch._check(count > 2)
        return x + count

    imported = import_model(model, (torch.zeros(2), torch.tensor(4)))
    x = torch.zeros(2).numpy()
    assert interpret(imported.graph, [x, torch.tensor(5).numpy()])[0][0].tolist() == [5.0, 5.0]
    with pytest.raises(SizeBoundError):
        interpret(imported.graph, [x, torch.tensor(1).numpy()])


def test_gradient_modes_are_inlined() -> None:
    def model(x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            y = x * 2
        return y + 1

    check(model, (torch.randn(3),))


def test_autocast_is_refused() -> None:
    def model(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return x @ x

    with pytest.raises(UnsupportedError, match="autocast"):
        import_model(model, (torch.randn(3, 3),))
