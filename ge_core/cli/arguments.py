"""How a model and its inputs are named on the command line."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ge_core.errors import InputError, ModelImportError, OptionError

if TYPE_CHECKING:
    import numpy as np

    from ge_core.input_spec import InputSpec

MODEL_HELP = "A model file, or package.module:name for a Python object (or a function that returns one)."
INPUT_HELP = "NAME=float32[2,3,224,224] (a size may be a name), or NAME=file.npy; once for each input."
DIM_HELP = "NAME=1,2,4,8: the only values of a named size; may be repeated. Targets that can compile for each."
SET_HELP = "An option of ge, the frontend or the backend, as KEY=VALUE; may be repeated."

_SPEC = re.compile(r"(?P<dtype>[A-Za-z0-9]+)\[(?P<sizes>[^\]]*)\]\Z")
_OBJECT = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*\Z")


def model_of(text: str) -> object:
    """A path as it is, or the object that `package.module:name` names.

    Raises:
        ModelImportError: the module or the name does not exist, or its function failed.
    """
    if not _OBJECT.match(text) or Path(text).exists():
        return text
    module, _, name = text.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(import_module(module), name)
        return found() if callable(found) and not hasattr(found, "forward") else found
    except Exception as e:  # noqa: BLE001  the user's own module may fail in any way
        raise ModelImportError(
            f"{text}: {type(e).__name__}: {e}", expected="package.module:name of a model, or a function returning one"
        ) from e
    finally:
        sys.path.pop(0)


def inputs_of(given: Sequence[str]) -> dict[str, InputSpec | np.ndarray]:
    """Inputs by name; an empty name stands for a position (`=float32[2]`).

    Raises:
        InputError: malformed, or the file cannot be read.
    """
    found: dict[str, Any] = {}
    for number, text in enumerate(given):
        name, separator, value = text.partition("=")
        if not separator:
            name, value = "", text
        if name in found:
            raise InputError(f"--input {name} is given twice")
        found[name or f"#{number}"] = _one(name, value)
    return found


def as_call(inputs: Mapping[str, Any]) -> tuple[tuple[Any, ...] | None, dict[str, Any] | None]:
    """Positional and keyword examples: those without a name are positional."""
    args = tuple(value for name, value in inputs.items() if name.startswith("#"))
    kwargs = {name: value for name, value in inputs.items() if not name.startswith("#")}
    return args or None, kwargs or None


def options_of(given: Sequence[str]) -> dict[str, object]:
    """Options as `compile` takes them: true, false and numbers become such, tables and lists are given as JSON.

    Raises:
        OptionError: no KEY=VALUE.
    """
    found: dict[str, object] = {}
    for text in given:
        key, separator, value = text.partition("=")
        if not separator or not key:
            raise OptionError(f"--set {text}", expected="KEY=VALUE")
        found[key] = _plain(value)
    return found


def dims_of(given: Sequence[str]) -> dict[str, object]:
    """Listed values of named sizes as the option `dims`.

    Raises:
        OptionError: no NAME=1,2, or a name is given twice.
    """
    found: dict[str, object] = {}
    for text in given:
        name, separator, values = text.partition("=")
        numbers = [value.strip() for value in values.split(",")]
        if not separator or not name.isidentifier() or name in found or not all(n.isdigit() for n in numbers):
            raise OptionError(f"--dim {text}", expected="NAME=1,2,4,8, once for each name")
        found[name] = [int(n) for n in numbers]
    return {"dims": found} if found else {}


def plugin_options(extra: Sequence[str]) -> dict[str, object]:
    """Options of plugins given as `--some-key value`, `--some-key=value`, or `--some-key` for true.

    Which of them exist is checked where the plugins are known.

    Raises:
        OptionError: something that is no option.
    """
    found: dict[str, object] = {}
    waiting: str | None = None
    for text in extra:
        if text.startswith("--") and len(text) > 2:
            key, separator, value = text[2:].partition("=")
            waiting = key.replace("-", "_")
            found[waiting] = _plain(value) if separator else True
            if separator:
                waiting = None
        elif waiting is not None:
            found[waiting] = _plain(text)
            waiting = None
        else:
            raise OptionError(f"unexpected argument {text!r}", expected="options of a plugin as --some-key value")
    return found


def _plain(value: str) -> object:
    words: dict[str, object] = {"true": True, "false": False}
    if value in words:
        return words[value]
    if value[:1] in ("{", "["):
        try:
            found: object = json.loads(value)
        except ValueError as error:
            raise OptionError(f"{value} is no JSON: {error}", expected='such as {"batch": [1, 8]}') from error
        return found
    try:
        return int(value)
    except ValueError:
        try:
            return float(value)
        except ValueError:
            return value


def _one(name: str, value: str) -> InputSpec | np.ndarray:
    spec = _SPEC.match(value)
    if spec is not None:
        from ge_core.input_spec import InputSpec

        sizes = [_size(s.strip()) for s in spec["sizes"].split(",") if s.strip()]
        return InputSpec(sizes, spec["dtype"], name)
    if value.endswith(".npy"):
        return _array(value)
    raise InputError(f"--input {name}={value}", expected=INPUT_HELP)


def _size(text: str) -> int | str | None:
    if text.isdigit():
        return int(text)
    return None if text == "?" else text


def _array(path: str) -> np.ndarray:
    import numpy as np

    try:
        array: np.ndarray = np.load(path, allow_pickle=False)
        return array
    except (OSError, ValueError, EOFError) as e:
        raise InputError(f"{path} cannot be read: {e}", expected="a .npy file of numbers") from e


def example_array(spec: InputSpec, sizes: Mapping[str, int], seed: int) -> np.ndarray:
    """Reproducible data for an input: standard normal floats, zeros for everything else."""
    import numpy as np

    from ge_core.ir import dims

    shape = tuple(
        dims.evaluate(d, {s.name: sizes.get(s.name, _typical(s)) for s in dims.symbols(d)}) for d in _known(spec)
    )
    if spec.dtype.is_float:
        return np.random.default_rng(seed).standard_normal(shape).astype(spec.dtype.numpy)
    return np.zeros(shape, spec.dtype.numpy)


def _known(spec: InputSpec) -> list[Any]:
    return [d for d in spec.shape if not isinstance(d, str) and d is not None]


def _typical(symbol: Any) -> int:
    low = max(symbol.lo, 1)
    return low if symbol.hi is None else min(max(low, 1), symbol.hi)
