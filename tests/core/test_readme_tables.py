"""README's tables are those of the measured results."""

from __future__ import annotations

import re

from tools.readme_tables import README, TABLES, filled


def test_the_tables_are_the_results() -> None:
    text = README.read_text(encoding="utf-8")
    assert filled(text) == text, "run python tools/readme_tables.py"


def test_every_table_is_shown() -> None:
    text = README.read_text(encoding="utf-8")
    assert set(re.findall(r"<!-- table: (\w+) -->", text)) == set(TABLES)


def test_a_changed_number_is_seen() -> None:
    text = README.read_text(encoding="utf-8")
    changed = re.sub(r"(<!-- table: zoo_torch -->\n)\d+ of", r"\g<1>0 of", text)
    assert changed != text and filled(changed) == text
