"""What a person does in the first hour with ge and PyTorch, each with the right result or a good message."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import bench.zoo_torch  # noqa: F401  declares torchvision's operators, without which transformers fails
import ge_core
from ge_core.errors import GeError, InputError, ModelImportError, OfflineModelError, UnsupportedError

TARGET = "reference"


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 3)
        self.norm = nn.BatchNorm1d(3)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: torch.Tensor, scale: torch.Tensor | None = None) -> torch.Tensor:
        y = self.dropout(self.norm(self.linear(x)))
        return y if scale is None else y * scale


@pytest.fixture
def net() -> Net:
    torch.manual_seed(0)
    module = Net()
    module.norm.running_mean.normal_()
    return module.eval()


@pytest.fixture
def x() -> torch.Tensor:
    return torch.randn(2, 4, generator=torch.Generator().manual_seed(1))


def test_a_module_left_in_training_mode(net: Net, x: torch.Tensor) -> None:
    with torch.no_grad():
        expected = net(x)
    net.train()
    with pytest.warns(UserWarning, match="training mode"):
        compiled = ge_core.compile(net, (x,), target=TARGET)
    torch.testing.assert_close(compiled(x), expected)
    assert net.training and net.dropout.training


def test_weights_edited_after_compiling(net: Net, x: torch.Tensor) -> None:
    compiled = ge_core.compile(net, (x,), target=TARGET)
    before = compiled(x)
    with torch.no_grad():
        net.linear.weight.zero_()
        net.norm.bias.fill_(7)
    torch.testing.assert_close(compiled(x), before, rtol=0, atol=0)


def test_a_model_on_meta(x: torch.Tensor) -> None:
    with torch.device("meta"):
        module = Net().eval()
    compiled = ge_core.compile(module, (torch.empty(2, 4, device="meta"),), target=TARGET)
    assert "6 weights have no values" in str(compiled.report)
    for use in (lambda: compiled(x), lambda: compiled.save("never.om")):
        with pytest.raises(GeError, match="no values") as caught:
            use()
        assert "meta" in str(caught.value) and caught.value.fix


def test_outputs_of_transformers() -> None:
    import transformers

    config = transformers.BertConfig(
        vocab_size=50, hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64
    )
    model = transformers.BertModel(config).eval()
    ids = torch.randint(0, 50, (2, 7))
    with torch.no_grad():
        expected = model(input_ids=ids)
    got = ge_core.compile(model, kwargs={"input_ids": ids}, target=TARGET)(input_ids=ids)
    assert type(got) is type(expected)
    torch.testing.assert_close(got.last_hidden_state, expected.last_hidden_state, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(got["pooler_output"], expected["pooler_output"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda m, x: m(x[:, :3]), ["x", "4"]),
        (lambda m, x: m(x[0]), ["x", "rank"]),
        (lambda m, x: m(x.double()), ["x", "float32"]),
        (lambda m, x: m(x.numpy().astype(np.int64)), ["x", "float32"]),
        (lambda m, x: m(), ["x"]),
        (lambda m, x: m(x, x), ["scale", "not given when the model was compiled"]),
        (lambda m, x: m(y=x), ["'x' is missing"]),
        (lambda m, x: m("an image"), ["str"]),
    ],
)
def test_a_wrong_call_is_named(net: Net, x: torch.Tensor, call, words: list[str]) -> None:
    compiled = ge_core.compile(net, (x,), target=TARGET)
    with pytest.raises(InputError) as caught:
        call(compiled, x)
    for word in words:
        assert word in str(caught.value)


def test_numpy_in_gives_numpy_out(net: Net, x: torch.Tensor) -> None:
    compiled = ge_core.compile(net, (x,), target=TARGET)
    result = compiled(np.asfortranarray(x.numpy()))
    assert isinstance(result, np.ndarray)
    np.testing.assert_allclose(result, net(x).detach().numpy(), rtol=1e-5, atol=1e-6)


def test_an_unsupported_operator_in_the_middle(x: torch.Tensor) -> None:
    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y = torch.special.bessel_j0(self.first(x))
            return torch.special.bessel_j1(y).relu()

    with pytest.raises(UnsupportedError) as caught:
        ge_core.compile(Odd().eval(), (x,), target=TARGET)
    text = str(caught.value)
    assert "bessel_j0" in text and "bessel_j1" in text
    assert "test_first_hour.py" in text
    assert caught.value.fix


def test_ctrl_c_while_compiling(tmp_path: Path) -> None:
    script = (
        "import signal, torch, ge_core\n"
        # a job in the background inherits that interrupts are ignored
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "net = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(6000)]).eval()\n"
        "print('ready', flush=True)\n"
        f"ge_core.compile(net, (torch.ones(1, 64),), target={TARGET!r}).save('net.om')\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "ready\n"
    for _ in range(60):  # torch drops an interrupt that comes in a callback: a person presses the keys again
        threading.Event().wait(1.0)
        if process.poll() is not None:
            break
        process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode in (-signal.SIGINT, 1, 130)
    assert "KeyboardInterrupt" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["notes.txt", "net.onnx", "net.pt2", "net.pt", "folder", "nothing.onnx", "net.om"])
def test_a_path_that_is_no_model(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "folder":
        path.mkdir()
    elif name != "nothing.onnx":
        path.write_bytes(b"this is no model")
    with pytest.raises(ModelImportError) as caught:
        ge_core.compile(str(path), target=TARGET)
    assert name in str(caught.value)
    with pytest.raises(OfflineModelError):
        ge_core.load(path)


def test_a_pipe_and_a_device_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.om")
    os.mkfifo(tmp_path / "pipe.onnx")
    for path in (tmp_path / "pipe.om", tmp_path / "pipe.onnx", Path("/dev/zero")):
        with pytest.raises(OfflineModelError, match="regular file"):
            ge_core.load(path)
        with pytest.raises(ModelImportError, match="regular file"):
            ge_core.compile(str(path), target=TARGET)


def test_an_object_that_is_no_model() -> None:
    for thing in (42, None, {"weights": 1}, object()):
        with pytest.raises(ModelImportError):
            ge_core.compile(thing, target=TARGET)


def test_two_threads_calling_at_once(net: Net) -> None:
    batches = [torch.randn(n, 4) for n in (1, 2, 5, 9)]
    compiled = ge_core.compile(
        net, (batches[1],), target=TARGET, dynamic_shapes=({0: torch.export.Dim("batch", min=1, max=16)},)
    )
    expected = [net(b).detach() for b in batches]
    wrong: list[str] = []

    def work(index: int) -> None:
        for _ in range(50):
            if not torch.allclose(compiled(batches[index]), expected[index], atol=1e-5):
                wrong.append(f"thread {index}")

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(batches))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_saving_to_a_full_disk_keeps_the_old_file(
    net: Net, x: torch.Tensor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = ge_core.compile(net, (x,), target=TARGET)
    path = tmp_path / "net.om"
    compiled.save(path)
    old = path.read_bytes()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OfflineModelError, match="No space left"):
        compiled.save(path)
    assert path.read_bytes() == old
    assert [p.name for p in tmp_path.iterdir()] == ["net.om"]


def test_saving_where_nothing_can_be_written(net: Net, x: torch.Tensor, tmp_path: Path) -> None:
    compiled = ge_core.compile(net, (x,), target=TARGET)
    for place in (tmp_path / "missing" / "net.om", tmp_path, Path("/proc/net.om")):
        with pytest.raises(OfflineModelError):
            compiled.save(place)
