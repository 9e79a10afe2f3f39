"""The words of our graphs in GE's messages: operator types that carry structure, and attributes that GE lacks.

| message | attribute | holds |
|---|---|---|
| ModelDef | ge.format | version of this form |
| | ge.entries | names of the entry graphs; entry i is graph[i], the graphs after them are regions |
| | ge.metadata | what the caller stores, as JSON |
| | ge.outline | of each entry the types, layouts and places of its constants, as JSON; for `outline` |
| GraphDef | ge.graph, ge.stage | name of the entry's graph, and its stage |
| | ge.symbols | symbols of the entry as JSON [[name, low, high or null], ...] |
| OpDef | ge.domain | `ai.onnx`, `ge` or a plugin's; absent on the structural operators below |
| | ge.loc | framework, module, file, line, operator of the user's model |
| | ge.regions, ge.inputs | region names beside subgraph_name; how many of the inputs are no captures |
| | ge.exact | attribute values that AttrDef cannot hold exactly, as JSON |
| | ge.role | on Data: input, param or capture |
| | ge.state, ge.write | on RefData: name of the state; what is written at the end of a call |
| TensorDescriptor | ge.dtype | name of an element type that GE cannot number |
| | ge.shape | text of each size of a shape that has symbolic ones |
| | ge.container | seq and optional around the tensor, outermost first |
| | ge.content, ge.layout | known elements as text; storage layout as JSON |
"""

from __future__ import annotations

FORMAT_VERSION = 1

FORMAT = "ge.format"
ENTRIES = "ge.entries"
METADATA = "ge.metadata"
OUTLINE = "ge.outline"

GRAPH = "ge.graph"
STAGE = "ge.stage"
SYMBOLS = "ge.symbols"

DOMAIN = "ge.domain"
ONNX_DOMAIN = "ai.onnx"
LOCATION = "ge.loc"
REGIONS = "ge.regions"
SCHEMA_INPUTS = "ge.inputs"
EXACT = "ge.exact"
ROLE = "ge.role"
STATE = "ge.state"
STATE_WRITE = "ge.write"

DTYPE = "ge.dtype"
SHAPE = "ge.shape"
CONTAINER = "ge.container"
CONTENT = "ge.content"
LAYOUT = "ge.layout"

# GE's own words
SHAPE_RANGE = "shape_range"
VALUE = "value"
INDEX = "index"
PARENT_INDEX = "_parent_node_index"
DATA, CONST, REF_DATA, NET_OUTPUT = "Data", "Const", "RefData", "NetOutput"
UNKNOWN_DIM, UNKNOWN_RANK = -1, -2
SOC_VERSION = "soc_version"
WEIGHT_SIZE = "weight_size"
PARTITION_SIZES = "om_info_list"  # weights, TBE kernels, custom AI CPU kernels, tasks, packed libraries

INPUT, PARAM, CAPTURE = "input", "param", "capture"

MAX_REGION_DEPTH = 60
"""As in the text form."""
