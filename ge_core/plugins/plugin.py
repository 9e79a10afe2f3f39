"""A loaded plugin: each hook as a typed method whose failures name the plugin."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from ge_core.errors import GeError, PluginError
from ge_core.plugins.frontend import ImportedModel

if TYPE_CHECKING:
    import numpy as np
    import pluggy

    from ge_core.backend import Backend
    from ge_core.ir import Graph
    from ge_core.plugins.discovery import Source
    from ge_core.plugins.events import Event
    from ge_core.plugins.evidence import Evidence
    from ge_core.plugins.info import PluginInfo
    from ge_core.plugins.registry import Registrar


@dataclass(frozen=True)
class LoadCost:
    """What loading an entry module took: time, and the frameworks that it imported though it should not."""

    milliseconds: float
    early_imports: tuple[str, ...]


class Plugin:
    """One loaded plugin with a pluggy manager of its own.

    Whatever a hook raises that is no `GeError` becomes a `PluginError` that names the plugin, its
    distribution and the line; KeyboardInterrupt passes untouched. A hook that the plugin lacks is a
    `PluginError` too.
    """

    def __init__(
        self, source: Source, info: PluginInfo, manager: pluggy.PluginManager, cost: LoadCost, *, trace: bool
    ) -> None:
        self.source = source
        self.info = info
        self.cost = cost
        self.hooks = implemented(manager)
        self._manager = manager
        self._trace = trace
        self._backend: Backend | None = None
        self._alone = _single_implementations(manager, self.hooks)

    @property
    def name(self) -> str:
        return self.source.name

    def claims(self, evidence: Evidence) -> bool:
        """Whether the plugin recognises the model by this evidence."""
        answer = self._call("ge_claims_model", type_names=evidence.type_names, path=evidence.path, head=evidence.head)
        if not isinstance(answer, bool):
            raise self._broken_promise("ge_claims_model", answer, "a bool")
        return answer

    def import_model(
        self,
        model: object,
        inputs: Sequence[object] | None,
        kwargs: Mapping[str, object] | None,
        dynamic_shapes: object | None,
        options: Mapping[str, object],
    ) -> ImportedModel:
        """The model as a graph with its signature."""
        imported = self._call(
            "ge_import_model",
            model=model,
            inputs=inputs,
            kwargs=kwargs,
            dynamic_shapes=dynamic_shapes,
            options=options,
        )
        if not isinstance(imported, ImportedModel):
            raise self._broken_promise("ge_import_model", imported, "an ImportedModel")
        return imported

    def tensor_to_numpy(self, tensor: object) -> np.ndarray | None:
        """The tensor as an array, or None when it is not this framework's."""
        if "ge_tensor_to_numpy" not in self.hooks:
            return None
        array = self._call("ge_tensor_to_numpy", tensor=tensor)
        import numpy as np

        if array is not None and not isinstance(array, np.ndarray):
            raise self._broken_promise("ge_tensor_to_numpy", array, "a numpy array or None")
        return array

    def tensor_from_numpy(self, array: np.ndarray, like: object) -> object:
        """The array as a tensor of this framework, on the device of `like`."""
        return self._call("ge_tensor_from_numpy", array=array, like=like)

    def run_original(self, model: object, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        """What the model returns in its own framework."""
        return self._call("ge_run_original", model=model, args=args, kwargs=kwargs)

    def export_graph(self, graph: Graph, path: str, opset: int | None) -> None:
        """Write a graph as a file of the framework's own form."""
        done = self._call("ge_export_graph", graph=graph, path=path, opset=opset)
        if done is not True:
            raise self._broken_promise("ge_export_graph", done, "True")

    def backend(self) -> Backend:
        """The backend object; one per plugin."""
        if self._backend is None:
            backend = self._call("ge_backend")
            if getattr(backend, "kind", None) not in ("planned", "whole"):
                raise self._broken_promise("ge_backend", backend, "a Backend of kind 'planned' or 'whole'")
            self._backend = cast("Backend", backend)
        return self._backend

    def register_passes(self, registrar: Registrar) -> None:
        """Let the plugin add its passes, if it has any."""
        self._offer("ge_register_passes", registry=registrar)

    def register_operators(self, registrar: Registrar) -> None:
        """Let the plugin add its operators, if it has any."""
        self._offer("ge_register_operators", registry=registrar)

    def observe(self, event: Event) -> None:
        """Tell the plugin what happened, if it listens."""
        self._offer("ge_observe", event=event)

    def _offer(self, hook: str, **arguments: object) -> None:
        if hook in self.hooks:
            self._call(hook, **arguments)

    def _call(self, hook: str, **arguments: object) -> object:
        alone = self._alone.get(hook)
        if alone is None and hook not in self.hooks:
            raise PluginError(
                f"the {self.source.kind} {self.name!r} has no {hook}",
                where=f"{self.source.distribution} {self.source.version}",
                fix=f"pip install -U {self.source.distribution}",
            )
        started = time.perf_counter() if self._trace else 0.0
        try:
            if alone is None:
                result = getattr(self._manager.hook, hook)(**arguments)
            else:
                function, names = alone
                result = function(*[arguments[name] for name in names])
        except GeError as error:
            self._print_call(hook, arguments, f"raised {error.code}", started)
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001 - any failure of foreign code is told with its owner
            self._print_call(hook, arguments, f"raised {type(error).__name__}", started)
            raise failure(self.source, hook, error) from error
        if self._trace:
            self._print_call(hook, arguments, _brief(result), started)
        return result

    def _print_call(self, hook: str, arguments: Mapping[str, object], outcome: str, started: float) -> None:
        if not self._trace:
            return
        shown = ", ".join(f"{name}={_brief(value)}" for name, value in arguments.items())
        took = 1e3 * (time.perf_counter() - started)
        print(f"ge plugins: {self.name}.{hook}({shown}) -> {outcome} [{took:.1f} ms]", file=sys.stderr)

    def _broken_promise(self, hook: str, got: object, expected: str) -> PluginError:
        return PluginError(
            f"{hook} of the {self.source.kind} {self.name!r} returned {_brief(got)}",
            where=f"{self.source.distribution} {self.source.version}",
            expected=expected,
            fix=f"pip install -U {self.source.distribution}, or tell its authors",
        )


def failure(source: Source, hook: str, error: BaseException) -> PluginError:
    """The error that a hook's own failure becomes; chain it to `error`."""
    return PluginError(
        f"the {source.kind} {source.name!r} failed in {hook}: {describe(error)}",
        where=f"{last_line(error)} ({source.distribution} {source.version})",
        fix=f"{remedy(source, error)}; GE_TRACE_PLUGINS=1 shows each call",
    )


def remedy(source: Source, error: BaseException) -> str:
    """The pip line that mends a plugin which failed with this error, as far as one can."""
    line = f"pip install -U {source.distribution}"
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"{line} (brings what provides {error.name.partition('.')[0]!r})"
    return line


def describe(error: BaseException) -> str:
    """The error's class and the first line of its message."""
    first = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def last_line(error: BaseException) -> str:
    """File and line of the innermost frame of the error that stands in a file."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<")]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "an unknown line"


def implemented(manager: pluggy.PluginManager) -> tuple[str, ...]:
    """The names of the hooks that the manager's plugins implement, sorted."""
    names = {caller.name for plugin in manager.get_plugins() for caller in manager.get_hookcallers(plugin) or ()}
    return tuple(sorted(names))


def _single_implementations(
    manager: pluggy.PluginManager, hooks: Sequence[str]
) -> dict[str, tuple[Callable[..., object], tuple[str, ...]]]:
    """The functions behind hooks of which there is one alone, and their arguments: a call of pluggy's takes longer
    than many a hook does, and tensors go through two of them in every call of a model."""
    found = {}
    for hook in hooks:
        caller = getattr(manager.hook, hook)
        implementations = caller.get_hookimpls()
        plain = [i for i in implementations if not i.wrapper and not i.hookwrapper and not i.kwargnames]
        if len(implementations) == len(plain) == 1 and caller.spec is not None and caller.spec.opts.get("firstresult"):
            found[hook] = (plain[0].function, tuple(plain[0].argnames))
    return found


def _brief(value: object) -> str:
    if isinstance(value, bool | int | float | type(None)):
        return repr(value)
    if isinstance(value, str | tuple | list | dict):
        text = repr(value)
        return text if len(text) <= 60 else f"{text[:57]}..."
    return f"a {type(value).__qualname__}"
