"""Results do not depend on what else the machine does: the same bits beside busy threads and other models."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from ge_core.ir import Builder, Graph
from ge_core.plan.states import StateStore
from tests.backends.cpu.native import executable, plan_of

Call = Callable[[], list[np.ndarray]]


def model(seed: int, threads: int) -> Call:
    """A call of a model whose steps are worth two threads: a convolution, a sum over rows, a product, a softmax."""
    rng = np.random.default_rng(seed)
    graph = Graph()
    b = Builder(graph)
    x = b.input("x", "float32", (2, 8, 40, 40))
    w = rng.standard_normal((24, 8, 3, 3)).astype(np.float32)
    y = b.Relu(b.Conv(x, b.constant(w), pads=[1, 1, 1, 1]))
    rows = b.ReduceMean(y, b.ints(3), keepdims=0)
    flat = b.Reshape(rows, b.ints(2, -1))
    b.outputs(b.Softmax(b.MatMul(flat, b.constant(rng.standard_normal((960, 96)).astype(np.float32)))), b.Tanh(y))
    run, given = executable(plan_of(graph), threads=threads), rng.standard_normal((2, 8, 40, 40)).astype(np.float32)
    return lambda: [np.array(a) for a in run.run([given], StateStore())]


@contextmanager
def meanwhile(*work: Callable[[], object]) -> Iterator[list[BaseException]]:
    """Do some work over and over in threads of its own; yields what went wrong in it."""
    done, wrong = threading.Event(), list[BaseException]()

    def repeat(one: Callable[[], object]) -> None:
        try:
            while not done.is_set():
                one()
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            wrong.append(error)

    threads = [threading.Thread(target=repeat, args=(one,)) for one in work]
    for thread in threads:
        thread.start()
    try:
        yield wrong
    finally:
        done.set()
        for thread in threads:
            thread.join()


def same(call: Call, want: list[np.ndarray]) -> None:
    for got, expected in zip(call(), want, strict=True):
        assert np.array_equal(got.view(np.uint32), expected.view(np.uint32))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_thread_count_gives_the_same_bits_under_load(threads: int) -> None:
    call = model(0, threads)
    want = call()
    same(model(0, threads), want)
    a = np.random.default_rng(1).standard_normal((400, 400))
    with meanwhile(lambda: a @ a, lambda: np.sort(a.ravel())) as wrong:
        for _ in range(25):
            same(call, want)
    assert not wrong


def test_two_models_at_once_beside_a_torch_program() -> None:
    torch = pytest.importorskip("torch")
    calls = [model(seed, threads) for seed, threads in ((1, 2), (2, 2), (3, 4))]
    wants = [call() for call in calls]
    a = torch.randn(300, 300, generator=torch.Generator().manual_seed(0))
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    try:
        product = a @ a
        torch_work = [lambda: torch.testing.assert_close(a @ a, product)] * 2
        others = [lambda c=c, w=w: same(c, w) for c, w in zip(calls[1:], wants[1:], strict=True)]  # type: ignore[misc]
        with meanwhile(*torch_work, *others) as wrong:
            for _ in range(25):
                same(calls[0], wants[0])
        assert not wrong
    finally:
        torch.set_num_threads(before)
