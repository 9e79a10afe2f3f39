"""Rows of the list of models for the Ascend targets: what one model gives, lowered, written, read back and run."""

from __future__ import annotations

import importlib
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
TARGETS = {"ascend910b": "must_keep_origin_dtype", "ascend310p": "force_fp16"}
OTHERS = {"ascend910a": "force_fp16", "ascend910_93": "must_keep_origin_dtype"}
"""Targets whose files are written, checked and estimated, but not run: they differ in figures more than in files."""
BFLOAT16 = ("ascend910b", "mixed_bfloat16")
"""The target and the mode of the third round trip."""
TOLERANCE = 1e-4
LARGE = 0.1
"""A prediction above this is explained by values out of the range of half precision."""
SPREAD = 4.0
"""A result in half precision may lie this many times as far off as rounding predicts, plus the tolerance."""


def framework_of(list_name: str) -> Any:
    """The framework's side of a list."""
    if list_name == "onnx":
        from bench.framework_onnx import FRAMEWORK

        return FRAMEWORK
    return importlib.import_module(f"bench.framework_{list_name}").FRAMEWORK


def run_model(list_name: str, name: str) -> dict[str, Any]:
    """Lower one model for each target, and run on the CPU what the files say.

    Returns:
        status, and per target: CANN operators, errors and warnings of the checker, bytes of the file, the largest
        error of the round trip against the framework, the error that rounding every stored tensor predicts, seconds of
        lowering and writing, and the estimated milliseconds with what bounds them.
    """
    return _guarded(list_name, name, _measured)


def run_estimate(list_name: str, name: str) -> dict[str, Any]:
    """What a row says of one model without running it: operators, the checker's findings, sizes, estimates."""
    return _guarded(list_name, name, _estimated)


def run_bfloat16(list_name: str, name: str) -> dict[str, Any]:
    """The round trip of one model in bfloat16: the error, and the one that rounding every stored tensor predicts."""
    return _guarded(list_name, name, _in_bfloat16)


def _guarded(list_name: str, name: str, measure: Callable[[Any, Any], dict[str, Any]]) -> dict[str, Any]:
    """A row of one model, whatever becomes of it."""
    from bench.zoo import models
    from ge_core.errors import GeError, ModelImportError

    framework = framework_of(list_name)
    framework.prepare()
    try:
        example = framework.example(name) if list_name == "onnx" else models(list_name)[name]()
        return measure(framework, example)
    except ModelImportError as error:
        refused = framework.refused(name, error.what)
        return {"status": f"refused by {list_name}" if refused else "failed", "message": _told(str(error))}
    except (GeError, AssertionError) as error:
        return {"status": "failed", "message": _told(str(error))}
    except Exception as error:  # noqa: BLE001  a row says what went wrong with its model, whatever it is
        return {"status": "failed", "message": _told(f"{type(error).__name__}: {error}")}


def _imported(framework: Any, example: Any) -> tuple[Any, list[Any]]:
    """The optimised graph of an example, and its inputs."""
    import ge_core
    from ge_core.passes.pipeline import optimise

    if framework.name == "torch" and example.values:
        _draw_zeros(example.model)
    graph = ge_core.import_model(
        example.model, example.args, example.kwargs, framework=framework.name, dynamic_shapes=example.shapes
    )
    arrays = [np.array(a, order="C") for a in framework.arrays(example)]
    optimise(graph)
    return graph, arrays


def _without_values(graph: Any, arrays: Sequence[Any]) -> dict[str, Any]:
    """A row of a model whose weights have no values: no file can be written, but it is lowered and estimated."""
    from ge_ascend.chips import CHIPS
    from ge_ascend.device import estimate, figures
    from ge_ascend.lower import lower
    from ge_ascend.precision import policy_of

    target = "ascend910b"  # the one whose mode leaves the weights as they are
    lowered = lower(graph, CHIPS[target], policy_of(TARGETS[target], CHIPS[target]))
    if lowered.problems:
        return {"status": "not lowered", "message": _told("; ".join(str(p) for p in lowered.problems[:10]))}
    guess = estimate(lowered.program, figures(target), _sizes(graph, arrays))
    told = f"{_count(lowered.program)} operators for {target}, estimated {1e3 * guess.seconds:.3g} ms"
    return {"status": "lowered; its weights have no values", "message": told}


def _count(program: Any) -> int:
    """CANN operators of a program, without its inputs and constants."""
    return sum(op.type not in ("Const", "FileConstant", "Data", "RefData") for op in program.ops())


