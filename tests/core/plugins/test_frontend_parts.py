"""What the core offers to frontends: the table of conversions and the error for everything that is not supported."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from ge_core.plugins.operator_table import OperatorTable
from ge_core.plugins.unsupported import Unsupported, unsupported_error


@dataclass(frozen=True)
class _Entry:
    function: Callable[..., object]


def test_every_unsupported_operator_is_named_with_its_count_and_first_places() -> None:
    found = [Unsupported("Fft", f"layer {i}") for i in range(5)]
    found += [Unsupported("Svd", ""), Unsupported("Fft", "layer 0")]
    error = unsupported_error(found, "net", "Toy", "toy.register", reason=lambda op: f"no {op.lower()}")
    assert "net uses 2 operators that the Toy frontend does not support" in str(error)
    assert "Fft ×6 (no fft): layer 0; layer 1; layer 2; and 2 more places" in str(error)
    assert "Svd ×1 (no svd)" in str(error)
    assert "toy.register" in str(error)


def test_one_operator_is_counted_in_the_singular() -> None:
    assert "uses 1 operator that" in str(unsupported_error([Unsupported("Fft", "")], "net", "Toy", "toy.register"))


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OperatorTable[_Entry]:
    (tmp_path / "toy_operators").mkdir()
    (tmp_path / "toy_operators" / "__init__.py").touch()
    (tmp_path / "toy_operators" / "table.py").write_text("entries = []\n")
    (tmp_path / "toy_operators" / "one.py").write_text("from toy_operators.table import entries\nentries.append(1)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return OperatorTable("toy_operators")


def test_the_modules_of_the_package_are_imported_at_the_first_question(package: OperatorTable[_Entry]) -> None:
    entry = _Entry(len)
    package.add("Len", entry)
    assert "toy_operators" not in sys.modules
    assert package.find("Len") is entry and package.find("Max") is None
    assert sys.modules["toy_operators.table"].entries == [1]
    assert package.entries() == {"Len": entry}


def test_an_operator_cannot_be_converted_twice(package: OperatorTable[_Entry]) -> None:
    package.add("Len", _Entry(len))
    with pytest.raises(ValueError, match="Len is converted twice: by builtins.len and builtins.max"):
        package.add("Len", _Entry(max))
