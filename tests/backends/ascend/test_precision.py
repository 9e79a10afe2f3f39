"""Precision modes, types that a chip or a kernel lacks, and what is reported of them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from ge_ascend.chips import CHIPS
from ge_ascend.precision import MODES, policy_of
from ge_ascend.predict import beyond_range, difference, rounded

from ge_core.errors import OptionError
from ge_core.ir import Builder, Graph, Location
from ge_core.ir.dtype import float16, float32
from ge_core.reference.interpret import interpret
from tests.backends.ascend.roundtrip import back, graph_of, lowered, same, types


def net() -> Graph:
    """A product, an addition and a softmax."""
    return graph_of(
        lambda b, x, w: b.Softmax(b.Add(b.MatMul(x, w), 0.5), axis=-1), ("float32", (4, 8)), ("float32", (8, 5))
    )


def dtypes(mode: str, target: str = "ascend910b") -> dict[str, str]:
    """The element type of each operator's result."""
    found = lowered(net(), target, mode)
    assert not found.problems
    return {
        op.type: str(op.outs[0].value.dtype) for op in found.program.ops() if op.type not in ("Data", "Const", "Cast")
    }


@pytest.mark.parametrize(
    ("mode", "product", "add", "softmax"),
    [
        ("must_keep_origin_dtype", "float32", "float32", "float32"),
        ("origin", "float32", "float32", "float32"),
        ("force_fp16", "float16", "float16", "float16"),
        ("fp16", "float16", "float16", "float16"),
        ("cube_fp16in_fp32out", "float32", "float32", "float32"),
        ("allow_fp32_to_fp16", "float16", "float32", "float32"),
        ("mixed_float16", "float16", "float16", "float16"),
        ("mixed_bfloat16", "bfloat16", "bfloat16", "bfloat16"),
    ],
)
def test_a_mode_decides_the_types(mode: str, product: str, add: str, softmax: str) -> None:
    form = "MatMulV2" if mode == "cube_fp16in_fp32out" else "MatMulV3"
    assert dtypes(mode) == {form: product, "Add": add, "SoftmaxV2": softmax}


def test_mixed_precision_keeps_what_the_kernels_list_says_must_stay() -> None:
    graph = graph_of(lambda b, x, w: b.ReduceSum(b.MatMul(x, w), b.ints(1)), ("float32", (4, 8)), ("float32", (8, 5)))
    found = lowered(graph, mode="mixed_float16")
    types = {op.type: str(op.outs[0].value.dtype) for op in found.program.ops()}
    assert (types["MatMulV3"], types["ReduceSum"]) == ("float16", "float32")


def test_half_operands_with_a_wide_result_are_rounded_once() -> None:
    graph = net()
    found = lowered(graph, "ascend310p", "cube_fp16in_fp32out")
    product = next(op for op in found.program.ops() if op.type == "MatMulV2")
    assert [str(out.value.dtype) for _, out in product.inputs] == ["float16", "float16"]
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(shape).astype(np.float32) for shape in ((4, 8), (8, 5)))
    (got,) = interpret(back(found, "ascend310p"), [x, w])[0]
    halves = x.astype(np.float16).astype(np.float32), w.astype(np.float16).astype(np.float32)
    (want,) = interpret(graph, list(halves))[0]
    np.testing.assert_allclose(got, want, atol=1e-6)


def test_a_chip_without_a_float32_cube_refuses_to_keep_it() -> None:
    graph = Graph("net")
    b = Builder(graph)
    x = b.input("x", "float32", (4, 8))
    with b.at(Location("torch", "head", "model.py", 7, "linear")):
        b.outputs(b.MatMul(x, b.constant(np.ones((8, 5), np.float32))))
    (problem,) = lowered(graph, "ascend310p", "must_keep_origin_dtype").problems
    assert "MatMul in float32: the cube unit of ascend310p takes float16" in str(problem)
    assert "model.py:7" in str(problem) and "force_fp16" in str(problem)


def test_the_default_is_the_least_loss_that_the_chip_can_do() -> None:
    assert policy_of(None, CHIPS["ascend310p"]).mode == "force_fp16"
    assert policy_of(None, CHIPS["ascend910a"]).mode == "force_fp16"
    assert policy_of(None, CHIPS["ascend910b"]).mode == "must_keep_origin_dtype"


@pytest.mark.parametrize("mode", [m for m, (_, low) in MODES.items() if str(low) == "bfloat16"])
def test_a_bfloat16_mode_is_refused_by_chips_without_it(mode: str) -> None:
    for target in ("ascend310p", "ascend910a"):
        with pytest.raises(OptionError, match=f"needs bfloat16, which {target} has not"):
            policy_of(mode, CHIPS[target])


def test_an_unknown_mode_names_the_nearest() -> None:
    with pytest.raises(OptionError, match="did you mean 'force_fp16'"):
        policy_of("forced_fp16", CHIPS["ascend910b"])
    with pytest.raises(OptionError, match="needs hifloat8"):
        policy_of("mixed_hif8", CHIPS["ascend910b"])


