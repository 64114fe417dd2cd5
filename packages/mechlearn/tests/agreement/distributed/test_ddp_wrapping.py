"""What one gloo process is enough to see: an `Agreement`'s model in DistributedDataParallel, and a world of one environment."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from mechlearn.agreement import Agreement, AndMask, Mean
from mechlearn.agreement.distributed.ddp import combine_across_ranks


@pytest.fixture
def process_group(tmp_path):
    distributed.init_process_group("gloo", store=distributed.FileStore(str(tmp_path / "store"), 1), rank=0, world_size=1)
    yield
    distributed.destroy_process_group()


def make():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 6), nn.ReLU(), nn.Linear(6, 1))


@pytest.mark.usefixtures("process_group")
def test_plain_training_through_the_wrapper_is_unaffected():
    x = torch.randn(8, 5, generator=torch.Generator().manual_seed(1))
    model, twin = make(), make()
    with Agreement(model, AndMask()):
        wrapped = DistributedDataParallel(model)
        for _ in range(2):
            wrapped(x).square().mean().backward()
            twin(x).square().mean().backward()
    for a, b in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad)


@pytest.mark.usefixtures("process_group")
def test_agreement_inside_no_sync():
    x, ids = torch.randn(8, 5, generator=torch.Generator().manual_seed(1)), [0, 0, 0, 0, 1, 1, 1, 1]
    model, twin = make(), make()
    wrapped = DistributedDataParallel(model)
    with Agreement(model, Mean()) as agreement, wrapped.no_sync():
        for _ in range(2):
            agreement.backward(wrapped(x).square()[:, 0], ids)
            twin(x).square().mean().backward()
    for a, b in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad)


@pytest.mark.usefixtures("process_group")
def test_a_single_environment_is_warned_of_unless_it_is_said_to_be_meant():
    model = make()
    model(torch.randn(8, 5, generator=torch.Generator().manual_seed(1))).square().mean().backward()
    with pytest.warns(UserWarning, match=r"nothing to agree on.*environments=1"):
        combine_across_ranks(model, AndMask(1.0))
    combine_across_ranks(model, AndMask(1.0), environments=1)


ENDS = """
from pathlib import Path
import torch
from torch import distributed
from mechlearn.agreement import AndMask
from mechlearn.agreement.distributed.ddp import combine_across_ranks

def threads():
    return [name.read_text().strip() for name in Path("/proc/self/task").glob("*/comm")]

distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
model = torch.nn.Linear(2, 1)
model(torch.ones(3, 2)).sum().backward()
combine_across_ranks(model, AndMask(), environments=1)
torch.optim.Adam(model.parameters()).step()
during = threads()
distributed.destroy_process_group()
print(sum("gloo" in name for name in during), sum("gloo" in name for name in threads()))
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted in /proc")
def test_no_thread_of_the_group_outlives_it():
    ended = subprocess.run([sys.executable, "-c", ENDS], capture_output=True, text=True, timeout=240, check=True)
    during, after = map(int, ended.stdout.split())
    assert during > 0
    assert after == 0