def _measured(framework: Any, example: Any) -> dict[str, Any]:
    graph, arrays = _imported(framework, example)
    if not example.values:
        return _without_values(graph, arrays)
    row: dict[str, Any] = {"status": "ok"}
    results: dict[str, list[Any]] = {}
    for target, mode in TARGETS.items():
        row[target], model = _on_target(graph, target, mode, arrays)
        failed = _failure(row, target)
        if failed:
            return failed
        results[target] = _run(model, arrays)
    failed = _on_others(row, graph, arrays)
    if failed:
        return failed
    rounded = _rounded(graph, "ascend310p", TARGETS["ascend310p"], arrays)
    # last: a model may write its own buffers, which the graph shares
    expected = _expected(framework, example, graph, arrays, row)
    for target, got in results.items():
        error = _worst(got, expected)
        predicted = _worst(rounded, expected) if target == "ascend310p" else 0.0
        row[target] |= {"error": _figure(error), "predicted": _figure(predicted)}
        if predicted > LARGE:
            row[target]["range"] = _range(graph, arrays) or "sizes or an order depend on values"
        if not error <= TOLERANCE + SPREAD * predicted:
            row |= {"status": "failed", "message": f"{target}: off by {error:.1e}, {predicted:.1e} predicted"}
    return row


def _estimated(framework: Any, example: Any) -> dict[str, Any]:
    graph, arrays = _imported(framework, example)
    if not example.values:
        return _without_values(graph, arrays)
    row: dict[str, Any] = {"status": "ok"}
    for target, mode in TARGETS.items():
        row[target], _ = _on_target(graph, target, mode, arrays, beside=True)
        failed = _failure(row, target)
        if failed:
            return failed
    return _on_others(row, graph, arrays) or row


def _on_others(row: dict[str, Any], graph: Any, arrays: Sequence[Any]) -> dict[str, Any] | None:
    """Fill in what is known of the targets that are not run; a row instead where one does not take the model."""
    for target, mode in OTHERS.items():
        row[target], _ = _on_target(graph, target, mode, arrays, beside=True)
        failed = _failure(row, target)
        if failed:
            return failed
    return None


def _in_bfloat16(framework: Any, example: Any) -> dict[str, Any]:
    graph, arrays = _imported(framework, example)
    if not example.values:
        return _without_values(graph, arrays)
    target, mode = BFLOAT16
    row: dict[str, Any] = {"status": "ok"}
    row[target], model = _on_target(graph, target, mode, arrays)
    failed = _failure(row, target)
    if failed:
        return failed
    got = _run(model, arrays)
    rounded = _rounded(graph, target, mode, arrays)
    expected = _expected(framework, example, graph, arrays, row)
    error, predicted = _worst(got, expected), _worst(rounded, expected)
    found = {"status": "ok", **{k: row[target][k] for k in ("operators", "errors")}}
    found |= {"error": _figure(error), "predicted": _figure(predicted)}
    if not error <= TOLERANCE + SPREAD * predicted:
        found |= {"status": "failed", "message": f"off by {error:.1e}, {predicted:.1e} predicted"}
    return found


def _failure(row: dict[str, Any], target: str) -> dict[str, Any] | None:
    """The row of a model that a target does not take, or whose file the checker refuses."""
    if row[target].get("problems"):
        return {"status": "not lowered", "message": _told(f"{target}: " + "; ".join(row[target]["problems"]))}
    if row[target]["errors"]:
        said = "; ".join(row[target].pop("said"))
        return row | {"status": "failed", "message": _told(f"checker, {target}: {said}")}
    return None


def _expected(framework: Any, example: Any, graph: Any, arrays: Sequence[Any], row: dict[str, Any]) -> list[Any]:
    """The framework's own results, or those of the graph where only layers agree with it."""
    if getattr(example, "rounds", False):  # which the model's own list shows
        row["against"] = "the graph before it was lowered"
        return _interpreted(graph, arrays)
    found: list[Any] = framework.call(framework.original(example), example, arrays)
    return found


def _told(text: str) -> str:
    """A message without the folders of this machine."""
    return re.sub(r"\S*/site-packages/", "", text).replace(f"{ROOT}/", "")[:1000]


def _draw_zeros(model: Any) -> None:
    """Weights that begin as zeros, such as the head of some models, would make every result zero."""
    import torch

    with torch.no_grad():
        for weight in model.parameters():
            if weight.ndim >= 2 and weight.is_floating_point() and not weight.any():
                torch.nn.init.normal_(weight, std=0.02)


def _worst(got: Sequence[Any], want: Sequence[Any]) -> float:
    from ge_ascend.predict import difference

    return max((difference(a, b) for a, b in zip(got, want, strict=True)), default=0.0)


def _on_target(
    graph: Any, target: str, mode: str, arrays: Sequence[Any], *, beside: bool = False
) -> tuple[dict[str, Any], Any]:
    """A row for one target, and the file's message, which `_run` takes; None where there is none.

    Args:
        beside: do not write the weights, which is enough where nothing is run.
    """
    from ge_ascend.air import parse_air, write_air
    from ge_ascend.check import check_air
    from ge_ascend.chips import CHIPS
    from ge_ascend.device import estimate, figures
    from ge_ascend.lower import lower
    from ge_ascend.precision import policy_of

    chip = CHIPS[target]
    started = time.process_time()
    lowered = lower(graph, chip, policy_of(mode, chip))
    if lowered.problems:
        return {"problems": [str(p) for p in lowered.problems[:10]]}, None
    data = write_air(lowered.program, most_inside=0 if beside else 1 << 40).data
    row: dict[str, Any] = {
        "operators": _count(lowered.program),
        "seconds": round(time.process_time() - started, 2),
    }
    if not beside:
        row["bytes"] = len(data)
    model = parse_air(data)
    findings = [f for f in check_air(model, chip) if not (beside and f.rule == "file-constant")]
    errors = [f for f in findings if f.severity == "error"]
    row["errors"], row["warnings"] = len(errors), len(findings) - len(errors)
    if errors:
        row["said"] = [str(f) for f in errors[:5]]
    guess = estimate(lowered.program, figures(target), _sizes(graph, arrays))
    row["milliseconds"], row["bound"] = round(1e3 * guess.seconds, 4), guess.bound
    row["activations"] = guess.activations
    return row, model


