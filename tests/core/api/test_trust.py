"""Native code of a file runs when the user says so, or wrote the file here; else the graph is compiled again."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest

import ge_core
import ge_core.api
import ge_core.model_store
from ge_core.errors import OptionError
from ge_core.ir import Builder, Graph
from ge_core.ir.constant import Constant
from ge_core.model_description import describe_file
from ge_core.model_store import NOT_TRUSTED
from ge_core.om.container import PartitionType
from ge_core.om.model_file import open_model, write_model
from ge_core.plugins import PluginHost, Switches
from ge_core.plugins.discovery import BUILT_IN
from ge_core.trust import cache_folder, is_known, remember
from tests.core.api import toy_backend

OURS, THEIRS = b"compiled here", b"of a stranger"
X = np.array([1, -2], np.float32)


@pytest.fixture(autouse=True)
def host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A host with the toy backend, a user whose cache is empty, and nothing executed."""
    found = PluginHost(Switches(), points=[BUILT_IN, EntryPoint("toynative", toy_backend.__name__, "ge_core.backends")])
    for module in (ge_core.api, ge_core.model_store):
        monkeypatch.setattr(module, "host", lambda: found)
    become(monkeypatch, tmp_path, "user")
    forget()
    yield
    forget()


def become(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    """Another user, with a cache of their own."""
    monkeypatch.setenv("GE_CACHE_DIR", str(tmp_path / f"cache of {name}"))


def forget() -> None:
    toy_backend.executed.clear()
    toy_backend.compiled.clear()


def saved(path: Path) -> Path:
    """A file of the toy target, compiled and saved by the current user."""
    graph = Graph("net")
    b = Builder(graph)
    b.outputs(b.Neg(b.input("x", "float32", (2,))))
    ge_core.compile(graph, target="toynative").save(path)
    forget()
    return path


def forged(path: Path, code: bytes = THEIRS, **metadata: object) -> Path:
    """The file with other code and metadata, all checksums right."""
    stored = open_model(path)
    target = path.with_name("forged.om")
    write_model(target, stored.entries, stored.metadata | metadata, items={"kernels/toy": code})
    return target


def opened(path: Path, **options: bool) -> tuple[bytes, bool]:
    """(the code that ran, whether the file's graph was compiled again); the answer is right in any case."""
    forget()
    model = ge_core.load(path, **options)  # type: ignore[arg-type]
    assert np.array_equal(model(X), -X)
    (ran,), again = toy_backend.executed, bool(toy_backend.compiled)
    assert (NOT_TRUSTED in model.report.notices) == (again and not options.get("rebuild", False))
    return ran, again


def test_own_files_run_as_they_are(tmp_path: Path) -> None:
    path = saved(tmp_path / "net.om")
    assert opened(path) == (OURS, False)
    path.rename(tmp_path / "moved.om")
    assert opened(tmp_path / "moved.om") == (OURS, False)


def test_files_of_others_are_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path / "net.om")
    become(monkeypatch, tmp_path, "somebody else")
    assert opened(path) == (OURS, True)
    assert opened(path) == (OURS, True)  # to open a file is no reason to trust it
    assert opened(path, trust=True) == (OURS, False)
    assert opened(path) == (OURS, True)  # and trust is given for one call


def test_a_strangers_code_runs_by_trust_alone(tmp_path: Path) -> None:
    path = forged(saved(tmp_path / "net.om"))
    assert opened(path) == (OURS, True)
    assert opened(path, rebuild=True) == (OURS, True)
    assert opened(path, trust=True, rebuild=True) == (OURS, True)
    assert opened(path, trust=True) == (THEIRS, False)


@pytest.mark.parametrize("native", [False, None, 0, "yes"])
def test_a_file_that_denies_its_code_is_not_believed(tmp_path: Path, native: object) -> None:
    path = forged(saved(tmp_path / "net.om"), native=native)
    assert opened(path) == (OURS, True)
    assert opened(path, trust=True) == (THEIRS, False)


