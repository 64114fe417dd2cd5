"""`Agreement` over a wrapped or sharded model: every rank holds what one process with all environments would."""

import re

import pytest
import torch

import distributed_doors as doors
import distributed_workers as workers
from cpu_alone import ON_A_GPU
from mechlearn.agreement import Agreement

WORLD = 2

pytestmark = pytest.mark.skipif(ON_A_GPU, reason="a CPU's own: ranks that meet through gloo")


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    return workers.run(doors.automatic, WORLD, tmp_path_factory.mktemp("ranks"))


def one_process(rule):
    model = workers.make()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    agreement, survivors, gradients = Agreement(model, rule), [], []
    for _ in range(doors.STEPS):
        optimizer.zero_grad()
        for rank in range(WORLD):
            combine = agreement.backward if rank == WORLD - 1 else agreement.accumulate
            x, y, site = doors.batch(workers.several(WORLD, rank))
            record = combine(workers.losses(model, x, y), site)
        survivors.append(list(record.survivors.values()))
        gradients.append([p.grad.clone() for p in model.parameters()])
        optimizer.step()
    return survivors, gradients, [p.detach() for p in model.parameters()]


@pytest.mark.parametrize("rule", doors.RULES)
@pytest.mark.parametrize("wrap", [wrap.__name__ for wrap in doors.WRAPPINGS])
def test_ranks_train_as_one_process_does(ranks, wrap, rule):
    survivors, gradients, weights = one_process(doors.RULES[rule])
    assert any(0 < share < 1 for share in survivors[0])
    (first, *_), (second, *_) = (found["trained"][wrap, rule] for found in ranks)
    assert first == second == survivors
    for found in ranks:
        _, formed, left = found["trained"][wrap, rule]
        for step, expected in zip(formed, gradients, strict=True):
            for gradient, one in zip(step, expected, strict=True):
                assert torch.equal(gradient != 0, one != 0)
                torch.testing.assert_close(gradient, one, rtol=1e-9, atol=1e-12)
        for parameter, one in zip(left, weights, strict=True):
            torch.testing.assert_close(parameter, one, rtol=1e-9, atol=1e-12)
    alike = zip(ranks[0]["trained"][wrap, rule][2], ranks[1]["trained"][wrap, rule][2], strict=True)
    assert all(torch.equal(one, other) for one, other in alike)


REFUSED = {
    "no_sync": r"ValueError: `backward` should be called where ranks synchronise.*Found it inside no_sync\(\).*`accumulate`",
    "one environment on two ranks": r"ValueError: An environment should be whole on one rank\. Found 7 on ranks \[0, 1\]",
    "static": r"ValueError: .*Found static_graph=True",
    "batch norm": r"ValueError: .*Found a SyncBatchNorm in train mode",
    "half": r"ValueError: All of `model` should be wrapped.*Found '1\.0\.weight' outside of it",
    "fsdp1": r"ValueError: .*FullyShardedDataParallel.*Use torch\.distributed\.fsdp\.fully_shard \(FSDP2\)",
    "tensor parallel": r"ValueError: .*Found '0\.weight', a DTensor.*Train data-parallel",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_combined_is_said_on_every_rank(ranks, name):
    for found in ranks:
        assert re.search(REFUSED[name], found["refused"][name]), found["refused"][name]


def test_an_error_of_one_rank_ends_the_others(ranks):
    said = [found["refused"]["one rank fails"] for found in ranks]
    assert re.match(r"RuntimeError: Every rank should form.*Found an error on ranks \[1\]", said[0])
    assert re.match(r"ValueError: .*(finite|NaN)", said[1])


def test_the_hook_masks_whole_gradients_or_refuses(ranks):
    for found in ranks:
        without, kept, once, again, inside = found["accumulated"]
        assert re.match(r"RuntimeError: A gradient should be masked when it is whole.*inside no_sync\(\)", without)
        assert kept
        assert once == again == 2.25
        assert inside == 0.0  # 6 and -0.5
