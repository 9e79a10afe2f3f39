"""Why operators are not supported, by their names."""

from __future__ import annotations

import re

_REASONS = (
    (r"Quantized|Requantiz|UniformQuant|UniformDequant", "an operator of TensorFlow's old quantised kernels"),
    (r"String|AsString|Regex|Unicode|Substr|Encode|Decode|ParseTensor|SerializeTensor|ReduceJoin|SegmentJoin|EditDist",
     "strings and files are not supported"),
    (r"Table|Vocab", "lookup tables are not supported"),
    (r"Dataset|Iterator|Parse|Record", "data sets are not part of inference"),
    (r"^(Enter|Exit|Switch|Merge|NextIteration|LoopCond|Ref)", "control flow of TensorFlow 1; use control flow v2"),
    (r"Sparse|Ragged|CSR", "sparse and ragged tensors are not supported"),
    (r"Grad|Backprop", "gradients are not part of inference"),
    (r"Apply|Accumulat", "training is not supported"),
    (r"Queue|Stack|Stage|Barrier|Mutex|Session|Temporary", "a resource of TensorFlow's runtime"),
    (r"Summary|Print|Debug", "writes a log"),
    (r"PyFunc|RemoteCall|Send|Recv", "runs code outside of the model"),
    (r"TPU|Collective|Nccl|Cross|AllToAll", "distributed computing is not supported"),
    (r"Random|Sampl|Multinomial|Rng|Truncated", "random numbers of this kind are not supported"),
)  # fmt: skip


def reason(name: str) -> str:
    """Why the operator `name` is not supported."""
    for pattern, text in _REASONS:
        if re.search(pattern, name):
            return text
    return "no conversion is known"
