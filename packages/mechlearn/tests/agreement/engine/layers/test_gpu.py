"""The Triton kernel: its arithmetic in Triton's interpreter, and on a GPU where there is one."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn

import oracles
from mechlearn.agreement import Agreement, AndMask, GeometricMean
from mechlearn.agreement.engine import forward
from mechlearn.agreement.engine.layers import gpu
from mechlearn.agreement.engine.sums import RunningSums

KERNELS = Path(__file__).parents[2] / "kernels"
needs_triton = pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")


def test_importing_mechlearn_imports_no_triton():
    program = "import sys, mechlearn.agreement, mechlearn.agreement.engine.layers.gpu; assert 'triton' not in sys.modules"
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True)


@pytest.mark.parametrize("needs", [AndMask.needs, GeometricMean.needs])
def test_tensors_on_a_cpu_stay_with_torch(needs):
    ones = torch.ones(2, device="cpu")
    assert not gpu.usable(RunningSums(ones, needs), ones)


@needs_triton
def test_arithmetic_in_the_interpreter():
    path = os.pathsep.join([*filter(None, sys.path)])
    environment = os.environ | {"PYTHONPATH": path, "TRITON_INTERPRET": "1"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(KERNELS / "in_interpreter.py")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if "only 0-dimensional arrays can be converted" in done.stderr:
        pytest.skip("numpy 2.4 refuses a conversion that this Triton's interpreter makes (triton-lang/triton, issue 9171)")
    assert done.returncode == 0, done.stderr
    assert "sums" in done.stdout


@needs_triton
@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
@pytest.mark.parametrize(
    ("layer", "shape"),
    [(nn.Linear(70, 66), (3, 70)), (nn.Conv2d(8, 16, 3, 2, 1), (8, 9, 9)), (nn.Conv1d(8, 16, 3, groups=2), (8, 20))],
    ids=["linear", "conv2d", "conv1d"],
)
def test_on_a_gpu(layer, shape, monkeypatch):
    monkeypatch.setattr(forward, "SMALL", 0)  # gradients of small matrices would never come to the kernel
    generator = torch.Generator().manual_seed(0)
    for parameter in layer.parameters():
        parameter.data = torch.randint(-2, 3, parameter.shape, generator=generator).double()
    ids = torch.arange(8) // 2
    x = torch.randint(-2, 3, (8, *shape), generator=generator).double()

    def loss(output, _):
        return (output**2).flatten(1).sum(1)

    stacks = oracles.stacked_gradients(layer.double(), loss, x, x, ids)
    layer.float().cuda().zero_grad()
    with Agreement(layer, AndMask(0.5)) as agreement:
        record = agreement.backward(loss(layer(x.float().cuda()), None), ids)
    assert set(record.paths.values()) == {"layer"}
    for name, parameter in layer.named_parameters():
        gradient, _ = oracles.combine("and-mask", stacks[name], "0.5")
        assert torch.equal(parameter.grad.cpu().double(), gradient.cpu())
