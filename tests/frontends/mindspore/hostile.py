"""Mutated files. Run as a program, it imports them under limits of time and memory.

python -m tests.frontends.mindspore.hostile FILE COUNT    mutations of a file
python -m tests.frontends.mindspore.hostile --grow        files that would grow without bound

A line is printed for each that ends in anything but a graph or a GeError.
"""

from __future__ import annotations

import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ge_core.errors import GeError
from ge_core.om.message_table import Message
from ge_frontend_mindspore.importer import import_model
from ge_frontend_mindspore.messages import message_class

MEMORY = 3 << 30
SECONDS = 20
_INTS = (-1, 0, 1, 2, 3, 7, 40, 255, 1 << 31, (1 << 31) - 1, 1 << 40, 1 << 62, (1 << 63) - 1, -(1 << 63))
_TEXTS = ("", "x", "\0", "é" * 300, "Constant", "REF::", "REF::nothing", "../../w", "shape", "value")


def byte_mutations(data: bytes, count: int) -> Iterator[bytes]:
    """Truncated files, flipped bits, and pieces put in, left out or doubled."""
    chance = random.Random(0)
    for k in range(count):
        at = chance.randrange(len(data))
        if k % 4 == 0:
            yield data[:at]
        elif k % 4 == 1:
            yield data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]
        elif k % 4 == 2:
            yield data[:at] + data[at + chance.randrange(1, 40) :]
        else:
            yield data[:at] + data[at : at + chance.randrange(1, 60)] * chance.randrange(2, 9) + data[at:]


def field_mutations(data: bytes, count: int) -> Iterator[bytes]:
    """Fields set to what they should never hold, names exchanged, and nodes left out or doubled."""
    for k in range(count):
        chance = random.Random(k)
        model = message_class("Model")()
        model.ParseFromString(data)
        for _ in range(chance.randrange(1, 3)):
            _mutate(model, chance)
        yield model.SerializeToString()


def _mutate(message: Message, chance: random.Random) -> None:
    fields = [(f, v) for f, v in message.ListFields()]
    if not fields:
        return
    field, value = chance.choice(fields)
    repeated = hasattr(value, "append") and not isinstance(value, (str, bytes))
    if repeated and len(value):
        place = chance.randrange(len(value))
        action = chance.randrange(4)
        if action == 0:
            del value[place]
        elif action == 1:
            value.append(value[place])
        elif field.message_type is not None:
            _mutate(value[place], chance)
        else:
            value[place] = _other(value[place], chance)
    elif field.message_type is not None and not repeated:
        _mutate(value, chance)
    elif not repeated:
        setattr(message, field.name, _other(value, chance))


def _other(value: Any, chance: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        found = chance.choice(_INTS)
        return found if -(1 << 31) <= found < 1 << 31 else found % (1 << 31)
    if isinstance(value, float):
        return chance.choice((0.0, -1.0, float("nan"), float("inf"), 1e-40))
    return chance.choice(_TEXTS).encode() if isinstance(value, bytes) else chance.choice(_TEXTS)


def growing() -> Iterator[bytes]:
    """Models that are small as files."""

    def model() -> Any:
        made = message_class("Model")(ir_version="1.1", producer_name="MindSpore", little_endian=True)
        made.graph.name = "f0"
        return made

    # each function calls the next one twice
    doubling = model()
    doubling.primitives.add(name="M", op_type="MakeTuple", prim_type=1)
    graphs = [doubling.graph, *(doubling.functions.add(name=f"f{k}") for k in range(1, 60))]
    for k, graph in enumerate(graphs[:-1]):
        for side in "ab":
            graph.node.add(output=[f"f{k}:{side}"], op_type=f"REF::f{k + 1}")
        graph.node.add(output=[f"f{k}:o"], input=[f"f{k}:a", f"f{k}:b"], op_type="REF::M")
        graph.output.add(name=f"f{k}:o")
    graphs[-1].node.add(output=["f59:o"], op_type="REF::M")
    graphs[-1].output.add(name="f59:o")
    yield doubling.SerializeToString()

    # a chain of calls, and one that never ends
    for count, back in ((9000, False), (3, True)):
        chain = model()
        graphs = [chain.graph, *(chain.functions.add(name=f"f{k}") for k in range(1, count))]
        for k, graph in enumerate(graphs):
            target = (k + 1) % count if back else min(k + 1, count - 1)
            graph.node.add(output=[f"f{k}:o"], op_type=f"REF::f{target}")
            graph.output.add(name=f"f{k}:o")
        yield chain.SerializeToString()

    # a great many empty messages
    yield model().SerializeToString() + b"\x62\x00" * (30 << 20)
    # deep nesting
    deep = b""
    for _ in range(3000):
        deep = b"\x8a\x01" + _varint(len(deep)) + deep
    yield (
        model().SerializeToString()
        + b"\x62"
        + _varint(len(deep) + len(_varint(len(deep))) + 1)
        + b"\x1a"
        + _varint(len(deep))
        + deep
    )
    # a tensor that says it is large
    large = model()
    large.graph.parameter.add(name="f0:w", data_type=1, dims=[1 << 62, 1 << 62], raw_data=b"1234")
    large.graph.output.add(name="f0:w")
    yield large.SerializeToString()


def _varint(n: int) -> bytes:
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def attempt(data: bytes, path: Path) -> str:
    """What is wrong with how an import ended; empty when nothing is."""
    path.write_bytes(data)
    started = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of processor time; it ends the process
    try:
        import_model(str(path))
    except GeError:
        pass
    except Exception as error:  # noqa: BLE001 - what must not happen is what is looked for
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__}: {error} at {last.filename}:{last.lineno}"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    taken = time.process_time() - started
    return f"took {taken:.0f} s" if taken > SECONDS / 2 else ""


def main(arguments: list[str]) -> int:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sources: list[Callable[[], Iterator[bytes]]]
    if arguments == ["--grow"]:
        sources = [growing]
    else:
        data, count = Path(arguments[0]).read_bytes(), int(arguments[1])
        sources = [lambda: byte_mutations(data, count), lambda: field_mutations(data, count)]
    with tempfile.TemporaryDirectory() as folder:
        for kind, source in enumerate(sources):
            for k, mutated in enumerate(source()):
                wrong = attempt(mutated, Path(folder) / "net.mindir")
                if wrong:
                    print(f"{kind} {k}: {wrong}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
