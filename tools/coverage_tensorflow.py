"""Writes docs/coverage_tensorflow.md: which of TensorFlow's raw operators the frontend converts.

    python tools/coverage_tensorflow.py

An operator counts when at least three calls of it agree with TensorFlow; the calls are those of the tests
(tests/frontends/tensorflow/variants). They are run here, so that the table says what is so.
"""

from __future__ import annotations

import os
import re
import sys
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "coverage_tensorflow.md"
LEAST_VARIANTS = 3

# What the share is not taken of, the first match counts.
LEFT_OUT: dict[str, tuple[str, ...]] = {
    "data sets and input pipelines": (
        r"Dataset", r"Iterator", r"Reader", r"Queue", r"Stage$", r"Stage[A-Z]", r"^Map(?!Defun)", r"^OrderedMap",
        r"Barrier", r"Unstage", r"^RecordInput", r"MemoryCache", r"StatsAggregator", r"ThreadPool", r"^FakeQueue",
        r"WindowOp", r"CompressElement", r"UncompressElement", r"^OptionsD", r"RandomSeedGenerator",
        r"SeedGenerator", r"IterationCounter", r"^Optional", r"^GetOptions", r"^ComputeBatchSize", r"^MapDefun",
        r"FileSystem", r"GetElementAtIndex",
    ),
    "distributed computing and other devices": (
        r"TPU", r"Collective", r"Nccl", r"Xla", r"SparseCore", r"InFeed", r"Infeed", r"Outfeed", r"^Send$",
        r"^Recv$", r"AllToAll", r"CrossReplica", r"RemoteCall", r"Worker", r"Cudnn", r"Prelinearize",
        r"MultiDevice", r"Distributed", r"Replica", r"MinibatchStat", r"CheckPinned", r"^Batch$", r"^Unbatch",
        r"^BatchFunction", r"^ConvertToCoo", r"GlobalIterId", r"SyncDevice",
    ),
    "strings, files and formats": (
        r"String", r"^AsString", r"Regex", r"Unicode", r"^Substr", r"Encode", r"Decode", r"ParseTensor",
        r"SerializeTensor", r"ReduceJoin", r"SegmentJoin", r"EditDistance", r"^Parse", r"Summary", r"^Print",
        r"^Save", r"^Restore", r"File", r"MergeV2Checkpoints", r"Sharded", r"Fprint", r"Fingerprint", r"Vocab",
        r"LoadAndRemap", r"ExtractJpeg", r"erialize", r"^ImportEvent", r"^Fact$", r"ToTensorsMap",
        r"FromTensorsMap", r"^RaggedCross", r"^SparseCross", r"ImmutableConst", r"KafkaR", r"^Proto",
    ),
    "lookup tables (of strings, or filled from files)": (
        r"Table", r"TensorMap",
    ),
    "training": (
        r"Grad(?!ientArgs|ient$)", r"Apply", r"Accumulator", r"BackpropFilter", r"Dilation2DBackprop", r"Sdca",
        r"BoostedTrees", r"CandidateSampler", r"^CTCLoss", r"Kmeans", r"KMC2", r"ComputeAccidentalHits",
        r"DrawBoundingBoxes", r"SampleDistorted", r"LoadTPU", r"RetrieveTPU", r"^Gradient", r"ReluGrad",
        r"SparseSoftmaxCross", r"SoftmaxCross", r"^NegTrain", r"Skipgram", r"NearestNeighbors",
        r"^GenerateBoundingBox",
    ),
    "TensorFlow 1: reference variables, control flow and arrays": (
        r"^(Enter|Exit|Switch|Merge|NextIteration|LoopCond)$", r"^Ref[A-Z]",
        r"^(Assign|AssignAdd|AssignSub|VariableV2|Variable|IsVariableInitialized|CountUpTo|StridedSliceAssign|TemporaryVariable|DestroyTemporaryVariable|DestroyResourceOp)$",
        r"^Scatter(?!Nd$|NdNonAliasing)", r"^TensorArray", r"^Stack", r"SessionHandle", r"SessionTensor",
        r"^SymbolicGradient", r"Mutex",
    ),
    "the runtime itself: debugging, Python, timing": (
        r"^Debug", r"PyFunc", r"^Abort", r"Timestamp", r"ConsumeMutex", r"^Copy", r"_TempVar", r"^Dummy",
        r"Symbolic", r"CompositeTensorVariant", r"^PlaceholderV2", r"^Placeholder$", r"^Barrier",
        r"DisableCopyOnRead", r"^VarHandleOp", r"^FakeParam", r"^DeviceIndex",
    ),
}  # fmt: skip


