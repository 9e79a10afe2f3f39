"""Writes docs/coverage_paddle.md: which operators of Paddle's dialect pd_op are converted and agree with Paddle.

    python tools/coverage_paddle.py            write the page
    python tools/coverage_paddle.py --check    run all variants first; an operator that fails one is not counted

The list of operators comes from the headers of the installed paddlepaddle, the variants from
tests/frontends/paddle/variants. An operator counts with at least three variants that agree with Paddle.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "coverage_paddle.md"
_HEADERS = ("pd_op.h", "manual_op.h", "control_flow_op.h")
_NAME = re.compile(r'static const char \*name\(\) \{ return "pd_op\.(\w+)"')

# What is no operator of an inference program, or none that Paddle's package for CPUs could be compared in.
GROUPS: dict[str, tuple[str, str]] = {
    "gradients": ("operators of training: gradients", r".*_grad_?|.*_bwd|.*_bwd_\w+"),
    "optimisers": (
        "operators of training: optimisers, their scales and averages, losses of sampled classes",
        (r"ada\w+_|adam\w*_?|asgd_|lamb\w*_|lars_momentum_|merged_\w+_|momentum_|nadam_|radam_|rmsprop_|rprop_|sgd_|"
        r"decayed_adagrad|dpsgd|ftrl|sparse_momentum|fused_adam_|average_accumulates_|check_finite_and_unscale_|"
        r"update_loss_scaling_|dgc\w*|distributed_fused_lamb_init|class_center_sample|nce|hsigmoid_loss|"
        r"margin_cross_entropy|warpctc|warprnnt|yolo_loss|cal_aux_loss|sync_batch_norm_|coalesce_tensor|"
        r"fused_bn_add_activation|fused_batch_norm_act|fused_dconv_drelu_dbn|fused_scale_bias_relu_conv_bn|"
        r"moving_average_abs_max_scale|fake_quantize_range_abs_max|fake_quantize\w*_moving_average_abs_max|"
        r"fake_quantize_dequantize_moving_average_abs_max|shuffle_batch|tdm_sampler|resnet_unit|resnet_basic_block"),
    ),
    "distributed": (
        "operators of several devices: collectives, experts, parameter servers",
        (r"all_gather|all_reduce|all_to_all|barrier|broadcast|c_\w+|comm_init_all|global_gather|global_scatter|"
        r"mp_allreduce_sum|partial_(allgather|recv|send)|recv_v2|reduce|reduce_scatter|send_v2|sync_\w+_stream|"
        r"moe_\w+|number_count|limit_by_capacity|prune_gate_by_capacity|random_routing|assign_pos|"
        r"build_src_rank_and_local_expert_id|expand_modality_expert_id|pyramid_hash|rank_attention|"
        r"lookup_table_dequant|tdm_child|cvm"),
    ),
    "sparse": (
        "sparse tensors and selected rows, which have programs of their own",
        r".*_(coo|csr)(_\w+)?|.*_sp_?|.*_sr_?|.*selected_rows",
    ),
    "devices": (
        "operators without a kernel in Paddle's package for CPUs: Paddle gives no value to compare with",
        (r".*_xpu|.*xpu.*|flash\w*|fused_(act_dequant|attention|bias_act|bias_dropout_residual_layer_norm|"
        r"conv2d_add_act|dot_product_attention|dropout_add|embedding_eltwise_layernorm|fc_elementwise_layernorm|"
        r"feedforward|gate_attention|gemm_epilogue|moe\w*|multi_transformer\w*|partial_rope|rms_norm_ext|"
        r"rotary_position_embedding|scale_bias_add_relu|stack_\w+|swiglu\w*|token_prune|transpose_\w+|"
        r"weighted_swiglu_act_quant)|fp8_\w+|fast_\w+|"
        r"block_multihead_attention_|blha_get_max_len|masked_multihead_attention_|multihead_matmul|"
        r"memory_efficient_attention|variable_length_memory_efficient_attention|qkv_\w+|"
        r"sparse_attention|fusion_group|fusion_transpose_flatten_concat|gemm_epilogue|batched_gemm|"
        r"apply_per_channel_scale|add_group_norm_silu|llm_int8_linear|weight_only_linear|weight_dequantize|"
        r"max_pool2d_v2|depthwise_conv[23]d_bias|conv2d_transpose_bias|squeeze_excitation_block|skip_layernorm|"
        r"ap_\w+|cuda_graph|tensorrt_engine|calc_reduced_attn_scores|yolo_box_(head|post)|top_p_sampling|"
        r"restrict_nonzero|int_bincount|rms_norm|onednn_to_paddle_layout|fused_softmax_mask_upper_triangle"),
    ),
    "plumbing": (
        "what the executor and Paddle's tools put into programs that run, not into stored ones",
        (r"feed|shadow_feed\w*|memcpy\w*|copy_to|load_combine|save_combine|share_var|nop|depend|print|npu_identity|"
        r"(enable|disable)_check_model_nan_inf|accuracy_check|check_numerics|seed|read_file|decode_jpeg|set|"
        r"select_(input|output)|legacy_\w+|write_to_array|as_strided|index_select_strided|view_\w+|index_elementwise_\w+"),
    ),
    "ragged": (
        "operators on rows of different lengths (LoD), which today's programs do not have",
        (r"sequence_(conv|expand|pool|softmax)|lod_\w+|beam_search\w*|attention_lstm|gru|lstm|cudnn_lstm|fusion_gru|"
        r"fusion_lstm|fusion_seq\w+|fused_seqpool_cvm|fused_embedding_fc_lstm|im2sequence_lod|row_conv|"
        r"chunk_eval|match_matrix_tensor|faster_tokenizer|hash|batch_fc|ctc_align_lod|edit_distance|crf_decoding"),
    ),
}  # fmt: skip


def dialect() -> list[str]:
    """All operators of the dialect, from the headers of the installed package.

    Raises:
        SystemExit: paddlepaddle is not installed, or has no headers.
    """
    spec = find_spec("paddle")
    folders = list(spec.submodule_search_locations or ()) if spec is not None else []
    root = Path(folders[0]) / "include/paddle/fluid/pir/dialect/operator/ir" if folders else None
    if root is None or not (root / _HEADERS[0]).is_file():
        raise SystemExit("paddlepaddle with its headers is needed")
    return sorted({name for header in _HEADERS for name in _NAME.findall((root / header).read_text("utf-8"))})


def grouped(names: Sequence[str]) -> tuple[list[str], dict[str, list[str]]]:
    """The operators that are asked for, and the others by group; an in-place form counts as its functional one."""
    every = set(names)
    wanted: list[str] = []
    others: dict[str, list[str]] = {group: [] for group in GROUPS}
    for name in names:
        group = next((g for g, (_, pattern) in GROUPS.items() if re.fullmatch(pattern, name)), None)
        if name.endswith("_") and name[:-1] in every:
            continue
        if group is None:
            wanted.append(name)
        else:
            others[group].append(name)
    return wanted, others


def page(failing: Sequence[str] = ()) -> str:
    """The page's text."""
    from ge_frontend_paddle.registry import find
    from tests.frontends.paddle.variants.tables import VARIANTS

    wanted, others = grouped(dialect())
    tested = {name.rstrip("_") for name, variants in VARIANTS.items() if len(variants) >= 3 and name not in failing}
    counted = [name for name in wanted if name.rstrip("_") in tested]
    converted = [name for name in wanted if name not in counted and find(name) is not None]
    missing = [name for name in wanted if name not in counted and name not in converted]
    beyond = [name for names in others.values() for name in names if name.rstrip("_") in tested]
    share = 100 * len(counted) / len(wanted)
    lines = [
        "# Operators of Paddle",
        "",
        "Made by `tools/coverage_paddle.py` from the headers of paddlepaddle and from the variants that the tests run.",
        "An operator counts when at least three variants of it (element types, ranks, sizes, modes) agree with Paddle",
        "on the reference target; its in-place form (`relu_`) counts with it.",
        "",
        (
            f"**{len(counted)} of {len(wanted)} operators of the dialect pd_op ({share:.0f} %)**, without the groups "
            f"at the end of this page; {len(beyond)} of those agree too."
        ),
        "",
        "## Agree with Paddle",
        "",
        ", ".join(f"{name} ({_variants(name, VARIANTS)})" for name in counted),
        "",
        "In brackets: the number of variants.",
        "",
        "## Converted, not counted",
        "",
        "Random tensors, and operators that Paddle's API gives no way to call with three variants.",
        "",
        ", ".join(converted) or "none",
        "",
        "## Not converted",
        "",
        ", ".join(missing),
        "",
        "## Not asked for",
        "",
    ]
    for group, (what, _) in GROUPS.items():
        names = others[group]
        shown = f"{len(names)} operators" if group in ("gradients", "sparse") else ", ".join(names)
        lines += [f"**{what}** ({len(names)}): {shown}.", ""]
    return "\n".join(lines).rstrip() + "\n"


def _variants(name: str, table: Mapping[str, Sequence[object]]) -> int:
    plain = name.rstrip("_")
    return len(table.get(plain, ())) + len(table.get(f"{plain}_", ()))


def failures() -> list[str]:
    """Operators with a variant that does not agree with Paddle."""
    from tests.frontends.paddle.agreement import check_variants
    from tests.frontends.paddle.variants.tables import VARIANTS

    found = []
    for name, variants in VARIANTS.items():
        try:
            check_variants(variants)
        except Exception as error:  # noqa: BLE001  whatever a variant raises, it does not agree
            print(f"{name}: {str(error)[:200]}", file=sys.stderr)
            found.append(name)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args(arguments)
    sys.path[:0] = [str(ROOT)]
    failing = failures() if given.check else []
    PAGE.write_text(page(failing), encoding="utf-8")
    return 1 if failing else 0


if __name__ == "__main__":
    sys.exit(main())
