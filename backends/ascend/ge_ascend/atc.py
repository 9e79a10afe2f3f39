"""Driving ATC, CANN's compiler: finding it, its command, its failures in terms of the user's model."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ge_core.errors import BackendError, OptionError

_MOST_LINES = 400


@dataclass(frozen=True)
class AtcJob:
    """One compilation.

    Attributes:
        model: the AIR or ONNX file.
        onnx: whether it is ONNX (`--framework=5`) rather than AIR (`--framework=1`).
        shapes: input shapes by name, with -1 for gears and -1 or low~high for other sizes that are not known.
        gears: per gear the sizes of all -1 in the order of `shapes`.
        places: operator names of the file to places in the user's model.
    """

    model: Path
    output: Path
    soc: str
    onnx: bool = False
    shapes: Mapping[str, Sequence[int | str]] = field(default_factory=dict)
    gears: Sequence[Sequence[int]] = ()
    external_weight: bool = False
    aipp: Path | None = None
    extra: Sequence[str] = ()
    places: Mapping[str, str] = field(default_factory=dict)

    def command(self, atc: str = "atc") -> list[str]:
        """The command line; the element types are those of the file."""
        stem = str(self.output.with_suffix("")) if self.output.suffix == ".om" else str(self.output)
        found = [
            atc,
            f"--framework={5 if self.onnx else 1}",
            f"--model={self.model}",
            f"--output={stem}",
            f"--soc_version={self.soc}",
            "--precision_mode=must_keep_origin_dtype",
        ]
        if self.shapes:
            shown = ";".join(f"{name}:{','.join(map(str, shape))}" for name, shape in self.shapes.items())
            found.append(f"--input_shape={shown}")
        if self.gears:
            found += self._gears()
        if self.external_weight:
            found.append("--external_weight=1")
        if self.aipp is not None:
            found.append(f"--insert_op_conf={self.aipp}")
        return [*found, *self.extra]

    def _gears(self) -> list[str]:
        """One dynamic leading size everywhere is a batch; anything else lists all dynamic sizes per gear."""
        if not 2 <= len(self.gears) <= 100:
            raise OptionError(f"{len(self.gears)} gears", expected="2 to 100 of them, as ATC takes")
        if is_batch(self.shapes, self.gears):
            return ["--dynamic_batch_size=" + ",".join(str(gear[0]) for gear in self.gears)]
        return ["--input_format=ND", "--dynamic_dims=" + ";".join(",".join(map(str, gear)) for gear in self.gears)]


def is_batch(shapes: Mapping[str, Sequence[int | str]], gears: Sequence[Sequence[int]]) -> bool:
    """Whether gears list one leading size of all inputs."""
    leading = all(-1 not in shape[1:] for shape in shapes.values())
    return leading and all(len(set(gear)) == 1 for gear in gears)


def find_atc() -> str | None:
    """The path of `atc`: on PATH, or in the toolkit that the environment names; None when it is not installed."""
    found = shutil.which("atc")
    if found is not None:
        return found
    for variable in ("ASCEND_TOOLKIT_HOME", "ASCEND_HOME_PATH"):
        home = os.environ.get(variable)
        if home:
            for folder in ("bin", "compiler/bin", f"{os.uname().machine}-linux/bin"):
                candidate = Path(home) / folder / "atc"
                if candidate.is_file() and os.access(candidate, os.X_OK):
                    return str(candidate)
    return None


def missing_atc(job: AtcJob) -> BackendError:
    """The error that there is no ATC, with the command to run where there is one."""
    return BackendError(
        "atc, CANN's compiler, is not installed here: there is no offline model for the device",
        expected="atc on PATH, or ASCEND_TOOLKIT_HOME set by the toolkit's set_env.sh",
        fix=f"where CANN is installed, run: {shlex.join(job.command())}",
        details=[f"{job.model} is written; it is what atc takes"],
    )


def run_atc(job: AtcJob, atc: str) -> None:
    """Run ATC and put its offline model in place, whole or not at all.

    Raises:
        BackendError: it failed; names the operators that it complains of at their places in the user's model.
    """
    with tempfile.TemporaryDirectory(dir=job.output.parent, prefix=".atc") as folder:
        aside = AtcJob(**{**job.__dict__, "output": Path(folder) / "model.om"})
        command = aside.command(atc)
        lines = _streamed(command)
        made = sorted(Path(folder).glob("*.om"))
        if lines.code != 0 or len(made) != 1:
            raise _failure(job, lines, command)
        weights = Path(folder) / "weight"
        if weights.is_dir():
            shutil.copytree(weights, job.output.parent / "weight", dirs_exist_ok=True)
        os.replace(made[0], job.output)


@dataclass
class _Lines:
    code: int
    tail: list[str]


def _streamed(command: Sequence[str]) -> _Lines:
    """Run a command; its lines go to a person as they come, the last ones are kept."""
    try:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
    except OSError as error:
        raise BackendError(
            f"{command[0]} cannot be run: {error.strerror}", fix="check the installation of CANN"
        ) from error
    tail: list[str] = []
    assert process.stdout is not None
    try:
        for line in process.stdout:
            tail.append(line.rstrip("\n"))
            del tail[:-_MOST_LINES]
            if sys.stderr.isatty():
                print(f"ge: atc: {line.rstrip()}", file=sys.stderr)
    except BaseException:
        process.kill()
        raise
    finally:
        code = process.wait()
    return _Lines(code, tail)


def _failure(job: AtcJob, lines: _Lines, command: Sequence[str]) -> BackendError:
    text = "\n".join(lines.tail)
    places = [f"{name} ({place})" if place else name for name, place in job.places.items() if _mentions(text, name)]
    cause = next((line.strip() for line in lines.tail if _is_cause(line)), "")
    reason = cause or (f"exit code {lines.code}" if lines.code else "it wrote no offline model")
    return BackendError(
        f"atc failed: {reason}",
        where="; ".join(places[:5]) or None,
        details=lines.tail[-12:],
        fix=f"the command was: {shlex.join(command)}",
    )


def _mentions(text: str, name: str) -> bool:
    """Whether a text names an operator as a word of its own."""
    at = text.find(name)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(name) : at + len(name) + 1]
        if not (before.isalnum() or before == "_") and not (after.isalnum() or after == "_"):
            return True
        at = text.find(name, at + 1)
    return False


def _is_cause(line: str) -> bool:
    """CANN's messages of errors start with E and five digits or letters."""
    word = line.strip().split(":", 1)[0]
    return len(word) == 6 and word[0] == "E" and word[1:].isalnum() and any(c.isdigit() for c in word)
