"""Writes docs/coverage_mindspore.md: which of MindSpore's primitives the frontend converts.

    python tools/coverage_mindspore.py           run every variant of the tests in MindSpore and here, write the page
    python tools/coverage_mindspore.py --check   exit code 1 when the page names other variants than the tests hold

Counted are the primitives that MindSpore's own documentation says its CPU supports, and those that it says nothing
of and that ran here; without those that it refused when asked, and those for training, for several devices, for
debugging and inside of MindSpore's compiler. A primitive counts as converted with three variants whose values agree
with MindSpore's.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata, util
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "coverage_mindspore.md"
WANTED = 3

_ROOTS = ("Primitive", "PrimitiveWithInfer", "PrimitiveWithCheck")
# Gradients and optimizers, several devices, debugging, and what only MindSpore's compiler makes.
_OTHER = re.compile(
    r"Grad|Backward|^Apply|^Adam|^SGD$|^Fused|Momentum|^Lamb|^LARS|^Sparse.*(Apply|Adam|Ftrl)|^All(Reduce|Gather)|"
    r"AlltoAll|ReduceScatter|^Dist|^InnerComm|Send$|Receive|^Broadcast$|Neighbor|Barrier|Hook|Summary|^Push|^Pull|"
    r"^NPU|CheckBprop|InsertGradientOf|Mirror(Op|Mini|Micro)|^Map|^FakeQuant|^FakeLearned|MinMaxUpdate|BatchNormFold|"
    r"CorrectionMul|ActULQ|ActsULQ|WtsARQ|^Cus|^OCR|Polys$|Thor|^DSD|^Matmul(DDS|All|Reduce)|KMeans|Centralization|"
    r"Embedding(Cache|LookupComm)|CacheSwap|SubAndFilter|Virtual|GetTensorSlice|MicroStep|MiniStep|^Reshard$|^PyFunc$|"
    r"^PyExecute$|^PyInterpret$|^Generator$|^WhileLoop$|^ForiLoop$|^Scan$|ErrorOnDyn|^IsParameter$|^IsConstant$|"
    r"^IsInstance$|^IsSubClass$|^SameTypeShape$|^TopTypeof$|VariableUsage|^Format$|^ShapeMul|ListInsertGrad|^Print$|"
    r"^Morph$|^Reusing$|^MoveTo$|^ConvertToDynamic$|^ListAppendAndInsertGrad$"
)

# What ends MindSpore's process when its CPU is asked to run it.
_CRASHES = ("ReflectionPad1D", "ReflectionPad2D", "ReplicationPad1D", "ReplicationPad2D")


def documented() -> tuple[set[str], dict[str, bool]]:
    """MindSpore's primitives by name, and for those whose documentation names platforms whether the CPU is among
    them."""
    found = util.find_spec("mindspore")
    assert found is not None and found.submodule_search_locations is not None
    root = Path(next(iter(found.submodule_search_locations))) / "ops"
    classes: dict[str, ast.ClassDef] = {}
    functions: list[ast.FunctionDef] = []
    instances: dict[str, str] = {}
    files = [
        *(root / "auto_generate").glob("*.py"),
        *(root / "operations").rglob("*.py"),
        *(root / "function").glob("*.py"),
    ]
    for file in sorted(files):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                classes.setdefault(node.name, node)
            elif isinstance(node, ast.FunctionDef):
                functions.append(node)
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        instances[target.id] = ast.unparse(node.value.func)
    primitives = {name for name in classes if not name.startswith("_") and _is_primitive(name, classes)}
    on_cpu = {name: said for name in primitives if (said := _says_cpu(classes[name])) is not None}
    by_function: dict[str, bool] = {}
    for function in functions:
        said = _says_cpu(function)
        if said is not None:
            for name in _used(function, instances) & primitives - set(on_cpu):
                by_function[name] = by_function.get(name, False) or said
    return primitives, on_cpu | by_function


def _is_primitive(name: str, classes: Mapping[str, ast.ClassDef], depth: int = 0) -> bool:
    bases = [ast.unparse(b).rpartition(".")[2] for b in classes[name].bases]
    return any(b in _ROOTS or (b in classes and depth < 5 and _is_primitive(b, classes, depth + 1)) for b in bases)


def _says_cpu(node: ast.ClassDef | ast.FunctionDef) -> bool | None:
    match = re.search(r"Supported Platforms:\s*\n(.*)", ast.get_docstring(node) or "")
    return None if match is None else "CPU" in match[1]


def _used(function: ast.FunctionDef, instances: Mapping[str, str]) -> set[str]:
    """The primitives that a function calls, by their classes or by instances at the top of some file."""
    found = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            found.add(instances.get(node.id, node.id))
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
    return found


def results() -> Iterator[tuple[Any, str]]:
    """Every variant with what is wrong with it; nothing when it agrees."""
    from tests.frontends.mindspore.variants.table import FAMILIES, groups

    for name in FAMILIES:
        for group in groups(name):
            yield from _checked(group)


def _checked(group: Sequence[Any]) -> Iterator[tuple[Any, str]]:
    from tests.frontends.mindspore.agreement import check_variants

    try:
        check_variants(group)
    except Exception as error:  # noqa: BLE001 - whatever MindSpore or the frontend raises is the result
        if len(group) == 1:
            yield group[0], f"{type(error).__name__}: {str(error)[:200]}"
            return
        half = len(group) // 2
        yield from _checked(group[:half])
        yield from _checked(group[half:])
        return
    for variant in group:
        yield variant, ""


def refused() -> list[str]:
    """The primitives that MindSpore's CPU has no kernel for, asked one by one."""
    from tests.frontends.mindspore.agreement import check_variants
    from tests.frontends.mindspore.variants.refused import REFUSED

    found = []
    for variant in REFUSED:
        try:
            check_variants([variant])
        except Exception as error:  # noqa: BLE001 - MindSpore raises whatever its runtime met
            if f"Unsupported op [{variant.op}] on CPU" in str(error):
                found.append(variant.op)
    return found


