"""Finds and reads the files of an inference model, without paddle."""

from __future__ import annotations

import os
from pathlib import Path

from ge_core.errors import ModelImportError
from ge_core.ir.constant import Constant
from ge_core.regular_file import open_regular

from .parameters import read_parameters
from .pir_json import MAGIC, MAX_BYTES, read_json
from .program import Program

# Names of a program and of its parameters that PaddleOCR, PaddleX and older versions of Paddle give.
_OLDER_NAMES = {"__model__": "__params__", "model": "params"}


def read_model(path: str | os.PathLike[str]) -> tuple[Program, dict[str, Constant]]:
    """The program and the parameters of an inference model.

    Args:
        path: the `.json` or `.pdmodel` file, the folder that holds one of them, or both without suffix, as in
            `paddle.jit.save(layer, path)`.

    Raises:
        ModelImportError: a file is missing, damaged, or no model.
    """
    program_path, parameters_path = locate(path)
    data = _read(program_path)
    if data.startswith(b"{"):
        if MAGIC not in data[:64]:
            raise ModelImportError(f"{program_path.name} is no Paddle program", where=str(program_path))
        program = read_json(data, program_path.name)
    else:
        from .pdmodel import read_pdmodel

        program = read_pdmodel(data, program_path.name)
    if not program.stored:
        return program, {}
    if parameters_path is None:
        raise ModelImportError(
            f"{program_path.name} has {len(program.stored)} parameters and no parameter file lies beside it",
            expected=str(program_path.with_suffix(".pdiparams")),
        )
    return program, read_parameters(parameters_path, program.stored)


def locate(path: str | os.PathLike[str]) -> tuple[Path, Path | None]:
    """The program's file, and the parameters' file when there is one.

    Raises:
        ModelImportError: there is no model, or more than one.
    """
    path = Path(path)
    if path.is_dir():
        return _in_folder(path)
    if path.suffix == ".pdiparams":
        path = path.with_suffix("")
    if path.is_file():
        parameters = path.parent / _OLDER_NAMES[path.name] if path.name in _OLDER_NAMES else _beside(path)
        return path, parameters if parameters.is_file() else None
    for suffix in (".json", ".pdmodel"):
        program = path.with_name(path.name + suffix)
        if program.is_file():
            parameters = path.with_name(path.name + ".pdiparams")
            return program, parameters if parameters.is_file() else None
    raise ModelImportError(f"there is no Paddle model at {path}", expected="a .json or .pdmodel file, or their folder")


def _beside(path: Path) -> Path:
    return path.with_suffix(".pdiparams")


def _in_folder(folder: Path) -> tuple[Path, Path | None]:
    programs = [p for p in sorted(folder.glob("*.json")) if _beside(p).is_file() or _is_program(p)]
    programs = programs or sorted(folder.glob("*.pdmodel"))
    programs = programs or [folder / name for name in _OLDER_NAMES if (folder / name).is_file()]
    if len(programs) != 1:
        names = ", ".join(p.name for p in programs) or "none"
        raise ModelImportError(
            f"{folder} holds {len(programs)} Paddle models: {names}",
            expected="one .json or .pdmodel file",
            fix="pass the path of the file" if programs else None,
        )
    return locate(programs[0])


def _is_program(path: Path) -> bool:
    try:
        with open_regular(path) as file:
            return MAGIC in file.read(64)
    except OSError:
        return False


def _read(path: Path) -> bytes:
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > MAX_BYTES:
                raise ModelImportError(f"{path.name} has {size} bytes", expected=f"a program of at most {MAX_BYTES}")
            return file.read()
    except OSError as error:
        raise ModelImportError(f"the model cannot be read: {error.strerror}", where=str(path)) from error
