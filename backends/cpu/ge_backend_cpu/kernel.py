"""What a backend's operators hand to the compiler and the runtime: kernels, and launches of them.

A kernel is a family of generators and its parameters; equal kernels are compiled once, whatever model or layer
they come from. A launch is one step of a plan's node: a kernel, its operands, its integers.

The calling convention of every kernel:

    i32 kernel(i64 *params, i8 **bases, i64 lo, i64 hi)

computes work items [lo, hi) of the launch. Operand k begins at bases[params[2k]] + params[2k+1]; after the operands
come the launch's own integers in the order that the kernel declares. It returns OK or a status.

One artifact may carry code for several instruction sets: what a launch says (operands, integers, work items) means
the same in all of them, only the code in between may differ.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any, Literal, TypeAlias

from ge_core.errors import BackendError
from ge_core.ir.dims import Size, Symbol
from ge_core.ir.size_text import parse_size
from ge_core.ir.types import Layout, TensorType

OK = 0
INDEX_OUT_OF_RANGE = 1
DIVISION_BY_ZERO = 2
SIZE_OUT_OF_BOUND = 3
CHECK_FAILED = 4

Emit: TypeAlias = Callable[[Any, str, Mapping[str, Any], Any], None]
"""`emit(module: llvm_ir.Module, symbol, parameters, isa: Isa)` adds the function `symbol` to the module."""

_FAMILIES: dict[str, Emit] = {}
_LEAN: set[str] = set()


def family(name: str, lean: bool = False) -> Callable[[Emit], Emit]:
    """Decorator: this function generates the kernels of a family.

    A name is the sub-package (or module) of `ge_backend_cpu` that registers it, then anything after a dot:
    "loops", "contract.gemm". The module is imported when one of its kernels is generated, in a worker process.

    Args:
        lean: the generator leaves nothing to LLVM's expensive passes; its kernels compile twice as fast without them.
    """

    def register(emit: Emit) -> Emit:
        if lean:
            _LEAN.add(name)
        owner = _FAMILIES.setdefault(name, emit)
        if f"{owner.__module__}.{owner.__qualname__}" != f"{emit.__module__}.{emit.__qualname__}":
            raise BackendError(f"the kernel family {name} is given twice: {owner.__module__} and {emit.__module__}")
        return emit

    return register


def generator(name: str) -> Emit:
    """The generator of a family.

    Raises:
        BackendError: no module registers it.
    """
    if name not in _FAMILIES:
        try:
            import_module(f"ge_backend_cpu.{name.split('.')[0]}")
        except ModuleNotFoundError as error:
            raise BackendError(f"there is no kernel family {name!r}") from error
    if name not in _FAMILIES:
        raise BackendError(f"there is no kernel family {name!r}")
    return _FAMILIES[name]


def is_lean(name: str) -> bool:
    """Whether a family that `generator` has found is compiled by few passes."""
    return name in _LEAN


@dataclass(frozen=True)
class Kernel:
    """A family and its parameters (JSON-able): everything that the code depends on but the instruction set."""

    family: str
    parameters: Mapping[str, Any]

    @cached_property
    def text(self) -> str:
        """The canonical text of the parameters."""
        return json.dumps(self.parameters, sort_keys=True, separators=(",", ":"))

    @cached_property
    def symbol(self) -> str:
        """The name of the function: equal for equal kernels."""
        digest = hashlib.sha256(f"{self.family}\0{self.text}".encode()).hexdigest()[:20]
        return f"{self.family.replace('.', '_')}_{digest}"

    def __hash__(self) -> int:
        return hash((self.family, self.text))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kernel) and self.family == other.family and self.text == other.text


@dataclass(frozen=True)
class Operand:
    """What a launch reads or writes.

    Attributes:
        kind: "in" and "out" are the node's operands and outputs, "work" its workspace, "prepared" a constant
            that was transformed at build.
        index: of the operand or output.
        offset: bytes from its start.
        key: of the prepared constant.
    """

    kind: Literal["in", "out", "work", "prepared"]
    index: int = 0
    offset: Size = 0
    key: str = ""

    def to_json(self) -> list[Any]:
        return [self.kind, self.key if self.kind == "prepared" else self.index, size_to_json(self.offset)]

    @staticmethod
    def from_json(data: Sequence[Any], table: Mapping[str, Symbol]) -> Operand:
        kind, name, offset = data
        at = size_from_json(offset, table)
        return Operand(kind, 0, at, name) if kind == "prepared" else Operand(kind, int(name), at)


def source(index: int, offset: Size = 0) -> Operand:
    """Operand `index` of the node, in the order of `ge_core.backend.operands`."""
    return Operand("in", index, offset)


def result(index: int = 0, offset: Size = 0) -> Operand:
    """Output `index` of the node."""
    return Operand("out", index, offset)


def work(offset: Size = 0) -> Operand:
    """The node's workspace."""
    return Operand("work", 0, offset)


def prepared(key: str, offset: Size = 0) -> Operand:
    """A constant that a recipe made at build."""
    return Operand("prepared", 0, offset, key)


