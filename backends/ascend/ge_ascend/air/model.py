"""An AIR file as plain data, as far as it could be understood; nothing is checked yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

FORMATS: tuple[str, ...] = (
    "NCHW", "NHWC", "ND", "NC1HWC0", "FRACTAL_Z", "NC1C0HWPAD", "NHWC1C0", "FSR_NCHW", "FRACTAL_DECONV", "C1HWNC0",
    "FRACTAL_DECONV_TRANSPOSE", "FRACTAL_DECONV_SP_STRIDE_TRANS", "NC1HWC0_C04", "FRACTAL_Z_C04", "CHWN",
    "FRACTAL_DECONV_SP_STRIDE8_TRANS", "HWCN", "NC1KHKWHWC0", "BN_WEIGHT", "FILTER_HWCK", "HASHTABLE_LOOKUP_LOOKUPS",
    "HASHTABLE_LOOKUP_KEYS", "HASHTABLE_LOOKUP_VALUE", "HASHTABLE_LOOKUP_OUTPUT", "HASHTABLE_LOOKUP_HITS",
    "C1HWNCoC0", "MD", "NDHWC", "FRACTAL_ZZ", "FRACTAL_NZ", "NCDHW", "DHWCN", "NDC1HWC0", "FRACTAL_Z_3D", "CN",
    "NC", "DHWNC", "FRACTAL_Z_3D_TRANSPOSE", "FRACTAL_ZN_LSTM", "FRACTAL_Z_G", "RESERVED", "ALL", "NULL",
    "ND_RNN_BIAS", "FRACTAL_ZN_RNN", "NYUV", "NYUV_A", "NCL", "FRACTAL_Z_WINO", "C1HWC0",
)  # fmt: skip
"""Names of formats by number."""

UNKNOWN_RANK = (-2,)


@dataclass(frozen=True)
class TensorDesc:
    """A tensor descriptor.

    Attributes:
        dtype: number of the proto enumeration.
        shape: -1 for a size that is known at run time, (-2,) for an unknown rank.
        ranges: (low, high) per axis, high -1 without a limit; empty when not given.
        sizes: our text of each size, where a file of ours gives it.
    """

    name: str
    dtype: int
    shape: tuple[int, ...]
    layout: str = ""
    ranges: tuple[tuple[int, int], ...] = ()
    sizes: tuple[str, ...] = ()
    attrs: dict[str, Any] = field(default_factory=dict, compare=False, hash=False)


@dataclass
class AirNode:
    """One operator.

    Attributes:
        inputs: per slot (source node, source output), None for a slot that is left open.
        controls: nodes that must run before.
        input_ports, output_ports: port names per slot as the file gives them; empty texts where it does not.
        attrs: decoded attributes; `kinds` says in which field each was stored.
        broken: attributes that hold nothing or mix types, with what is wrong.
    """

    name: str
    type: str
    inputs: list[tuple[str, int] | None] = field(default_factory=list)
    controls: list[str] = field(default_factory=list)
    input_ports: list[str] = field(default_factory=list)
    output_ports: list[str] = field(default_factory=list)
    input_descs: list[TensorDesc] = field(default_factory=list)
    output_descs: list[TensorDesc] = field(default_factory=list)
    attrs: dict[str, Any] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)
    graphs: list[str] = field(default_factory=list)


@dataclass
class AirGraph:
    """One graph; `outputs` is what GraphDef.output names, empty when a NetOutput says it."""

    name: str
    nodes: list[AirNode] = field(default_factory=list)
    outputs: list[tuple[str, int]] = field(default_factory=list)


@dataclass
class AirModel:
    """A whole file; graphs[0] is the root.

    Attributes:
        folder: where files of weights beside it are looked for.
    """

    name: str
    graphs: list[AirGraph] = field(default_factory=list)
    attrs: dict[str, Any] = field(default_factory=dict)
    source: str = ""
    folder: str = "."
