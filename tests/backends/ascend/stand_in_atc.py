"""A stand-in for ATC: checks its arguments, reads the model with the checker, writes something that looks like an .om.

No real ATC was available. Environment variables steer it: GE_TEST_ATC_LOG receives its arguments, GE_TEST_ATC_FAIL
makes it complain of the first operator of that type.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

KNOWN = {
    "--framework", "--model", "--output", "--soc_version", "--precision_mode", "--input_shape", "--input_format",
    "--dynamic_batch_size", "--dynamic_dims", "--external_weight", "--insert_op_conf", "--log",
}  # fmt: skip


def main() -> int:
    given = dict(argument.split("=", 1) for argument in sys.argv[1:])
    unknown = set(given) - KNOWN
    if unknown:
        print(f"E10001: Value for {sorted(unknown)[0]} is not supported")
        return 1
    if not given["--soc_version"].startswith("Ascend") or given["--output"].endswith(".om"):
        print("E10001: wrong soc_version or output")
        return 1
    model = Path(given["--model"])
    print("ATC start working now, please wait for a moment.", flush=True)
    if given["--framework"] == "1":
        from ge_ascend.air import read_air
        from ge_ascend.check import check_file

        errors = [f for f in check_file(model, None) if f.severity == "error"]
        if errors:
            print(f"E19999: {errors[0]}")
            return 1
        failing = os.environ.get("GE_TEST_ATC_FAIL")
        if failing:
            node = next(n for n in read_air(model).graphs[0].nodes if n.type == failing)
            print(f"E19014: Op [{node.name}] type[{failing}] compile failed")
            return 255
    else:
        import onnx

        onnx.checker.check_model(onnx.load(str(model)))
    if os.environ.get("GE_TEST_ATC_LOG"):
        Path(os.environ["GE_TEST_ATC_LOG"]).write_text(json.dumps(given))
    said = b"IMOD compiled by a stand-in\n" + json.dumps(given).encode() + b"\n"
    Path(given["--output"] + ".om").write_bytes(said + model.read_bytes())
    print("ATC run success, welcome to the next use.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
