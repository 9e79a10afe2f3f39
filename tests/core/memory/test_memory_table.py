"""Tables in MiniMalloc's form round-trip; what is not valid is refused with its line."""

from __future__ import annotations

import io

import pytest
from hypothesis import given

from ge_core.errors import PlanError
from ge_core.memory import CompoundBuffer, Rect, place, read_table, write_table
from tests.core.memory.problems import plain_problems


@given(plain_problems)
def test_round_trip(buffers):
    plain = [CompoundBuffer(b.name, b.rects, 1) for b in buffers]
    text = io.StringIO()
    write_table(text, plain)
    assert read_table(io.StringIO(text.getvalue())) == plain


def test_places_come_back_as_fixed(tmp_path):
    buffers = [CompoundBuffer.simple("a", 4, 0, 3, 1), CompoundBuffer.simple("b", 4, 1, 9, 1)]
    file = tmp_path / "plan.csv"
    with file.open("w") as target:
        write_table(target, buffers, place(buffers).offsets)
    assert file.read_text().splitlines()[0] == "id,lower,upper,size,offset"
    back = read_table(file)
    assert {b.name: b.fixed_offset for b in back} == place(back).offsets == place(buffers).offsets


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("id,lower,upper\na,0,1\n", "lacks the columns size"),
        ("", "lacks the columns"),
        ("id,lower,upper,size\na,0,1,4\nb,0,x,4\n", "line 3"),
        ("id,lower,upper,size\na,0,1\n", "line 2"),
        ("id,lower,upper,size\na,5,1,4\n", "line 2"),
        ("id,lower,upper,size,offset\na,0,1,4,-3\n", "line 2"),
    ],
)
def test_damage_is_refused(text, where):
    with pytest.raises(PlanError, match=where):
        read_table(io.StringIO(text))


def test_compound_buffers_have_no_row():
    with pytest.raises(PlanError, match="'c'"):
        write_table(io.StringIO(), [CompoundBuffer("c", (Rect(4, 4, 0, 1),))])
