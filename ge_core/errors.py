"""Every error that leaves the public API: a stable code, the cause, the place in the user's model, the next step."""

from __future__ import annotations

from collections.abc import Sequence


class GeError(Exception):
    """Base of all errors of ge.

    Args:
        what: what is wrong, in the user's terms; the first line of the message.
        where: the place in the user's model or file (a module path, source line, node name).
        expected: what would have been right.
        fix: what the user can do next.
        details: further lines, one finding each (for example every unsupported operator).

    The message is built from these; `str(error)` shows all of them, one per line.
    """

    code = "GE000"

    def __init__(
        self,
        what: str,
        *,
        where: object | None = None,
        expected: str | None = None,
        fix: str | None = None,
        details: Sequence[str] = (),
    ) -> None:
        self.what = what
        self.where = None if where is None else str(where)
        self.expected = expected
        self.fix = fix
        self.details = tuple(details)
        super().__init__(self._message())

    def _message(self) -> str:
        lines = [f"[{self.code}] {self.what}"]
        lines += [f"  - {detail}" for detail in self.details]
        if self.where:
            lines.append(f"  at: {self.where}")
        if self.expected:
            lines.append(f"  expected: {self.expected}")
        if self.fix:
            lines.append(f"  fix: {self.fix}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.what, self.where, self.expected, self.fix, self.details))


def _rebuild(
    cls: type[GeError],
    what: str,
    where: str | None,
    expected: str | None,
    fix: str | None,
    details: tuple[str, ...],
) -> GeError:
    return cls(what, where=where, expected=expected, fix=fix, details=details)


class OptionError(GeError):
    """An unknown option, or a value it does not take."""

    code = "GE100"


class ModelImportError(GeError):
    """The model cannot be read: not a model, not recognised, or its framework refuses it."""

    code = "GE200"


class UnsupportedError(ModelImportError):
    """The model uses operators or forms that are not supported; `details` names them all."""

    code = "GE201"


class GraphError(GeError):
    """A graph breaks a rule of the IR."""

    code = "GE300"


class UnknownRankError(GraphError):
    """A shape is asked of a value whose rank only the data decide."""

    code = "GE303"


class AbsentDataError(GraphError):
    """The data of a model's weights are asked for, and there are none: it was made of fake tensors, say."""

    code = "GE304"


class TypeRuleError(GraphError):
    """An operator's inputs or attributes break its type or shape rule."""

    code = "GE301"


class TextFormError(GraphError):
    """The text form of a graph cannot be parsed."""

    code = "GE302"


class PassError(GeError):
    """A pass failed or left an invalid graph."""

    code = "GE400"


class PlanError(GeError):
    """No valid execution or memory plan exists."""

    code = "GE500"


class BackendError(GeError):
    """A target cannot compile or load this graph."""

    code = "GE600"


class OfflineModelError(GeError):
    """An offline model file is damaged, hostile, from another version, or cannot be written."""

    code = "GE700"


class PluginError(GeError):
    """A plugin is missing, broken, disabled, or breaks the contract."""

    code = "GE800"


class InputError(GeError):
    """The inputs of a call do not fit the model's signature."""

    code = "GE900"


class ExecutionError(GeError):
    """A step failed while running; the subclasses are the statuses that a step can return."""

    code = "GE910"


class IndexRangeError(ExecutionError):
    """An index of a gather, scatter or slice is out of range."""

    code = "GE911"


class DivisionByZeroError(ExecutionError):
    """Integer division or modulo by zero."""

    code = "GE912"


class SizeBoundError(ExecutionError):
    """A data-dependent size is outside its declared bound, or sizes contradict each other."""

    code = "GE913"


class CheckError(ExecutionError):
    """An assertion of the model failed."""

    code = "GE914"


class OutOfMemoryError(ExecutionError, MemoryError):
    """There is not enough memory for the sizes of a call."""

    code = "GE915"