@dataclass(frozen=True, kw_only=True)
class Launch:
    """One kernel of a node.

    Attributes:
        kernel: what runs.
        operands: addresses for it, in its order.
        params: integers for it, in its order; sizes are evaluated once per tuple of symbol values.
        extent: number of work items; the runtime hands ranges of them to threads. With extent 0 nothing runs.
        picoseconds: estimated time of all items on one thread; short launches are not split.
        barrier: whether every thread must have finished the launch before. False is only right when each item
            reads what the item of the same number wrote in the launch before, which has the same extent.
        uneven: items differ in their time: threads take small ranges as they become free.
    """

    kernel: Kernel
    operands: tuple[Operand, ...]
    params: tuple[Size, ...] = ()
    extent: Size = 1
    picoseconds: Size = 0
    barrier: bool = True
    uneven: bool = False

    def to_json(self) -> dict[str, Any]:
        return {
            "family": self.kernel.family,
            "parameters": self.kernel.parameters,
            "operands": [o.to_json() for o in self.operands],
            "params": [size_to_json(p) for p in self.params],
            "extent": size_to_json(self.extent),
            "picoseconds": size_to_json(self.picoseconds),
            "barrier": self.barrier,
            "uneven": self.uneven,
        }

    @staticmethod
    def from_json(data: Mapping[str, Any], table: Mapping[str, Symbol]) -> Launch:
        """Args: table: the symbols of the plan by name."""
        return Launch(
            kernel=Kernel(data["family"], data["parameters"]),
            operands=tuple(Operand.from_json(o, table) for o in data["operands"]),
            params=tuple(size_from_json(p, table) for p in data["params"]),
            extent=size_from_json(data["extent"], table),
            picoseconds=size_from_json(data["picoseconds"], table),
            barrier=bool(data["barrier"]),
            uneven=bool(data["uneven"]),
        )


def size_to_json(size: Size) -> int | str:
    """A size as JSON holds it."""
    return size if isinstance(size, int) else str(size)


def size_from_json(data: int | str, table: Mapping[str, Symbol]) -> Size:
    """The size that `size_to_json` wrote."""
    return parse_size(data, table) if isinstance(data, str) else int(data)


@dataclass(frozen=True)
class Recipe:
    """How a prepared constant is made: a named function over constant operands of the node.

    Attributes:
        recipe: its name, see `recipe`.
        inputs: indices of the node's operands, all of them constants.
        options: JSON-able arguments.
    """

    recipe: str
    inputs: tuple[int, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {"recipe": self.recipe, "inputs": list(self.inputs), "options": dict(self.options)}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Recipe:
        return Recipe(data["recipe"], tuple(data["inputs"]), data["options"])


Make: TypeAlias = Callable[..., Any]
"""`make(*arrays: np.ndarray, **options) -> np.ndarray`: the bytes that the kernel reads, C-contiguous."""

LayoutOf: TypeAlias = Callable[..., Layout | None]
"""`layout(type: TensorType, **options)`: the storage layout of the only operand whose bytes a recipe would make."""

_RECIPES: dict[str, Make] = {}
_LAYOUTS: dict[str, LayoutOf] = {}


def recipe(name: str, layout: LayoutOf | None = None) -> Callable[[Make], Make]:
    """Decorator: this function prepares constants. Names as of `family`: "contract.winograd_f4".

    Args:
        layout: tells when the recipe only stores its operand otherwise. Such a constant is kept once, in that layout,
            in memory and in files; else the prepared one stands beside it.
    """

    def register(make: Make) -> Make:
        owner = _RECIPES.setdefault(name, make)
        if layout is not None:
            _LAYOUTS[name] = layout
        if f"{owner.__module__}.{owner.__qualname__}" != f"{make.__module__}.{make.__qualname__}":
            raise BackendError(f"the recipe {name} is given twice: {owner.__module__} and {make.__module__}")
        return make

    return register


def recipe_of(name: str) -> Make:
    """The function of a recipe.

    Raises:
        BackendError: no module registers it.
    """
    if name not in _RECIPES:
        try:
            import_module(f"ge_backend_cpu.{name.split('.')[0]}")
        except ModuleNotFoundError as error:
            raise BackendError(f"there is no recipe {name!r}") from error
    if name not in _RECIPES:
        raise BackendError(f"there is no recipe {name!r}")
    return _RECIPES[name]


def recipe_layout(recipe: Recipe, type: TensorType) -> Layout | None:
    """The layout in which a constant is what a recipe makes of it; None when there is none.

    Raises:
        BackendError: no module registers the recipe.
    """
    recipe_of(recipe.recipe)
    found = _LAYOUTS.get(recipe.recipe)
    return None if found is None or len(recipe.inputs) != 1 else found(type, **recipe.options)


def launch_data(launches: Sequence[Launch], prepared: Mapping[str, Recipe] | None = None) -> dict[str, Any]:
    """`Implementation.data` of a node that runs these launches one after another: plain JSON values."""
    data = {
        "launches": [launch.to_json() for launch in launches],
        "prepared": {key: value.to_json() for key, value in (prepared or {}).items()},
    }
    found: dict[str, Any] = json.loads(json.dumps(data))  # tuples become lists, as they would in a file
    return found