def page(passed: Mapping[str, int], without: Sequence[str]) -> str:
    """The page for the number of agreeing variants of each primitive, and the primitives that the CPU refuses."""
    from ge_frontend_mindspore.registry import operators
    from ge_frontend_mindspore.scan import CONTROL

    primitives, on_cpu = documented()
    counted = {name for name in primitives if on_cpu.get(name, passed.get(name, 0) > 0) and not _OTHER.search(name)}
    counted |= set(passed)  # MindSpore exported them
    counted -= {*without, *_CRASHES}
    full = sorted(name for name in counted if passed.get(name, 0) >= WANTED)
    untested = sorted(name for name in counted - set(full) if name in operators() or name in CONTROL)
    missing = sorted(counted - set(full) - set(untested))
    share = 100 * len(full) / len(counted)
    beyond = sorted(set(operators()) - counted)
    return f"""# MindSpore: which primitives are converted

Made by `tools/coverage_mindspore.py` with MindSpore {metadata.version("mindspore")} from the variants in
`tests/frontends/mindspore/variants`, each compared with MindSpore in graph mode.

**{len(full)} of {len(counted)} primitives ({share:.0f} %)** are converted with at least {WANTED} variants whose values
agree. Counted are the primitives that MindSpore's documentation says its CPU supports, and those without a word on
platforms that ran here; not those that it refuses when asked ({len(without)}, below), and those for training, several
devices, debugging, and inside of MindSpore's compiler.

Where MindSpore's CPU is wrong, the converted model is right, and `tests/frontends/mindspore/test_numbers.py` holds the
right values: NaN in Softmax, Sign, Maximum, Minimum and Div, and StridedSlice with masks for new axes or an ellipsis.

## Converted, with the number of variants

{_wrapped(f"{name} {passed[name]}" for name in full)}

## Known, without variants of their own

Met inside of whole models and control flow, or refused with a reason (dropout in training mode).

{_wrapped(untested)}

## Not converted

{_wrapped(missing)}

## Refused by MindSpore's CPU

MindSpore's documentation of some function names the CPU, and its runtime says that it has no kernel.

{_wrapped(without)}

These end MindSpore's process: {", ".join(_CRASHES)}.

## Converted, and not on MindSpore's CPU

MindSpore exports these and cannot run them on a CPU, or says nothing of platforms, so that nothing is compared.

{_wrapped(beyond)}
"""


def _wrapped(names: Any) -> str:
    lines, line = [], ""
    for name in names:
        if len(line) + len(name) + 2 > 118:
            lines.append(line)
            line = ""
        line += f"{', ' if line else ''}{name}"
    return ",\n".join([*lines, line]) if line or lines else "none"


def listed(text: str) -> dict[str, int]:
    """The variants by primitive that a page lists."""
    part = text.partition("## Converted, with the number of variants\n")[2].partition("\n## ")[0]
    return {name: int(count) for name, count in re.findall(r"(\w+) (\d+)", part)}


def held() -> dict[str, int]:
    """The variants by primitive that the tests hold."""
    from tests.frontends.mindspore.variants.table import FAMILIES, family

    found: dict[str, int] = {}
    for name in FAMILIES:
        for variant in family(name):
            found[variant.op] = found.get(variant.op, 0) + 1
    return found


def main(arguments: Sequence[str]) -> int:
    sys.path[:0] = [str(ROOT)]
    if "--check" in arguments:
        wanted = {name: count for name, count in held().items() if count >= WANTED}
        return int(listed(PAGE.read_text(encoding="utf-8")) != wanted)
    passed: dict[str, int] = {}
    for variant, wrong in results():
        if wrong:
            print(f"{variant.op}({variant.init})({variant.call}): {wrong}", flush=True)
        else:
            passed[variant.op] = passed.get(variant.op, 0) + 1
    PAGE.write_text(page(passed, refused()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
