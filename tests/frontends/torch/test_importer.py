"""What a person meets when a model is imported: structure, notices, errors, weights, states."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export import Dim
from torch.nn import functional as F

from ge_core.errors import InputError, ModelImportError, SizeBoundError, UnsupportedError
from ge_core.input_spec import InputSpec
from ge_core.ir import dims
from ge_core.ir.verifier import verify
from ge_core.reference.interpret import interpret
from ge_frontend_torch.export import ImportNotice
from ge_frontend_torch.importer import import_model
from tests.frontends.torch.agreement import check, compare


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear, self.drop = nn.Linear(4, 4), nn.Dropout(0.5)

    def forward(self, x: torch.Tensor, scale: float = 2.0) -> torch.Tensor:
        return self.drop(self.linear(x)) * scale


# --- structure ----------------------------------------------------------------------------------------------------


@dataclass
class Answer:
    logits: torch.Tensor
    extra: tuple[torch.Tensor, None]


torch.utils._pytree.register_dataclass(Answer)


def test_nested_arguments_and_results() -> None:
    class Nested(nn.Module):
        def forward(self, x: torch.Tensor, pair: Any, *, mask: torch.Tensor | None = None, flag: bool = False) -> Any:
            a, rest = pair
            y = x + a + rest["b"]
            y = y if mask is None else y * mask
            return {"y": y if flag else -y, "n": None, "t": (y.sum(), [x.shape[0], 3])}

    x = torch.randn(3, 2)
    args, kwargs = (x, (x * 2, {"b": x * 3})), {"mask": torch.ones(3, 2), "flag": True}
    imported = check(Nested(), args, kwargs)
    assert imported.signature.input_names == ("x", "pair_0", "pair_1_b", "mask")
    result = imported.signature.unflatten([np.zeros(1)] * len(imported.graph.outputs))
    assert isinstance(result, dict) and list(result) == ["y", "n", "t"] and result["n"] is None
    with pytest.raises(InputError, match="flag"):
        imported.signature.flatten(args, {**kwargs, "flag": False})


def test_dataclass_results() -> None:
    class Model(nn.Module):
        def forward(self, x: torch.Tensor) -> Answer:
            return Answer(x * 2, (x, None))

    imported = check(Model(), (torch.randn(2),))
    assert imported.signature.output_names == ("output_logits", "output_extra_0")


class Pair:
    """A container that only its own class can open."""

    def __init__(self, first: torch.Tensor, second: torch.Tensor) -> None:
        self.first, self.second = first, second


torch.utils._pytree.register_pytree_node(
    Pair, lambda p: ([p.first, p.second], ["first", "second"]), lambda values, _: Pair(*values)
)


def test_containers_of_other_classes_come_back_as_dicts() -> None:
    class Model(nn.Module):
        def forward(self, x: torch.Tensor) -> Any:
            return x, Pair(x + 1, x * 2)

    imported = import_model(Model(), (torch.zeros(2),))
    result = imported.signature.unflatten(interpret(imported.graph, [np.ones(2, np.float32)])[0])
    assert isinstance(result, tuple) and list(result[1]) == ["first", "second"]
    assert result[1]["first"].tolist() == [2, 2]


def test_a_cache_as_a_result_is_refused_with_advice() -> None:
    from transformers import LlamaConfig, LlamaForCausalLM

    options = {"vocab_size": 20, "hidden_size": 8, "intermediate_size": 8}
    model = LlamaForCausalLM(LlamaConfig(**options, num_hidden_layers=1, num_attention_heads=2)).eval()
    with pytest.raises(ModelImportError, match="use_cache=False"):
        import_model(model, (torch.zeros(1, 3, dtype=torch.long),))


def test_outputs_may_repeat_and_be_inputs_or_weights() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(torch.ones(2))

        def forward(self, x: torch.Tensor) -> Any:
            y = x + 1
            return y, y, x, self.w, OrderedDict(a=y)

    check(Model(), (torch.randn(2),))


def test_arguments_by_keyword_and_position() -> None:
    imported = import_model(Small().eval(), (), {"x": torch.randn(2, 4)})
    x = torch.randn(2, 4)
    assert imported.signature.flatten((x,), {}) == [x]
    assert imported.signature.flatten((), {"x": x}) == [x]


def test_transformers_outputs() -> None:
    from transformers import BertConfig, BertModel

    config = BertConfig(vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32)
    model = BertModel(config).eval()
    ids = torch.randint(0, 50, (2, 6))
    imported = check(model, (), {"input_ids": ids}, dynamic={"input_ids": {0: Dim.AUTO, 1: Dim.AUTO}}, tolerance=1e-5)
    arrays = [ids.numpy()]
    result = imported.signature.unflatten(interpret(imported.graph, arrays)[0])
    assert type(result) is type(model(ids))
    assert result.last_hidden_state.shape == (2, 6, 16)


def test_an_exported_program() -> None:
    program = torch.export.export(Small().eval(), (torch.randn(3, 4),), dynamic_shapes=({0: Dim("n")},))
    imported = import_model(program)
    verify(imported.graph)
    compare(program.module(), imported, (torch.randn(5, 4),), {}, states=None)
    with pytest.raises(InputError, match="exported already"):
        import_model(program, dynamic_shapes=({0: Dim("n")},))


def test_an_exported_program_in_core_operators() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    x = torch.randn(2, 3, 8)
    imported = import_model(torch.export.export(layer, (x,)).run_decompositions())
    compare(layer, imported, (x,), {}, states=None, tolerance=1e-5)


def test_examples_as_arrays_and_specs() -> None:
    model = Small().eval()
    array = np.ones((2, 4), np.float32)
    assert [str(s) for s in import_model(model, (array,)).graph.inputs[0].shape] == ["2", "4"]
    imported = import_model(model, (InputSpec(("batch", 4), "float32"),))
    assert [str(s) for s in imported.graph.inputs[0].shape] == ["batch", "4"]
    compare(model, imported, (torch.randn(7, 4),), {}, states=None)


# --- dynamic dims -------------------------------------------------------------------------------------------------


def test_names_and_bounds_of_dims() -> None:
    model = Small().eval()
    imported = import_model(model, (torch.randn(3, 4),), None, {"x": {0: Dim("batch", min=2, max=8)}})
    (size,) = imported.graph.inputs[0].shape[:1]
    assert str(size) == "batch"
    (symbol,) = dims.symbols(size)
    assert (symbol.lo, symbol.hi) == (2, 8)
    by_name = import_model(model, (torch.randn(3, 4),), None, {"x": {0: "rows"}})
    assert str(by_name.graph.inputs[0].shape[0]) == "rows"
    with pytest.raises(SizeBoundError, match="batch"):
        interpret(imported.graph, [np.zeros((9, 4), np.float32)])


def test_a_dim_that_torch_fixes_is_told() -> None:
    with pytest.warns(ImportNotice, match=r"dimension 0 of the input x .* fixed it at 1"):
        import_model(Small().eval(), (torch.randn(1, 4),), None, {"x": {0: Dim.AUTO}})


# --- modes, weights and states ------------------------------------------------------------------------------------


def test_training_mode_is_restored_and_told() -> None:
    model = Small().train()
    model.linear.eval()
    with pytest.warns(ImportNotice, match="training mode"):
        imported = import_model(model, (torch.randn(2, 4),))
    assert model.training and model.drop.training and not model.linear.training
    compare(model.eval(), imported, (torch.randn(2, 4),), {}, states=None)


def test_training_forms_in_an_exported_program_are_refused() -> None:
    model = nn.Sequential(nn.BatchNorm1d(4), nn.Dropout(0.5)).train()
    program = torch.export.export(model, (torch.randn(3, 4),))
    with pytest.raises(UnsupportedError, match="training"):
        import_model(program)


def test_weights_share_memory_and_tied_ones_are_one() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed, self.head = nn.Embedding(8, 4), nn.Linear(4, 8, bias=False)
            self.head.weight = self.embed.weight
            self.narrow = nn.Parameter(torch.ones(3, dtype=torch.bfloat16))

        def forward(self, i: torch.Tensor) -> Any:
            return self.head(self.embed(i)), self.narrow * 2

    model = Tied().eval()
    imported = import_model(model, (torch.tensor([1, 2]),))
    large = [v.constant for v in imported.graph.constants if v.constant is not None and v.constant.type.rank == 2]
    assert len(large) == 1
    with torch.no_grad():
        model.embed.weight[3, 3] = 77.0
        model.narrow[1] = 5.0
    assert large[0].array()[3, 3] == 77.0
    compare(model, imported, (torch.tensor([3, 0]),), {}, states=None)


def test_models_without_values_are_imported() -> None:
    with torch.device("meta"):
        model = Small().eval()
    imported = import_model(model, (torch.randn(2, 4),))
    with pytest.raises(ModelImportError, match=r"linear.weight has no values"):
        interpret(imported.graph, [np.zeros((2, 4), np.float32)])
    with FakeTensorMode(allow_non_fake_inputs=True):
        fake = Small().eval()
    assert len(import_model(fake, (torch.randn(2, 4),)).graph.nodes) == len(imported.graph.nodes)


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros((), dtype=torch.long))
        self.register_buffer("cache", torch.zeros(4, 3), persistent=False)
        self.register_buffer("fixed", torch.ones(3))

    def forward(self, x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        self.count.add_(1)
        self.cache.index_copy_(0, at, x)
        return self.cache.sum(0) * self.count + self.fixed


def test_written_buffers_are_states() -> None:
    imported = check(Counter(), (torch.randn(1, 3), torch.tensor([2])), calls=3)
    assert [s.name for s in imported.graph.states] == ["count", "cache"]
    states = {s.name: s.initial.array() for s in imported.graph.states}
    _, after = interpret(imported.graph, [np.ones((1, 3), np.float32), np.array([0])], states)
    assert after["count"] == 1 and after["cache"][0].tolist() == [1, 1, 1]


def test_a_written_input_is_told() -> None:
    def model(x: torch.Tensor) -> torch.Tensor:
        x.add_(1)
        return x * 2

    with pytest.warns(ImportNotice, match="writes to its input"):
        imported = import_model(model, (torch.zeros(2),))
    assert interpret(imported.graph, [np.zeros(2, np.float32)])[0][0].tolist() == [2, 2]


# --- errors -------------------------------------------------------------------------------------------------------


class Odd(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 4)])

    def forward(self, x: torch.Tensor) -> Any:
        for layer in self.inner:
            x = layer(x)
            x = x + torch.linalg.eigh(x @ x.mT).eigenvalues
        y = torch.special.bessel_j0(x)
        return y + torch.rand(4), F.scaled_dot_product_attention(x, x, x, dropout_p=0.1)


def test_all_unsupported_operators_come_in_one_report() -> None:
    with pytest.raises(UnsupportedError) as caught:
        import_model(Odd().eval(), (torch.randn(4, 4),))
    error = caught.value
    assert error.what.startswith("Odd uses 3 operators")
    text = "\n".join(error.details)
    assert "linalg_eigh.default ×2" in text or "_linalg_eigh.default ×2" in text
    assert "special_bessel_j0.default ×1" in text and "rand.default ×1" in text
    line = Odd.forward.__code__.co_firstlineno
    assert f"{Path(__file__).name}:{line + 3}" in text
    assert error.fix


def test_all_unsupported_forms_come_in_one_report() -> None:
    def model(x: torch.Tensor) -> Any:
        y = F.scaled_dot_product_attention(x, x, x, dropout_p=0.1)
        return F.dropout(y, 0.5, training=True), torch.histc(x, 4)

    with pytest.raises(UnsupportedError) as caught:
        import_model(model, (torch.randn(2, 3, 4),))
    text = "\n".join(caught.value.details)
    assert "scaled_dot_product_attention" in text and "dropout.default" in text and "histc" in text


def test_an_unknown_composite_operator_is_expanded_by_torch() -> None:
    check(lambda x: torch.ops.aten.special_log_softmax(x, 1), (torch.randn(2, 3),))
    check(lambda x: F.hardtanh(torch.fliplr(x)), (torch.randn(2, 3),))


def test_untraceable_models_say_where() -> None:
    def model(x: torch.Tensor) -> torch.Tensor:
        return x + 1 if x.sum() > 0 else x - 1

    with pytest.raises(ModelImportError, match="cannot trace"):
        import_model(model, (torch.randn(2),))


def test_wrong_uses_say_what_to_do() -> None:
    with pytest.raises(InputError, match="needs example inputs"):
        import_model(Small().eval())
    with pytest.raises(ModelImportError, match="no PyTorch model"):
        import_model(3, (torch.randn(2),))
    with pytest.raises(ModelImportError, match=r"\.pt2"):
        import_model("model.pt2")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scripted = torch.jit.trace(nn.Linear(2, 2).eval(), torch.randn(1, 2))
    with pytest.raises(ModelImportError, match="TorchScript"):
        import_model(scripted, (torch.randn(1, 2),))


def test_nodes_know_their_place() -> None:
    imported = import_model(Odd2().eval(), (torch.randn(2, 4),))
    loc = next(n.loc for n in imported.graph.nodes if n.op == "Gemm")
    assert (loc.framework, loc.module, loc.op) == ("torch", "body.0", "linear.default")
    assert loc.file.endswith(Path(__file__).name)


class Odd2(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.body(x)