def main() -> int:
    sys.path[:0] = [str(ROOT)]
    import tensorflow as tf

    agreement, table = _test_data()
    raw = [name for name in dir(tf.raw_ops) if not name.startswith("_")]
    groups: dict[str, list[str]] = {}
    counted = []
    removed = removed_operators(raw)
    for name in raw:
        group = "removed from TensorFlow's graphs" if name in removed else left_out(name)
        if group is None and not has_kernel(name):
            group = "without an implementation for CPUs in TensorFlow, so that nothing can be compared"
        if group:
            groups.setdefault(group, []).append(name)
        else:
            counted.append(name)
    passed = {name: sum(_passes(agreement, name, v) for v in table.get(name, [])) for name in raw if name in table}
    PAGE.write_text(page(counted, groups, passed), encoding="utf-8")
    return 0


def _test_data() -> tuple[Any, dict[str, Any]]:
    """The tests' comparison and their data; the folder is no package of its own."""
    import importlib

    package = types.ModuleType("tensorflow_tests")
    package.__path__ = [str(ROOT / "tests" / "frontends" / "tensorflow")]
    sys.modules[package.__name__] = package
    agreement = importlib.import_module("tensorflow_tests.agreement")
    return agreement, importlib.import_module("tensorflow_tests.variants").VARIANTS


def _passes(agreement: Any, name: str, variant: Any) -> bool:
    from ge_core.errors import GeError

    try:
        agreement.check_variant(name, variant)
    except (AssertionError, GeError) as error:
        print(f"{name}: {str(error).splitlines()[0]}", file=sys.stderr)
        return False
    return True


def left_out(name: str) -> str | None:
    """Why an operator is not counted, None when it is."""
    return next((why for why, patterns in LEFT_OUT.items() if any(re.search(p, name) for p in patterns)), None)


def has_kernel(name: str) -> bool:
    """Whether TensorFlow can run an operator on a CPU, compiled or not."""
    from tensorflow.python.framework.kernels import get_registered_kernels_for_op

    return any(k.device_type in ("CPU", "DEFAULT", "XLA_CPU_JIT") for k in get_registered_kernels_for_op(name).kernel)


def removed_operators(names: Iterable[str]) -> set[str]:
    """Operators that TensorFlow refuses to put into a graph."""
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.client import pywrap_tf_session

    known = op_def_pb2.OpList()
    known.ParseFromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    wanted = set(names)
    return {op.name for op in known.op if op.name in wanted and op.HasField("deprecation")}


def page(counted: list[str], groups: dict[str, list[str]], passed: dict[str, int]) -> str:
    """The page in Markdown."""
    from ge_frontend_tensorflow.refused import reason
    from ge_frontend_tensorflow.registry import find

    good = [n for n in counted if passed.get(n, 0) >= LEAST_VARIANTS]
    rest = [n for n in counted if n not in good]
    others = [n for names in groups.values() for n in names if passed.get(n, 0) >= LEAST_VARIANTS]
    share = 100 * len(good) / len(counted)
    total = len(counted) + sum(map(len, groups.values()))
    how = (
        "Made by `python tools/coverage_tensorflow.py`, which runs the calls of the tests. An operator counts when at "
        f"least {LEAST_VARIANTS} calls of it, of different shapes, types or attributes, agree with TensorFlow."
    )
    result = (
        f"**{len(good)} of {len(counted)} operators ({share:.0f} %)**, of {total} raw operators in all. Not counted:"
    )
    lines = ["# Coverage of TensorFlow's operators", "", how, "", result, ""]
    lines += ["| left out | operators | converted all the same |", "|---|---|---|"]
    for why, names in groups.items():
        lines.append(f"| {why} | {len(names)} | {', '.join(n for n in names if n in others) or '–'} |")
    lines += ["", "## Converted", "", ", ".join(f"{n} ({passed[n]})" for n in good), "", "## Not converted", ""]
    lines += ["| operator | reason |", "|---|---|"]
    for name in rest:
        why = "converted; too few calls agree" if find(name) is not None else reason(name)
        lines.append(f"| {name} | {why} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
