"""A few hundred of the campaign's changes; `python bench/mutations.py` opens all of them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.core.om.campaign import BYTES, SECONDS, Tally, attempt, changed, in_worker, originals, outcome

CHANGES = range(420)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    return originals(tmp_path_factory.mktemp("files"))


def test_changed_files_end_in_errors(files: list[bytes], tmp_path: Path) -> None:
    tally = in_worker(files, CHANGES, tmp_path)
    assert tally.failures == []
    assert sum(tally.counts.values()) == len(CHANGES)
    assert tally.errors() > len(CHANGES) * 0.6
    assert tally.slowest < SECONDS and tally.memory < BYTES
    assert len({name for name, _ in tally.counts}) == 9
    assert [path.name for path in tmp_path.iterdir()] == []


def test_unchanged_files_are_valid(files: list[bytes], tmp_path: Path) -> None:
    assert len(set(files)) == 5
    for number, data in enumerate(files):
        path = tmp_path / f"{number}.om"
        path.write_bytes(data)
        assert outcome(path) == "valid"


def test_a_number_stands_for_one_change(files: list[bytes]) -> None:
    for number in (0, 7, 31, 300):
        assert changed(files, number) == changed(files, number)
    assert len({changed(files, number)[1] for number in range(40)}) == 40


def test_what_is_no_error_of_ours_is_a_failure(
    files: list[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The campaign itself can fail: on a foreign exception, on a dead process, and on damage that nobody sees."""
    import tests.core.om.campaign as campaign

    def broken(path: Path) -> str:
        raise KeyError("x")

    monkeypatch.setattr(campaign, "outcome", broken)
    tally = Tally()
    attempt(files, 0, tmp_path / "x.om", tally)
    assert tally.failures[0][2].startswith("KeyError")
    monkeypatch.setattr(campaign, "outcome", lambda path: "valid")
    tally = Tally()
    attempt(files, 0, tmp_path / "x.om", tally)
    assert tally.failures[0][2] == "not found by the checksums"


def test_a_campaign_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bench import mutations

    monkeypatch.setattr(mutations, "RESULTS", tmp_path / "mutations.json")
    assert mutations.restored("x") == (Tally(), 0)
    tally = Tally(
        Counter({("cut", "error"): 7, ("metadata", "FAILED"): 1}), [(3, "metadata", "KeyError")], 0.25, 1 << 20
    )
    (tmp_path / "mutations.json").write_text(json.dumps(mutations.stored(tally, 500, "x")))
    found, number = mutations.restored("x")
    assert number == 500 and found.errors() == 7 and +found.counts == tally.counts
    assert (found.failures, found.slowest, found.memory) == (tally.failures, 0.25, 1 << 20)
    assert mutations.restored("files of another ge") == (Tally(), 0)
    assert "| all | 7 | 0 | 1 |" in mutations.table(mutations.stored(tally, 500, "x"))
