"""Named sizes that take listed values only: through dynamic shapes, specs, options, files and the command line."""

from __future__ import annotations

import pickle
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from typer.testing import CliRunner

import ge_core
from ge_core.cli.app import build
from ge_core.cli.exit_codes import ExitCode
from ge_core.errors import InputError, OptionError
from ge_core.ir import Builder, Graph, symbol
from ge_core.listed_sizes import listed_in, with_listed
from tests.core.api import toys

ROWS = ge_core.Dim("rows", values=(4, 1, 2, 4))


def net() -> Graph:
    graph = Graph("net")
    b = Builder(graph)
    n = symbol("n", 1)
    b.outputs(b.Softmax(b.Add(b.input("x", "float32", (n, 4)), b.input("y", "float32", (2 * n + 1, 1, 4)))))
    return graph


def call(model: ge_core.CompiledModel, n: int, other: int | None = None) -> np.ndarray:
    found: np.ndarray = model(np.ones((n, 4), np.float32), np.ones((other or 2 * n + 1, 1, 4), np.float32))
    return found


def test_a_dim_is_a_name_with_values() -> None:
    assert ROWS == "rows" and ROWS.values == (1, 2, 4) and repr(ROWS) == "Dim('rows', values=(1, 2, 4))"
    again = pickle.loads(pickle.dumps(ROWS))
    assert again == ROWS and again.values == ROWS.values
    assert ge_core.InputSpec((ROWS, 3)).shape == ("rows", 3)


@pytest.mark.parametrize(
    ("name", "values"), [("2 rows", (1,)), ("rows", ()), ("rows", (0, 1)), ("rows", "12"), ("r", 3)]
)
def test_a_dim_without_a_name_or_values_is_refused(name: str, values: object) -> None:
    with pytest.raises(InputError, match="no name of a size|whole numbers of at least 1"):
        ge_core.Dim(name, values=values)  # type: ignore[arg-type]


def test_one_name_has_one_list() -> None:
    assert listed_in({"x": {0: ROWS}}, [ge_core.InputSpec((ROWS,))], None) == {"rows": (1, 2, 4)}
    with pytest.raises(InputError, match=r"rows has the values \[1, 2, 4\] and \[8\]"):
        listed_in({"x": {0: ROWS}}, [ge_core.InputSpec((ge_core.Dim("rows", (8,)),))])
    with pytest.raises(OptionError, match="rows has the values"):
        with_listed({"dims": {"rows": [1]}}, [{"rows": (1, 2)}])
    with pytest.raises(OptionError, match="the gears of rows are"):
        with_listed({"gears": {"rows": [1]}}, [{"rows": (1, 2)}])
    for wrong in ([1, 2], {"rows": []}, {"rows": "12"}):
        with pytest.raises(OptionError):
            with_listed({"dims": wrong}, [])


def test_sizes_that_are_not_listed_are_refused_by_name(tmp_path: Path) -> None:
    model = ge_core.compile(net(), target="reference", options={"dims": {"n": [4, 2]}})
    assert model.plan is not None and model.plan.gears == {"n": (2, 4)}
    model.save(tmp_path / "net.om")
    again = ge_core.load(tmp_path / "net.om")
    rebuilt = ge_core.load(tmp_path / "net.om", rebuild=True)
    for one in (model, again, rebuilt):
        assert call(one, 4).shape == (9, 4, 4)
        with pytest.raises(InputError, match="'x' has size 3 in dim 0") as caught:
            call(one, 3)
        assert caught.value.expected == "n, where n is one of 2, 4"
        with pytest.raises(InputError):
            call(one, 4, 7)
        with pytest.raises(InputError):
            one.profile(np.ones((3, 4), np.float32), np.ones((7, 1, 4), np.float32))


def test_a_size_that_is_never_alone_is_refused_too() -> None:
    graph = Graph("net")
    b = Builder(graph)
    b.outputs(b.Relu(b.input("x", "float32", (2 * symbol("n", 1) + 1,))))
    model = ge_core.compile(graph, target="reference", options={"dims": {"n": [2]}})
    assert model(np.ones(5, np.float32)).shape == (5,)
    with pytest.raises(InputError, match="size 3 in dim 0") as caught:
        model(np.ones(3, np.float32))
    assert caught.value.expected == "2*n+1, where n is one of 2"


def test_dims_of_dynamic_shapes_reach_the_model(toy: ModuleType) -> None:
    x = toys.Tensor(np.ones((2, 4), np.float32))
    model = ge_core.compile(toys.Model(), (x,), dynamic_shapes={"x": {0: ROWS}})
    assert model.provenance.options["dims"] == {"rows": [1, 2, 4]}
    model(x)
    graph = ge_core.import_model(toys.Model(), (x,), dynamic_shapes={"x": {0: ROWS}})
    for one in (model, ge_core.compile(graph), ge_core.compile(ge_core.optimize(graph))):
        with pytest.raises(InputError, match="size 3 in dim 0"):
            one(toys.Tensor(np.ones((3, 4), np.float32)))
    with pytest.raises(OptionError, match="'k', which no input has"):
        ge_core.compile(toys.Model(), (x,), dynamic_shapes={"x": {0: ge_core.Dim("k", (1, 2))}})


def test_entries_share_their_lists(toy: ModuleType) -> None:
    x = toys.Tensor(np.ones((2, 4), np.float32))
    spec = ge_core.EntrySpec(toys.Model(), (x,), dynamic_shapes={"x": {0: ROWS}})
    model = ge_core.compile_entries({"one": spec, "two": spec})
    with pytest.raises(InputError, match="size 3"):
        model.entries["two"](toys.Tensor(np.ones((3, 4), np.float32)))
    other = ge_core.EntrySpec(toys.Model(), (x,), dynamic_shapes={"x": {0: ge_core.Dim("rows", (2, 3))}})
    with pytest.raises(OptionError, match="rows has the values"):
        ge_core.compile_entries({"one": spec, "two": other})


MODULE = """
from ge_core.ir import Builder, Graph, symbol

def net():
    graph = Graph("net")
    b = Builder(graph)
    b.outputs(b.Relu(b.input("x", "float32", (symbol("batch", 1), 4))))
    return graph
"""


def test_the_command_line_lists_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ge(*arguments: object) -> tuple[int, str]:
        done = CliRunner().invoke(build(), [str(a) for a in arguments])
        return done.exit_code, done.output

    (tmp_path / "listednet.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    code, told = ge("compile", "listednet:net", "-o", "net.om", "--target", "reference", "--dim", "batch=2,4")
    assert code == ExitCode.OK, told
    assert ge("run", "net.om")[0] == ExitCode.OK
    np.save("x.npy", np.ones((3, 4), np.float32))
    code, told = ge("run", "net.om", "-i", "x=x.npy")
    assert code != ExitCode.OK and "one of 2, 4" in told
    for wrong in ("batch", "batch=", "batch=2;4", "2=2"):
        code, told = ge("compile", "listednet:net", "-o", "b.om", "--target", "reference", "--dim", wrong)
        assert code == ExitCode.USAGE and "--dim" in told
