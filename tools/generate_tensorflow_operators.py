"""Writes frontends/tensorflow/ge_frontend_tensorflow/operators.json: the signatures of TensorFlow's raw operators.

    python tools/generate_tensorflow_operators.py

For each operator the names of its arguments and results (`values:N` stands for as many tensors as the attribute N
says, `args:Tin` for one for each type in the attribute Tin) and its attributes with their defaults; files leave out
attributes that have their default. Operators with Grad in their name, of data sets, devices and the like are left out.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "frontends" / "tensorflow" / "ge_frontend_tensorflow" / "operators.json"
LEFT_OUT = re.compile(
    r"Dataset|TPU|Collective|Sdca|BoostedTrees|Summary|Reader|Iterator|Queue|Nccl|^Experimental|SparseCore|Barrier|"
    r"Accumulator|^(Resource)?(Sparse)?Apply|Stage$|Stage[A-Z]|^Map(?!Defun)|^OrderedMap|XlaSparse|Infeed|Outfeed|"
    r"MemoryCache|^Debug|Cudnn(?!RNNV3)|CandidateSampler|QuantizedConv2D.+|QuantizedDepthwise|QuantizedMatMulWith|"
    r"^_(?!FusedConv2D|FusedMatMul|FusedBatchNormEx|SwitchN)"
)


def plain(value: Any) -> Any:
    """An attribute's default as JSON; element types are {"type": number}."""
    kind = value.WhichOneof("value")
    if kind == "s":
        return value.s.decode("latin-1")
    if kind in ("i", "f", "b"):
        return getattr(value, kind)
    if kind == "type":
        return {"type": value.type}
    if kind == "shape":
        return {"shape": None if value.shape.unknown_rank else [d.size for d in value.shape.dim]}
    if kind == "list":
        found: list[Any] = [*value.list.i, *value.list.f, *value.list.b]
        found += [s.decode("latin-1") for s in value.list.s]
        found += [{"type": t} for t in value.list.type]
        return found
    return {"kind": kind}


def arguments(described: Any) -> list[str]:
    """The names of an operator's arguments or results, with the attribute that says how many they are."""
    return [f"{a.name}:{a.number_attr or a.type_list_attr}".rstrip(":") for a in described]


def main() -> int:
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.client import pywrap_tf_session

    known = op_def_pb2.OpList()
    known.ParseFromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    rows = []
    for op in sorted(known.op, key=lambda op: op.name):
        if LEFT_OUT.search(op.name):
            continue
        attributes = {
            a.name: [a.type, *([plain(a.default_value)] if a.HasField("default_value") else [])] for a in op.attr
        }
        row = [arguments(op.input_arg), arguments(op.output_arg), attributes]
        rows.append(f"{json.dumps(op.name)}: {json.dumps(row, separators=(',', ':'))}")
    TABLE.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
