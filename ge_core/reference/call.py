"""What a reference kernel sees of the node it computes, and how a single node is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ge_core.errors import BackendError, ExecutionError, GeError, SizeBoundError
from ge_core.ir import dims
from ge_core.ir.dims import Size
from ge_core.ir.dtype import DType
from ge_core.ir.graph import Node, Region
from ge_core.ir.types import TensorType
from ge_core.ops.registry import KERNELS
from ge_core.ops.schema import schema

RunRegion = Callable[[Region, Sequence[Any]], list[Any]]


class Call:
    """One execution of a node by a reference kernel.

    A kernel is registered with `@kernel("Conv")` and called as `kernel(call, *inputs)`: numpy arrays in the
    schema's order, None for omitted optional ones, lists for sequences. It returns one array, or a tuple with
    one for each output of the node (None for outputs that `wants` denies). It never writes to its inputs. It may
    return a view of an input.

    Args:
        node: the node.
        env: values of the symbols bound so far; kernels that define sizes add to it.
        run_region: runs a region of the node on its params (captures are provided by the caller).
    """

    def __init__(self, node: Node, env: dict[str, int], run_region: RunRegion | None = None) -> None:
        self.node, self.env, self._run_region = node, env, run_region
        self.schema = schema(node.op)

    def attr(self, name: str, default: Any = None) -> Any:
        """An attribute, else the schema's default, else `default`."""
        if name in self.node.attrs:
            return self.node.attrs[name]
        declared = self.schema.attributes[name].default
        return default if declared is None else declared

    @property
    def num_outputs(self) -> int:
        return len(self.node.outputs)

    def wants(self, index: int) -> bool:
        """Whether output `index` exists."""
        return index < len(self.node.outputs)

    def dtype(self, index: int = 0) -> DType:
        """Element type of output `index`."""
        return self.node.outputs[index].dtype

    def size(self, size: Size) -> int:
        """The value of a size in this call."""
        return dims.evaluate(size, self.env)

    def run(self, region: str, *params: Any) -> list[Any]:
        """Run a region on values for its params; returns its outputs."""
        if self._run_region is None:
            raise BackendError(f"{self.node.op} needs a runner for its regions", where=self.node.loc)
        return self._run_region(self.node.regions[region], params)

    def error(self, kind: type[ExecutionError], message: str) -> ExecutionError:
        """An execution error that names the node and the user's line."""
        return kind(f"{self.node.op}: {message}", where=self.node.loc)


def run_kernel(
    node: Node, inputs: Sequence[Any], env: dict[str, int], run_region: RunRegion | None = None
) -> list[Any]:
    """Run the reference kernel of a node and return one result for each output, unchecked.

    Raises:
        BackendError: the operator has no reference kernel.
        ExecutionError: the kernel reported a status.
    """
    kernel = KERNELS.get(node.op)
    if kernel is None:
        raise BackendError(f"{node.op} has no reference kernel", where=node.loc)
    call = Call(node, env, run_region)
    try:
        with np.errstate(all="ignore"):
            result = kernel(call, *inputs)
    except GeError:
        raise
    except (ValueError, IndexError, TypeError, ZeroDivisionError, OverflowError) as e:
        raise ExecutionError(f"{node.op} failed: {e}", where=node.loc) from e
    outputs = list(result) if isinstance(result, tuple) else [result]
    count = len(node.outputs)
    return (outputs + [None] * (count - len(outputs)))[:count]


def compute(node: Node, inputs: Sequence[Any], env: dict[str, int], run_region: RunRegion | None = None) -> list[Any]:
    """Run the reference kernel of a node and check what it gives.

    Args:
        inputs: arrays in the order of `node.inputs`, None where those are None.
        env: symbol values; sizes that this node defines are added.

    Returns:
        One value for each output, with the dtype of its type. Arrays are of the shapes that the type says for
        the symbols of `env`; symbols first seen in an output's shape are bound from the result.

    Raises:
        BackendError: the operator has no reference kernel.
        ExecutionError: the kernel reported a status, or its result contradicts the node's type.
    """
    outputs = run_kernel(node, inputs, env, run_region)
    return [_checked(node, i, outputs[i], env) for i in range(len(node.outputs))]


def _checked(node: Node, index: int, result: Any, env: dict[str, int]) -> Any:
    type = node.outputs[index].type
    if not isinstance(type, TensorType):
        return result
    if result is None:
        raise ExecutionError(f"{node.op} gave no output {index}", where=node.loc)
    array = np.asarray(result)
    if array.dtype != type.dtype.numpy and type.dtype.kind != "string":
        raise ExecutionError(f"{node.op} gave {array.dtype} where {type} is declared", where=node.loc)
    if type.shape is not None:
        bind_shape(type.shape, array.shape, env, f"output {index} of {node.op}", str(node.loc))
    content = node.outputs[index].content
    if content is not None and len(content) == 1 and isinstance(content[0], dims.Dim):
        bind_size(content[0], int(array.reshape(())), env, f"the value of {node.op}", str(node.loc))
    return array


def bind_shape(shape: Sequence[Size], actual: Sequence[int], env: dict[str, int], what: str, where: str) -> None:
    """Check an actual shape against a type's shape; symbols seen for the first time are bound.

    Raises:
        SizeBoundError: rank or a size differs, or a bound is broken.
    """
    if len(shape) != len(actual):
        raise SizeBoundError(f"{what} has shape {list(actual)}, expected rank {len(shape)}", where=where)
    for size, n in zip(shape, actual, strict=True):
        bind_size(size, int(n), env, f"a size of {what}", where)


def bind_size(size: Size, n: int, env: dict[str, int], what: str, where: str) -> None:
    """Check one size, or bind it when it is a symbol without a value.

    Raises:
        SizeBoundError: the value contradicts the size or its bounds.
    """
    if isinstance(size, int):
        if size != n:
            raise SizeBoundError(f"{what} is {n}, expected {size}", where=where)
        return
    unbound = [s for s in dims.symbols(size) if s.name not in env]
    if unbound:
        single = len(size.terms) == 1 and size.terms[0][1] == 1 and size == dims.symbol(*_fields(unbound[0]))
        if not single:
            return
        s = unbound[0]
        if n < s.lo or (s.hi is not None and n > s.hi):
            raise SizeBoundError(
                f"{what} is {n}, outside [{s.lo}, {'∞' if s.hi is None else s.hi}] of {s.name}", where=where
            )
        env[s.name] = n
        return
    want = dims.evaluate(size, env)
    if want != n:
        raise SizeBoundError(f"{what} is {n}, expected {size} = {want}", where=where)


def _fields(s: dims.Symbol) -> tuple[str, int, int | None]:
    return s.name, s.lo, s.hi


def bound_symbols(shapes: Mapping[str, tuple[Sequence[Size], Sequence[int]]]) -> dict[str, int]:
    """Symbol values from named shapes and actual sizes, in order (see `bind_shape`)."""
    env: dict[str, int] = {}
    for name, (shape, actual) in shapes.items():
        bind_shape(shape, actual, env, name, name)
    return env
