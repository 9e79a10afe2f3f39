"""Reading and writing plans as tables: CSV in the form of the MiniMalloc benchmarks.

Columns ``id,lower,upper,size`` and, with places, ``offset``; a life is half-open, ``[lower, upper)``.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping, Sequence
from typing import TextIO

from ge_core.errors import PlanError
from ge_core.memory.buffers import CompoundBuffer

REQUIRED = ("id", "lower", "upper", "size")


def read_table(source: str | os.PathLike[str] | TextIO, *, alignment: int = 1) -> list[CompoundBuffer]:
    """The buffers of a table; an `offset` column, where present, becomes the buffers' fixed places.

    Raises:
        PlanError: a missing column, or a row whose numbers are not whole or not valid, named by its line.
    """
    if isinstance(source, str | os.PathLike):
        with open(source, newline="", encoding="utf-8") as file:
            return read_table(file, alignment=alignment)
    reader = csv.DictReader(source)
    absent = [column for column in REQUIRED if column not in (reader.fieldnames or ())]
    if absent:
        raise PlanError(f"table of buffers lacks the columns {', '.join(absent)}", expected="id,lower,upper,size")
    buffers = []
    for row in reader:
        try:
            simple = CompoundBuffer.simple(row["id"], int(row["size"]), int(row["lower"]), int(row["upper"]), alignment)
            if row.get("offset"):
                simple = CompoundBuffer(simple.name, simple.rects, alignment, int(row["offset"]))
        except (TypeError, ValueError, PlanError) as error:
            raise PlanError(
                f"table of buffers: {error.what if isinstance(error, PlanError) else error}",
                where=f"line {reader.line_num}",
                expected="id,lower,upper,size[,offset] with whole numbers",
            ) from error
        buffers.append(simple)
    return buffers


def write_table(target: TextIO, buffers: Sequence[CompoundBuffer], offsets: Mapping[str, int] | None = None) -> None:
    """Write simple buffers (one rectangle at offset 0), with their places when `offsets` is given.

    Raises:
        PlanError: a compound buffer, which the format cannot say.
    """
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(REQUIRED if offsets is None else (*REQUIRED, "offset"))
    for buffer in buffers:
        if len(buffer.rects) != 1 or buffer.rects[0].offset:
            raise PlanError(
                f"buffer {buffer.name!r} is not one rectangle at offset 0",
                expected="plain buffers; MiniMalloc's table has no form for compound ones",
            )
        rect = buffer.rects[0]
        row: list[object] = [buffer.name, rect.start, rect.end, rect.size]
        writer.writerow(row if offsets is None else [*row, offsets[buffer.name]])
