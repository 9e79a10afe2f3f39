"""Which new operator says what a legacy operator says, one line for each.

    matmul_v2 = matmul(X, Y; trans_x:transpose_x, trans_y:transpose_y) -> Out

Before the semicolon stand the new operator's operands: a parameter of the old one, `X*` for all of its variables as a
list, `@axis` for a constant made of an attribute (`@axis:int32` of that element type), and alternatives separated by
`|`, of which the first one that is there counts. Behind it stand attributes, `old:new` where the name changed, and
`=value` for fixed ones. `-attribute` is left out because it changes no value. Results: parameters of the old operator,
`_` for one that it does not have.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Source:
    """Where an operand comes from, or a result goes to: a variable, a list of them, or an attribute."""

    name: str
    form: Literal["variable", "list", "attribute"]
    dtype: str = ""


@dataclass(frozen=True)
class Entry:
    """One line of the table.

    Attributes:
        name: the new operator.
        operands: for each, the alternatives.
        attributes: old names and new ones.
        fixed: attributes of the new operator that the old one does not have.
        dropped: attributes of the old one that change no value.
        results: the old parameters, in the order of the new results.
    """

    name: str
    operands: Sequence[Sequence[Source]]
    attributes: Mapping[str, str]
    fixed: Mapping[str, Any]
    dropped: frozenset[str]
    results: Sequence[Source]


_NO_EFFECT = re.compile(
    r"op_\w+|with_quant_attr|use_(cudnn|mkldnn|onednn|quantizer)|mkldnn_data_type|workspace_size_MB|"
    r"exhaustive_search|place_type|force_cpu|\w*threshold|quantization_type|skip_quant|bit_length|"
    r"Scale_\w+|Input_scale|Output_scale|force_fp32_output|fuse_\w+|is_test|dataformat|data_format|data_layout|"
    r"__\w+__|name|x_data_format|y_data_format|use_addto|use_cinn"
)


def has_no_effect(name: str, value: Any) -> bool:
    """Whether an attribute that an entry does not name can be left out: it is unset, or only tools read it."""
    return not value or value in (-1, [-1]) or _NO_EFFECT.fullmatch(name) is not None


def _same(*names: str) -> str:
    return "\n".join(f"{name} = {name}(X) -> Out" for name in names)


_UNARY = _same(
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "digamma", "erf", "erfinv", "exp",
    "expm1", "floor", "lgamma", "log", "log10", "log1p", "log2", "logsigmoid", "reciprocal", "relu", "rsqrt", "sigmoid",
    "sign", "silu", "sin", "sinh", "softsign", "sqrt", "square", "tan", "tanh", "tanh_shrink", "trunc", "bitwise_not",
    "logical_not", "assign", "share_data", "inverse", "is_empty", "rint",
)  # fmt: skip

_PAIRS = "\n".join(
    f"{old} = {new}(X, Y; axis) -> Out"
    for old, new in {
        "elementwise_add": "add", "elementwise_sub": "subtract", "elementwise_mul": "multiply",
        "elementwise_div": "divide", "elementwise_max": "maximum", "elementwise_min": "minimum",
        "elementwise_pow": "elementwise_pow", "elementwise_mod": "remainder", "elementwise_floordiv": "floor_divide",
        "elementwise_fmax": "fmax", "elementwise_fmin": "fmin", "equal": "equal", "not_equal": "not_equal",
        "less_than": "less_than", "less_equal": "less_equal", "greater_than": "greater_than",
        "greater_equal": "greater_equal",
    }.items()
)  # fmt: skip

_REDUCTIONS = "\n".join(
    f'reduce_{kind} = legacy_reduce(X; dim, keep_dim:keepdim, reduce_all, out_dtype:dtype, kind="{kind}", '
    "-in_dtype) -> Out"
    for kind in ("sum", "mean", "max", "min", "prod", "any", "all", "amax", "amin")
)

_CONVOLUTIONS = "\n".join(
    f"{old} = {old}(Input, Filter; strides, paddings, padding_algorithm, dilations, groups, data_format, "
    "-Scale_in, -Scale_out) -> Output"
    for old in ("conv2d", "depthwise_conv2d", "conv3d")
)

_TRANSPOSED = "\n".join(
    f"{old} = {old}(Input, Filter, @output_size; strides, paddings, output_padding, padding_algorithm, groups, "
    "dilations, data_format) -> Output"
    for old in ("conv2d_transpose", "depthwise_conv2d_transpose")
)

_INTERPOLATIONS = "\n".join(
    f"{kind}_interp{suffix} = {kind}_interp(X, OutSize, SizeTensor*, Scale; data_layout:data_format, out_d, out_h, "
    "out_w, scale, interp_method, align_corners, align_mode) -> Out"
    for kind in ("linear", "bilinear", "trilinear", "bicubic", "nearest")
    for suffix in ("", "_v2")
)

_LINES = f"""
{_UNARY}
{_PAIRS}
{_REDUCTIONS}
{_CONVOLUTIONS}
{_TRANSPOSED}
{_INTERPOLATIONS}
conv3d_transpose = conv3d_transpose(Input, Filter; strides, paddings, output_padding, output_size, padding_algorithm, groups, dilations, data_format) -> Output
deformable_conv = deformable_conv(Input, Offset, Filter, Mask; strides, paddings, dilations, deformable_groups, groups, im2col_step) -> Output
logical_and = logical_and(X, Y) -> Out
logical_or = logical_or(X, Y) -> Out
logical_xor = logical_xor(X, Y) -> Out
bitwise_and = bitwise_and(X, Y) -> Out
bitwise_or = bitwise_or(X, Y) -> Out
bitwise_xor = bitwise_xor(X, Y) -> Out
relu6 = relu6(X; threshold) -> Out
gelu = gelu(X; approximate) -> Out
swish = swish(X; beta) -> Out
mish = mish(X; threshold:lambda) -> Out
hard_swish = hardswish(X; threshold, scale, offset) -> Out
hard_sigmoid = hardsigmoid(X; slope, offset) -> Out
hard_shrink = hardshrink(X; threshold) -> Out
brelu = hardtanh(X; t_min, t_max) -> Out
softshrink = softshrink(X; lambda:threshold) -> Out
thresholded_relu = thresholded_relu(X; threshold) -> Out
softplus = softplus(X; beta, threshold) -> Out
elu = elu(X; alpha) -> Out
celu = celu(X; alpha) -> Out
selu = selu(X; scale, alpha) -> Out
leaky_relu = leaky_relu(X; alpha:negative_slope) -> Out
prelu = prelu(X, Alpha; mode, data_format) -> Out
maxout = maxout(X; groups, axis) -> Out
stanh = stanh(X; scale_a, scale_b) -> Out
logit = logit(X; eps) -> Out
pow = pow(X; factor:y) -> Out
scale = scale(X, ScaleTensor|@scale; bias, bias_after_scale) -> Out
clip = clip(X, Min|@min, Max|@max) -> Out
cast = cast(X; out_dtype:dtype, -in_dtype) -> Out
round = round(X) -> Out
isnan_v2 = isnan(X) -> Out
isinf_v2 = isinf(X) -> Out
isfinite_v2 = isfinite(X) -> Out
softmax = softmax(X; axis) -> Out
log_softmax = log_softmax(X; axis) -> Out
dropout = dropout(X, Seed, @dropout_prob; is_test, dropout_implementation:mode, seed, fix_seed) -> Out, Mask
batch_norm = batch_norm(X, Mean, Variance, Scale, Bias; is_test, momentum, epsilon, data_layout:data_format, use_global_stats, trainable_statistics) -> Y, MeanOut, VarianceOut, SavedMean, SavedVariance, ReserveSpace
sync_batch_norm = batch_norm(X, Mean, Variance, Scale, Bias; is_test, momentum, epsilon, data_layout:data_format, use_global_stats, trainable_statistics) -> Y, MeanOut, VarianceOut, SavedMean, SavedVariance, ReserveSpace
layer_norm = layer_norm(X, Scale, Bias; epsilon, begin_norm_axis) -> Y, Mean, Variance
instance_norm = instance_norm(X, Scale, Bias; epsilon) -> Y, SavedMean, SavedVariance
group_norm = group_norm(X, Scale, Bias; epsilon, groups, data_layout:data_format) -> Y, Mean, Variance
norm = norm(X; axis, epsilon, is_test) -> Out, Norm
p_norm = p_norm(X; porder, axis, epsilon, keepdim, asvector) -> Out
frobenius_norm = frobenius_norm(X, @dim; keep_dim, reduce_all) -> Out
lrn = lrn(X; n, k, alpha, beta, data_format) -> Out, MidOut
affine_channel = affine_channel(X, Scale, Bias; data_layout) -> Out
pool2d = pool2d(X, @ksize; strides, paddings, ceil_mode, exclusive, data_format, pooling_type, global_pooling, adaptive, padding_algorithm) -> Out
pool3d = pool3d(X; ksize:kernel_size, strides, paddings, ceil_mode, exclusive, data_format, pooling_type, global_pooling, adaptive, padding_algorithm) -> Out
max_pool2d_with_index = max_pool2d_with_index(X; ksize:kernel_size, strides, paddings, global_pooling, adaptive, ceil_mode) -> Out, Mask
max_pool3d_with_index = max_pool3d_with_index(X; ksize:kernel_size, strides, paddings, global_pooling, adaptive, ceil_mode) -> Out, Mask
matmul_v2 = matmul(X, Y; trans_x:transpose_x, trans_y:transpose_y) -> Out
matmul = matmul(X, Y; transpose_X:transpose_x, transpose_Y:transpose_y, alpha) -> Out
mul = matmul_with_flatten(X, Y; x_num_col_dims, y_num_col_dims) -> Out
bmm = bmm(X, Y) -> Out
mv = mv(X, Vec) -> Out
dot = dot(X, Y) -> Out
addmm = addmm(Input, X, Y; Alpha:alpha, Beta:beta) -> Out
fc = fc(Input, W, Bias; in_num_col_dims, activation_type) -> Out
einsum = einsum(Operands*; equation) -> Out
kron = kron(X, Y) -> Out
cross = cross(X, Y; dim:axis) -> Out
cholesky = cholesky(X; upper) -> Out
determinant = det(Input) -> Out
trace = trace(Input; offset, axis1, axis2) -> Out
dist = dist(X, Y; p) -> Out
logsumexp = logsumexp(X; axis, keepdim, reduce_all) -> Out
squared_l2_norm = squared_l2_norm(X) -> Out
mean = mean_all(X) -> Out
arg_max = argmax(X, @axis; keepdims, flatten, dtype) -> Out
arg_min = argmin(X, @axis; keepdims, flatten, dtype) -> Out
cumsum = cumsum(X, @axis; flatten, exclusive, reverse) -> Out
cumprod = cumprod(X; dim, exclusive, reverse) -> Out
logcumsumexp = logcumsumexp(X; axis, flatten, exclusive, reverse) -> Out
argsort = argsort(X; axis, descending, stable) -> Out, Indices
top_k_v2 = topk(X, K|@k; axis, largest, sorted) -> Out, Indices
top_k = topk(X, K|@k) -> Out, Indices
kthvalue = kthvalue(X; k, axis, keepdim) -> Out, Indices
searchsorted = searchsorted(SortedSequence, Values; out_int32, right) -> Out
unique = unique(X; return_index, return_inverse, return_counts, axis, dtype, is_sorted) -> Out, Indices, Index, Counts
reshape2 = reshape(X, ShapeTensor*|Shape|@shape) -> Out, XShape
reshape = reshape(X, ShapeTensor*|Shape|@shape) -> Out
transpose2 = transpose(X; axis:perm) -> Out, XShape
transpose = transpose(X; axis:perm) -> Out
squeeze2 = squeeze(X, @axes) -> Out, XShape
squeeze = squeeze(X, @axes) -> Out
unsqueeze2 = unsqueeze(X, AxesTensorList*|AxesTensor|@axes) -> Out, XShape
unsqueeze = unsqueeze(X, AxesTensorList*|AxesTensor|@axes) -> Out
flatten_contiguous_range = flatten(X; start_axis, stop_axis) -> Out, XShape
flatten2 = legacy_flatten(X; axis) -> Out, XShape
flatten = legacy_flatten(X; axis) -> Out
concat = concat(X*, AxisTensor|@axis) -> Out
stack = stack(X*; axis) -> Y
split = legacy_split(X, SectionsTensorList*|@sections, AxisTensor|@axis; num) -> Out*
unbind = unbind(X; axis) -> Out*
unstack = unstack(X; axis, num) -> Y*
tile = tile(X, repeat_times_tensor*|RepeatTimes|@repeat_times) -> Out
expand_v2 = expand(X, expand_shapes_tensor*|Shape|@shape) -> Out
expand_as_v2 = expand_as(X, Y; target_shape) -> Out
expand = tile(X, expand_times_tensor*|ExpandTimes|@expand_times) -> Out
slice = slice(Input, StartsTensor|StartsTensorList*|@starts, EndsTensor|EndsTensorList*|@ends; axes, infer_flags, decrease_axis) -> Out
strided_slice = legacy_strided_slice(Input, StartsTensor|StartsTensorList*|@starts, EndsTensor|EndsTensorList*|@ends, StridesTensor|StridesTensorList*|@strides; axes, infer_flags, decrease_axis) -> Out
crop_tensor = crop(X, Shape|ShapeTensor*|@shape, Offsets|OffsetsTensor*|@offsets) -> Out
flip = flip(X; axis) -> Out
reverse = reverse(X, @axis) -> Out
roll = roll(X, ShiftsTensor|@shifts; axis) -> Out
tril_triu = legacy_tril_triu(X; diagonal, lower) -> Out
diag_v2 = diag(X; offset, padding_value) -> Out
diag_embed = diag_embed(Input; offset, dim1, dim2) -> Out
diagonal = diagonal(Input; offset, axis1, axis2) -> Out
pad3d = pad3d(X, Paddings|@paddings; mode, value:pad_value, data_format) -> Out
pad2d = legacy_pad2d(X, Paddings|@paddings; mode, pad_value, data_format) -> Out
pad = pad(X; paddings, pad_value) -> Out
pixel_shuffle = pixel_shuffle(X; upscale_factor, data_format) -> Out
pixel_unshuffle = pixel_unshuffle(X; downscale_factor, data_format) -> Out
channel_shuffle = channel_shuffle(X; groups, data_format) -> Out
shuffle_channel = shuffle_channel(X; group) -> Out
temporal_shift = temporal_shift(X; seg_num, shift_ratio, data_format) -> Out
unfold = unfold(X; kernel_sizes, strides, paddings, dilations) -> Y
fold = fold(X; output_sizes, kernel_sizes, strides, paddings, dilations) -> Y
im2sequence = im2sequence(X, Y; kernels, strides, paddings, out_stride) -> Out
shape = shape(Input) -> Out
size = numel(Input) -> Out
meshgrid = meshgrid(X*) -> Out*
gather = gather(X, Index, Axis|@axis) -> Out
gather_nd = gather_nd(X, Index) -> Out
index_select = index_select(X, Index; dim:axis) -> Out
index_sample = index_sample(X, Index) -> Out
take_along_axis = take_along_axis(Input, Index; Axis:axis) -> Result
put_along_axis = put_along_axis(Input, Index, Value; Axis:axis, Reduce:reduce) -> Result
scatter = scatter(X, Ids, Updates; overwrite) -> Out
scatter_nd_add = scatter_nd_add(X, Index, Updates) -> Out
masked_select = masked_select(X, Mask) -> Y
where = where(Condition, X, Y) -> Out
where_index = nonzero(Condition) -> Out
lookup_table_v2 = embedding(Ids, W; padding_idx, -is_sparse, -is_distributed, -remote_prefetch, -entry_config, -table_names, -height_sections, -epmap, -trainer_id, -entry) -> Out
lookup_table = lookup_table(W, Ids; padding_idx, -is_sparse, -is_distributed, -remote_prefetch, -entry_config, -table_names, -height_sections, -epmap, -trainer_id, -entry, -table_class) -> Out
one_hot_v2 = one_hot(X, depth_tensor|@depth; -dtype, -allow_out_of_range) -> Out
sum = add_n(X*) -> Out
increment = increment(X; step:value) -> Out
fill_constant = legacy_fill_constant(ShapeTensor|ShapeTensorList*|@shape, ValueTensor; value, str_value, dtype) -> Out
fill_constant_batch_size_like = full_batch_size_like(Input; shape, value, dtype, input_dim_idx, output_dim_idx, -str_value) -> Out
fill_any_like = full_like(X, @value; dtype) -> Out
fill_zeros_like = zeros_like(X) -> Out
assign_value = legacy_assign_value(; shape, dtype, fp32_values, int32_values, int64_values, bool_values, values) -> Out
range = arange(Start, End, Step) -> Out
linspace = linspace(Start, Stop, Num; dtype) -> Out
eye = eye(@num_rows, @num_columns; dtype) -> Out
gaussian_random = gaussian(ShapeTensor|ShapeTensorList*|@shape; mean, std, seed, dtype) -> Out
uniform_random = uniform(ShapeTensor|ShapeTensorList*|@shape, @min, @max; seed, dtype, -diag_num, -diag_step, -diag_val) -> Out
grid_sampler = grid_sample(X, Grid; mode, padding_mode, align_corners) -> Output
affine_grid = affine_grid(Theta, OutputShape|@output_shape; align_corners) -> Output
rnn = rnn(Input, PreState*, WeightList*, SequenceLength, _; is_bidirec, hidden_size, num_layers, mode, is_test, dropout_prob, input_size, seed) -> Out, DropoutState, State*, Reserve
roi_align = roi_align(X, ROIs, RoisNum; pooled_height, pooled_width, spatial_scale, sampling_ratio, aligned) -> Out
yolo_box = yolo_box(X, ImgSize; anchors, class_num, conf_thresh, downsample_ratio, clip_bbox, scale_x_y, iou_aware, iou_aware_factor) -> Boxes, Scores
prior_box = prior_box(Input, Image; min_sizes, max_sizes, aspect_ratios, variances, flip, clip, step_w, step_h, offset, min_max_aspect_ratios_order) -> Boxes, Variances
anchor_generator = anchor_generator(Input; anchor_sizes, aspect_ratios, variances, stride, offset) -> Anchors, Variances
box_coder = box_coder(PriorBox, PriorBoxVar, TargetBox; code_type, box_normalized, axis, variance) -> OutputBox
box_clip = box_clip(Input, ImInfo) -> Output
multiclass_nms3 = multiclass_nms3(BBoxes, Scores, RoisNum; score_threshold, nms_top_k, keep_top_k, nms_threshold, normalized, nms_eta, background_label) -> Out, Index, NmsRoisNum
label_smooth = label_smooth(X, PriorDist; epsilon) -> Out
write_to_array = legacy_write_to_array(Out, X, I) -> Out
read_from_array = array_read(X, I) -> Out
lod_array_length = array_length(X) -> Out
tensor_array_to_tensor = array_to_tensor(X; axis, use_stack) -> Out, OutIndex
memcpy = memcpy(X; -dst_place_type) -> Out
set_value = legacy_set_value(Input, ValueTensor, StartsTensorList*|@starts, EndsTensorList*|@ends, StepsTensorList*|@steps; axes, decrease_axes, none_axes, shape, dtype, fp32_values, int32_values, int64_values, bool_values, fp64_values, values) -> Out
"""  # noqa: E501


def _source(text: str) -> Source:
    name, _, dtype = text.removeprefix("@").partition(":")
    if text.startswith("@"):
        return Source(name, "attribute", dtype)
    return Source(name.rstrip("*"), "list" if name.endswith("*") else "variable")


_LINE = re.compile(r"(\w+) = (\w+)\(([^;]*?)(?:;(.*))?\) -> (.*)")


def _entry(line: str) -> tuple[str, Entry]:
    parsed = _LINE.fullmatch(line)
    if parsed is None:
        raise ValueError(f"{line!r} is no entry")
    old, new, operands, attributes, results = parsed.groups()
    renamed: dict[str, str] = {}
    fixed: dict[str, Any] = {}
    dropped = set()
    for word in filter(None, (w.strip() for w in (attributes or "").split(","))):
        if word.startswith("-"):
            dropped.add(word[1:])
        elif "=" in word:
            name, _, value = word.partition("=")
            fixed[name] = json.loads(value)
        else:
            theirs, _, ours = word.partition(":")
            renamed[theirs] = ours or theirs
    places = [
        [_source(choice.strip()) for choice in operand.split("|")] for operand in operands.split(",") if operand.strip()
    ]
    return old, Entry(
        new, places, renamed, fixed, frozenset(dropped), [_source(result.strip()) for result in results.split(",")]
    )


TABLE: Mapping[str, Entry] = dict(_entry(line.strip()) for line in _LINES.splitlines() if line.strip())
"""The entries by the legacy operator's name."""