def test_bfloat16_is_refused_or_mapped_where_the_chip_lacks_it() -> None:
    graph = graph_of(lambda b, x: b.Tanh(x), ("bfloat16", (3, 4)))
    problem = lowered(graph, "ascend310p").problems[0]
    assert "bfloat16, which ascend310p has not" in str(problem) and "bfloat16='float16'" in str(problem)
    assert not lowered(graph, "ascend910b").problems


def test_bfloat16_inside_a_model_becomes_what_the_option_says() -> None:
    graph = graph_of(lambda b, x: b.Cast(b.Tanh(b.Cast(x, to="bfloat16")), to="float32"), ("float32", (3, 4)))
    found = lowered(graph, "ascend310p", bfloat16_as=float16)
    assert any("bfloat16 becomes float16" in line for line in found.notes.lines())
    x = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
    (got,) = interpret(back(found, "ascend310p"), [x])[0]
    np.testing.assert_allclose(got, np.tanh(x.astype(np.float16).astype(np.float32)), atol=1e-3)


def test_float64_becomes_float32_and_comes_back() -> None:
    graph = graph_of(lambda b, x: b.MatMul(x, x), ("float64", (4, 4)))
    found = same(graph, mode="cube_fp16in_fp32out", tolerance=2e-2)
    assert any("float64 becomes float32" in line for line in found.notes.lines())


def test_integers_that_a_kernel_lacks_are_computed_in_others_and_reported() -> None:
    graph = graph_of(lambda b, x, y: b.ge.FloorMod(x, b.Add(y, 1)), ("uint8", (3, 4)), ("uint8", (3, 4)))
    found = same(graph)
    assert any("FloorMod runs in int32 instead of uint8" in line for line in found.notes.lines())


def test_constants_beyond_half_precision_become_its_largest_number() -> None:
    graph = graph_of(
        lambda b, x, m: b.Softmax(b.Where(m, x, b.constant(np.float32(-3.4e38)))), ("float32", (2, 4)), ("bool", (2, 4))
    )
    found = lowered(graph, "ascend310p", "force_fp16")
    assert any(line.startswith("clipped") for line in found.notes.lines())
    x, m = np.ones((2, 4), np.float32), np.array([[1, 1, 0, 0], [1, 0, 0, 0]], bool)
    (got,) = interpret(back(found, "ascend310p"), [x, m])[0]
    np.testing.assert_allclose(got, [[0.5, 0.5, 0, 0], [1, 0, 0, 0]], atol=1e-3)


def test_bfloat16_runs_natively_where_the_chip_has_it() -> None:
    graph = graph_of(lambda b, x: b.Add(b.MatMul(x, x), x), ("bfloat16", (4, 4)))
    found = lowered(graph)
    assert {str(op.outs[0].value.dtype) for op in found.program.ops() if op.type != "Const"} == {"bfloat16"}
    x = np.eye(4).astype(ml_dtypes.bfloat16)
    (got,) = interpret(back(found), [x])[0]
    np.testing.assert_array_equal(got.astype(np.float32), 2 * np.eye(4))


def test_weights_in_bfloat16_are_cast_from_float32_constants() -> None:
    """No prototype gives Const bfloat16."""
    weight = np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32)
    graph = graph_of(lambda b, x: b.MatMul(x, b.constant(weight)), ("float32", (3, 8)))
    found = same(graph, mode="mixed_bfloat16", tolerance=2e-2)
    kept = [op.outs[0].value.dtype for op in found.program.ops() if op.type == "Const"]
    assert kept == [float32] and "Cast" in types(found)


def test_values_out_of_range_are_named() -> None:
    graph = graph_of(lambda b, x: [b.Mul(b.Mul(x, 1e5), 1e-5), b.Mul(b.Mul(x, 1e-6), 2.0)], ("float32", (2, 3)))
    told = beyond_range(graph, [np.full((2, 3), 2.0, np.float32)], float16)
    assert told.startswith("out of the range of float16: 1 results up to 2.0e+05, first Mul")
    assert "2 results of at most 4.0e-06, first Mul" in told
    assert beyond_range(graph_of(lambda b, x: b.Neg(x), ("float32", (2,))), [np.ones(2, np.float32)], float16) == ""


@pytest.mark.parametrize("mode", ["force_fp16", "mixed_float16"])
def test_rounding_every_stored_tensor_gives_what_the_file_computes(mode: str) -> None:
    weight = np.random.default_rng(0).standard_normal((8, 4)).astype(np.float32)
    graph = graph_of(lambda b, x: b.Tanh(b.MatMul(x, b.constant(weight))), ("float32", (3, 8)))
    x = np.random.default_rng(1).standard_normal((3, 8)).astype(np.float32)
    policy = policy_of(mode, CHIPS["ascend310p"])
    (predicted,), _ = interpret(rounded(graph, policy), [x])
    (exact,), _ = interpret(graph, [x])
    (stored,), _ = interpret(back(lowered(graph, "ascend310p", mode), "ascend310p"), [x])
    error, expected = difference(stored, exact), difference(predicted, exact)
    assert 1e-5 < expected < 2e-3 and expected / 2 < error < 2 * expected


def test_another_size_or_infinity_is_a_difference_of_all() -> None:
    ones = np.ones(3)
    assert difference(ones[:2], ones) == difference(np.array([1, 1, np.inf]), ones) == 1.0
    assert difference(ones * 1.5, ones * 2) == 0.25
