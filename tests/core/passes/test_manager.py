"""The manager: order, fixpoints, claims, failures that can be repeated, bisecting."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from ge_core.errors import OptionError, PassError
from ge_core.ir import Builder, Graph
from ge_core.passes import PassContext, PassManager
from ge_core.passes.__main__ import main
from ge_core.passes.base import Pass
from ge_core.passes.bisect import guilty_rewrite
from ge_core.passes.canonicalise import Canonicalise
from ge_core.passes.dce import DeadCode
from ge_core.passes.matching import Any_, Match, Node
from ge_core.passes.pipeline import default_passes
from ge_core.passes.rewrite import RewritePass, Rule, rule
from ge_core.passes.saved import Snapshot, load_graph
from ge_core.reference.interpret import interpret
from tests.core.passes.rewriting import ops


def chain(count: int = 3) -> Graph:
    graph = Graph("chain")
    b = Builder(graph)
    x = b.input("x", "float32", (2, 3))
    for _ in range(count):
        x = b.Relu(b.Identity(x))
    b.outputs(x)
    return graph


@dataclass(frozen=True)
class Liar(Pass):
    claim: bool

    def run(self, graph: Graph, ctx: PassContext) -> bool:
        if not self.claim:
            graph.name += "x"
        return self.claim


@dataclass(frozen=True)
class Breaker(Pass):
    """Leaves a node that reads what comes after it."""

    def run(self, graph: Graph, ctx: PassContext) -> bool:
        last = graph.nodes.last
        assert last is not None
        graph.nodes.unlink(last)
        graph.nodes.insert_before(graph.nodes.first, last)  # type: ignore[arg-type]
        return True


@dataclass(frozen=True)
class Crash(Pass):
    def run(self, graph: Graph, ctx: PassContext) -> bool:
        raise KeyError("lost")


@pytest.mark.parametrize("claim", [True, False])
def test_a_false_claim_of_change_is_an_error(claim: bool) -> None:
    with pytest.raises(PassError, match="pass liar says"):
        PassManager((Liar(claim),))(chain(), PassContext(debug=True))


def test_an_invalid_graph_names_the_pass() -> None:
    with pytest.raises(PassError, match="after pass breaker"):
        PassManager((Breaker(),))(chain(), PassContext(debug=True))


def test_a_crash_names_the_pass_those_before_it_and_a_command_that_repeats_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ctx = PassContext(debug=True, save_to=tmp_path)
    with pytest.raises(PassError) as error:
        PassManager((Canonicalise(), Crash()))(chain(), ctx)
    assert "pass crash failed: KeyError" in str(error.value)
    assert "passes before it: canonicalise" in str(error.value)
    command = str(error.value.fix).split()
    assert command[:3] == ["python", "-m", "ge_core.passes"] and command[-1] == "crash"
    monkeypatch.setattr("ge_core.passes.__main__.known_passes", lambda: {"crash": Crash()})
    assert main(command[3:]) == 1
    assert "KeyError" in capsys.readouterr().err


def test_without_debug_a_crash_says_how_to_get_the_graph() -> None:
    with pytest.raises(PassError, match="GE_DEBUG=1"):
        PassManager((Crash(),))(chain(), PassContext(debug=False))


def test_a_saved_graph_comes_back_whole(tmp_path: Path) -> None:
    graph = Graph("saved")
    b = Builder(graph)
    x = b.input("x", "float32", (2, 200))
    b.outputs(b.Add(b.Mul(x, np.linspace(0, 1, 200, dtype=np.float32)), np.full(1, 2, np.float32)))
    path = Snapshot.of(graph).save(tmp_path / "g.txt")
    arrays = [np.ones((2, 200), np.float32)]
    assert np.array_equal(interpret(load_graph(path), arrays)[0][0], interpret(graph, arrays)[0][0])
    with pytest.raises(PassError, match="no saved graph"):
        load_graph(tmp_path / "missing.txt")


def test_every_core_pass_can_be_repeated_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(Snapshot.of(chain()).save(tmp_path / "g.txt"))
    assert main([path, "canonicalise"]) == 0
    assert "Identity" not in capsys.readouterr().out
    assert main([path, "canonicalise", "--stop-after", "1"]) == 0
    assert capsys.readouterr().out.count("Identity") == 2


def test_stop_after_counts_rewrites() -> None:
    for count in range(4):
        graph, ctx = chain(), PassContext(debug=True, stop_after=count)
        PassManager((Canonicalise(),))(graph, ctx)
        assert ops(graph).count("Identity") == 3 - count
        assert ctx.rewrites == count


def test_graphs_can_be_printed_and_saved_after_a_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ctx = PassContext(print_after=frozenset({"dead-code"}), save_to=tmp_path)
    PassManager((Canonicalise(), DeadCode()))(chain(), ctx)
    assert "graph after dead-code" in capsys.readouterr().err
    assert [p.name for p in tmp_path.glob("*.txt")] == ["001-canonicalise.txt"]  # dead-code found nothing


def test_runs_are_timed_and_counted() -> None:
    ctx = PassContext()
    PassManager((Canonicalise(), DeadCode()))(chain(), ctx)
    first, second = ctx.report.runs
    assert (first.name, first.changed, first.rewrites, first.nodes_before, first.nodes_after) == (
        "canonicalise",
        True,
        3,
        6,
        3,
    )
    assert (second.name, second.changed) == ("dead-code", False)
    assert ctx.report.seconds()["canonicalise"] >= 0


@rule(Node("Neg", Any_("x")))
def to_abs(m: Match, b: Builder):  # type: ignore[no-untyped-def]
    return b.Abs(m["x"])


@rule(Node("Abs", Any_("x")))
def to_neg(m: Match, b: Builder):  # type: ignore[no-untyped-def]
    return b.Neg(m["x"])


@dataclass(frozen=True)
class Endless(RewritePass):
    """Two rules that undo each other; also wrong, for bisecting."""

    @property
    def rules(self) -> tuple[Rule, ...]:
        return (to_abs, to_neg)


@dataclass(frozen=True)
class NegToAbs(RewritePass):
    @property
    def rules(self) -> tuple[Rule, ...]:
        return (to_abs,)


def negated() -> Graph:
    graph = Graph("negated")
    b = Builder(graph)
    x = b.input("x", "float32", (2,))
    b.outputs(b.Neg(b.Identity(b.Relu(b.Identity(x)))))
    return graph


def test_rules_that_undo_each_other_are_an_error_in_debug_and_a_note_otherwise() -> None:
    with pytest.raises(PassError, match="do not end"):
        PassManager((Endless(),))(negated(), PassContext(debug=True))
    ctx = PassContext(debug=False)
    graph = negated()
    PassManager((Endless(),), fixpoint=True)(graph, ctx)
    assert any("do not end" in note for note in ctx.report.notes)
    assert any("still change the graph" in note for note in ctx.report.notes)
    assert len(ops(graph)) == 4


def test_bisecting_finds_the_guilty_rewrite() -> None:
    arrays = [np.array([1.0, -2.0], np.float32)]
    want = interpret(negated(), arrays)[0][0]

    def right(graph: Graph) -> bool:
        return bool(np.array_equal(interpret(graph, arrays)[0][0], want))

    passes = PassManager((Canonicalise(), NegToAbs(), DeadCode()))
    found = guilty_rewrite(negated, right, passes, lambda n: PassContext(stop_after=n))
    assert found is not None and (found.pass_name, found.rule, found.op) == ("neg-to-abs", "to-abs", "Neg")
    assert guilty_rewrite(negated, right, Canonicalise(), lambda n: PassContext(stop_after=n)) is None


def test_unknown_switches_and_precisions_are_option_errors() -> None:
    with pytest.raises(OptionError, match="unknown optimisation fussion"):
        PassContext(switches=frozenset({"fussion"}))
    with pytest.raises(OptionError, match="unknown precision"):
        PassContext(precision="fast")


def test_every_pass_states_how_it_treats_regions() -> None:
    def each(p: Pass) -> list[Pass]:
        return [q for inner in p.passes for q in each(inner)] if isinstance(p, PassManager) else [p]

    for p in each(default_passes({"fusion", "dce", "fold", "layout"}, "speed")):
        assert p.regions in ("enters", "top")
        assert type(p).__doc__ and "regions" in (type(p).__doc__ or "").lower(), f"{p.name} does not say"