def _run(model: Any, arrays: Sequence[Any]) -> list[Any]:
    """The results of a file on the target cpu, operator by operator: what it stores is rounded as it says."""
    from ge_ascend.air import import_air

    import ge_core

    compiled = ge_core.compile(import_air(model).graph, target="cpu", optimize="none", options={"share_weights": True})
    return list(compiled.executable.run([np.array(a, order="C") for a in arrays], compiled.session().states, "main"))


def _rounded(graph: Any, target: str, mode: str, arrays: Sequence[Any]) -> list[Any]:
    """The results of the float32 graph when every tensor that the mode stores in half precision is rounded to it."""
    from ge_ascend.chips import CHIPS
    from ge_ascend.precision import policy_of
    from ge_ascend.predict import rounded

    return _interpreted(rounded(graph, policy_of(mode, CHIPS[target])), arrays)


def _interpreted(graph: Any, arrays: Sequence[Any]) -> list[Any]:
    from ge_core.reference.interpret import interpret

    return list(interpret(graph, [np.array(a) for a in arrays])[0])


def _range(graph: Any, arrays: Sequence[Any]) -> str:
    from ge_ascend.predict import beyond_range

    from ge_core.ir.dtype import float16

    found = beyond_range(graph, [np.array(a) for a in arrays], float16)
    return re.sub(r" at \S*/site-packages/", " at ", found)  # where the packages lie is this machine's affair


def _sizes(graph: Any, arrays: Sequence[Any]) -> dict[str, int]:
    from ge_core.plan.bind import InputBinder

    if not arrays:
        return {}
    binder = InputBinder(graph.inputs)
    values = binder.values([np.shape(a) for a in arrays])
    return {s.name: v for s, v in zip(binder.symbols, values, strict=True)}


def _figure(value: float) -> float:
    return float(f"{value:.2g}")


def run_half(name: str) -> dict[str, Any]:
    """The error of a PyTorch model's own half precision on this machine, beside what is predicted for the chip."""
    import torch
    from ge_ascend.air import parse_air, write_air
    from ge_ascend.chips import CHIPS
    from ge_ascend.lower import lower
    from ge_ascend.precision import policy_of
    from ge_ascend.predict import difference

    import ge_core
    from bench.zoo import models
    from ge_core.passes.pipeline import optimise

    framework = framework_of("torch")
    framework.prepare()
    example = models("torch")[name]()
    arrays = [np.array(a, order="C") for a in framework.arrays(example)]
    graph = ge_core.import_model(
        example.model, example.args, example.kwargs, framework="torch", dynamic_shapes=example.shapes
    )
    optimise(graph)
    exact = framework.call(framework.original(example), example, arrays)
    row: dict[str, Any] = {"status": "ok"}
    for mode, target, dtype in (
        ("force_fp16", "ascend310p", torch.float16),
        ("mixed_bfloat16", "ascend910b", torch.bfloat16),
    ):
        chip = CHIPS[target]
        program = lower(graph, chip, policy_of(mode, chip)).program
        got = _run(parse_air(write_air(program).data), arrays)
        predicted = max(difference(a, b) for a, b in zip(got, exact, strict=True))
        own = _own_half(framework, example, arrays, exact, dtype)
        row[str(dtype).removeprefix("torch.")] = {
            "predicted": _figure(predicted), "framework": _figure(own), "ratio": round(predicted / own, 2),
        }  # fmt: skip
    return row


def _own_half(framework: Any, example: Any, arrays: Sequence[Any], exact: Sequence[Any], dtype: Any) -> float:
    """The framework's own error when the model and its float inputs are converted."""
    import copy

    import torch
    from ge_ascend.predict import difference

    model = copy.deepcopy(example.model).to(dtype)

    def convert(value: Any) -> Any:
        return value.to(dtype) if isinstance(value, torch.Tensor) and value.is_floating_point() else value

    tree = torch.utils._pytree
    with torch.no_grad():
        found = model(*tree.tree_map(convert, list(example.args)), **tree.tree_map(convert, dict(example.kwargs)))
    leaves = [v.float().numpy() if v.is_floating_point() else v.numpy() for v in tree.tree_leaves(_plain(found))]
    return max(difference(a, b) for a, b in zip(leaves, exact, strict=True))


def _plain(value: Any) -> Any:
    """Outputs of transformers as plain containers, without what is no tensor."""
    return {k: v for k, v in value.items() if v is not None} if hasattr(value, "items") else value