def test_a_strangers_plan_is_made_again(tmp_path: Path) -> None:
    """A plan says which bytes are read and written: it runs like code, even where it comes without any."""
    graph = Graph("net")
    b = Builder(graph)
    b.outputs(b.Neg(b.input("x", "float32", (2,))))
    model = ge_core.compile(graph, target="reference")
    model.artifact.store_plans = True
    model.save(tmp_path / "net.om")
    stored = open_model(tmp_path / "net.om")
    assert ge_core.load(tmp_path / "net.om").report.notices == []
    table = copy.deepcopy(stored.metadata["plans"])
    table["main"]["steps"].clear()
    write_model(tmp_path / "net.om", stored.entries, stored.metadata | {"plans": table})
    model = ge_core.load(tmp_path / "net.om")
    assert np.array_equal(model(X), -X) and model.report.notices == [NOT_TRUSTED]


def test_a_file_for_no_target_of_its_backend_is_an_error(tmp_path: Path) -> None:
    path = forged(saved(tmp_path / "net.om"), target="toyother", native=False)
    with pytest.raises(OptionError, match="no target 'toyother'"):
        ge_core.load(path)
    assert toy_backend.executed == []


def test_a_rebuilt_file_is_trusted_once_it_is_saved(tmp_path: Path) -> None:
    """The notice tells of the file that was opened, and does not go into the next one."""
    path = forged(saved(tmp_path / "net.om"))
    model = ge_core.load(path)
    assert model.report.notices == [NOT_TRUSTED] and NOT_TRUSTED in model.report.summary()
    model.save(tmp_path / "again.om")
    assert opened(tmp_path / "again.om") == (OURS, False)
    assert describe_file(tmp_path / "again.om").report.notices == []
    assert (tmp_path / "again.om").read_bytes() == (tmp_path / "net.om").read_bytes()
    assert opened(path) == (OURS, True)


def test_rebuild_compiles_and_says_nothing(tmp_path: Path) -> None:
    path = saved(tmp_path / "net.om")
    forget()
    model = ge_core.load(path, rebuild=True)
    assert toy_backend.compiled == ["main"] and model.report.notices == []


def test_another_target_needs_no_trust(tmp_path: Path) -> None:
    model = ge_core.load(forged(saved(tmp_path / "net.om")), target="reference")
    assert np.array_equal(model(X), -X)
    assert toy_backend.executed == [] and model.report.notices == []


def test_the_digest_covers_code_metadata_and_weights(tmp_path: Path) -> None:
    graph = Graph("net")
    b = Builder(graph)
    b.outputs(b.Add(b.input("x", "float32", (2,)), np.array([1, 2], np.float32)))
    ge_core.compile(graph, target="toynative").save(tmp_path / "a.om")
    stored = open_model(tmp_path / "a.om")
    known = {stored.digests[PartitionType.MODEL_DEF]}
    for change in ("code", "metadata", "weights"):
        if change == "weights":
            (value,) = stored.entries["main"].constants
            value.constant = Constant.of(np.array([1, 3], np.float32))
        write_model(
            tmp_path / "b.om",
            stored.entries,
            stored.metadata | ({"note": 1} if change == "metadata" else {}),
            items={"kernels/toy": THEIRS if change == "code" else OURS},
        )
        digest = open_model(tmp_path / "b.om").digests[PartitionType.MODEL_DEF]
        assert digest not in known and not is_known(digest)
        known.add(digest)


def test_a_cache_that_others_can_write_to_is_not_believed(tmp_path: Path) -> None:
    remember(bytes(32))
    folder = cache_folder() / "trusted"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert is_known(bytes(32)) and not is_known(bytes([1]) * 32)
    for mode in (0o777, 0o720):
        folder.chmod(mode)
        assert not is_known(bytes(32))
    folder.chmod(0o700)
    assert is_known(bytes(32))


def test_the_oldest_digests_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ge_core.trust.KEPT", 3)
    for number in range(5):
        remember(bytes([number]) * 32)
        os.utime(cache_folder() / "trusted" / (bytes([number]) * 32).hex(), ns=(number, number))
    assert [is_known(bytes([number]) * 32) for number in range(5)] == [False, False, True, True, True]


def test_a_cache_that_cannot_be_written_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GE_CACHE_DIR", os.devnull)
    path = saved(tmp_path / "net.om")
    assert opened(path) == (OURS, True)
    assert opened(path, trust=True) == (OURS, False)


def test_the_cache_lies_where_the_user_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GE_CACHE_DIR", str(tmp_path / "a"))
    assert cache_folder() == tmp_path / "a"
    monkeypatch.delenv("GE_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "b"))
    assert cache_folder() == tmp_path / "b" / "ge"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "c"))
    assert cache_folder() == tmp_path / "c" / ".cache" / "ge"
