"""What a backend may offer beyond `ge_core.backend.Backend`: parts for targets that this machine cannot run.

Each part is a protocol of its own; the core asks with isinstance, and no target has to have any.

| part | asked by |
|---|---|
| SavesFiles | `CompiledModel.save`: the target's own file forms |
| ChecksFiles | `ge check` |
| Describes | `ge report` |
| Emulates | `ge verify` |
| TakesImages | the option `preprocess`, with which a model takes images as they come |
| Prepares | every compilation, when it begins |
| BeginsEarly | every compilation for a planned target, when its implementations are chosen |
| KeepsModels | every compilation: whole models in the user's cache |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:
    import numpy as np

    from ge_core.backend import Artifact, Implementation, Options
    from ge_core.ir.graph import Graph


@dataclass(frozen=True)
class FileFinding:
    """One fault of a file: `rule` is short and stable, `where` names the place in it."""

    severity: Literal["error", "warning"]
    rule: str
    where: str
    what: str
    fix: str = ""

    def __str__(self) -> str:
        text = f"{self.severity}: {self.where}: {self.what}"
        return f"{text}: {self.fix}" if self.fix else text


@dataclass(frozen=True)
class Prediction:
    """The error that a target's element types will bring.

    Attributes:
        outputs: for each output the largest difference that is predicted, as a part of its scale.
        operators: (operator, where, the part of the largest output's scale that it contributes alone), largest first.
        basis: how it was found, one line.
    """

    outputs: tuple[float, ...]
    operators: tuple[tuple[str, str, float], ...] = ()
    basis: str = ""

    def lines(self, names: Sequence[str]) -> list[str]:
        """For a person: outputs, then operators."""
        found = [f"predicted error ({self.basis}):" if self.basis else "predicted error:"]
        found += [f"  {name}: {error:.2e} of its scale" for name, error in zip(names, self.outputs, strict=False)]
        if self.operators:
            found.append("operators that contribute most:")
            found += [f"  {error:.2e}  {operator}  {where}".rstrip() for operator, where, error in self.operators]
        return found


@runtime_checkable
class TakesImages(Protocol):
    """Prepares images itself: the option `preprocess` is left to it, and the core adds no operators."""

    takes_images: Literal[True]


@runtime_checkable
class SavesFiles(Protocol):
    """Writes files of the target's own form instead of offline models of ge."""

    def save(self, artifact: Artifact, path: str, options: Options) -> None:
        """Write the artifact; the form is that of the path's suffix.

        Raises:
            BackendError: the form is unknown, or a tool of the target is missing or failed.
        """
        ...


@runtime_checkable
class ChecksFiles(Protocol):
    """Reads files of the target's own form and says what is wrong with them."""

    def check_file(self, path: str, target: str) -> list[FileFinding]:
        """Everything that is wrong with a file; one that cannot be read is a finding too."""
        ...


@runtime_checkable
class Describes(Protocol):
    """Tells what the core's report cannot know: estimates, the use of a device."""

    def describe(self, artifact: Artifact, options: Options) -> str:
        """Text for a person."""
        ...


@runtime_checkable
class Emulates(Protocol):
    """Computes on the host what the device would compute."""

    def emulate(self, artifact: Artifact, inputs: Sequence[Any], entry: str = "main") -> list[Any]:
        """The entry's outputs, with the target's element types."""
        ...

    def predict(self, artifact: Artifact, inputs: Sequence[Any], entry: str = "main") -> Prediction:
        """The error that the target's element types bring, and the operators that contribute most."""
        ...


@runtime_checkable
class Prepares(Protocol):
    """Begins aside what takes a while and does not depend on what the passes will find."""

    def prepare(self, graphs: Sequence[Graph], target: str, options: Options) -> None:
        """A compilation of these imported graphs begins; it may fail, or never come to `build`."""
        ...


@runtime_checkable
class BeginsEarly(Protocol):
    """Begins aside with what chosen implementations need, while the core orders and places them."""

    def chosen(
        self, implementations: Sequence[Implementation], target: str, options: Options
    ) -> Sequence[Implementation]:
        """These were chosen, for the nodes of one entry; the compilation may still fail, or never come to `build`.

        Returns:
            What takes their places, in this order: the same but for `data`, where several can share what they need.
        """
        ...


@runtime_checkable
class KeepsModels(Protocol):
    """Compiles so that equal requests give equal models, which may then come from the cache (`ge_core.model_cache`)."""

    def stamp(self, target: str, options: Options) -> str | None:
        """All that its models depend on beside graph, weights and request: versions, instruction set, calibration,
        environment. None: this compilation is neither kept nor found."""
        ...

    def fingerprint(self, secret: bytes, data: Sequence[np.ndarray]) -> bytes:
        """A keyed digest of arrays of bytes (uint8, contiguous), their lengths and order included.

        Its docstring bounds the probability, over random secrets, that two different lists have the same one.
        """
        ...


__all__ = [
    "BeginsEarly",
    "ChecksFiles",
    "Describes",
    "Emulates",
    "FileFinding",
    "KeepsModels",
    "Prediction",
    "Prepares",
    "SavesFiles",
    "TakesImages",
]
