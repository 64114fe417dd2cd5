"""`Agreement` over a wrapped or sharded model: every rank holds what one process with all environments would."""

import functools
import itertools
import os
import re

import pytest
import torch

import distributed_doors as doors
import distributed_workers as workers
import oracles
from cpu_alone import ON_A_GPU
from held_oracles import whole_gradients
from mechlearn.agreement import Agreement
from mechlearn.agreement.statistics import gradient_statistics

WORLDS = sorted({1, 2, int(os.environ.get("MECHLEARN_RANKS", "2"))})
"""On how many ranks; the processes of a number are started once, for all of its cells."""

pytestmark = pytest.mark.skipif(ON_A_GPU, reason="a CPU's own: ranks that meet through gloo")


@pytest.fixture(scope="module")
def started(tmp_path_factory):
    return functools.cache(lambda world: workers.run(doors.automatic, world, tmp_path_factory.mktemp("ranks")))


@pytest.fixture
def ranks(started):
    return started(2)


def one_process(rule, world):
    model = workers.make()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    agreement, shares, gradients = Agreement(model, rule), [], []
    for _ in range(doors.STEPS):
        optimizer.zero_grad()
        for rank in range(world):
            combine = agreement.backward if rank == world - 1 else agreement.accumulate
            x, y, site = doors.batch(workers.several(world, rank))
            record = combine(workers.losses(model, x, y), site)
        shares.append(list(record.share_by_parameter.values()))
        gradients.append([p.grad.clone() for p in model.parameters()])
        optimizer.step()
    return shares, gradients, [p.detach() for p in model.parameters()]


@pytest.mark.parametrize("rule", doors.RULES)
@pytest.mark.parametrize("wrap", [wrap.__name__ for wrap in doors.WRAPPINGS])
@pytest.mark.parametrize("world", WORLDS)
def test_ranks_train_as_one_process_does(started, world, wrap, rule):
    shares, gradients, weights = one_process(doors.RULES[rule], world)
    assert any(0 < share < 1 for share in shares[0])
    trained = [found["trained"][wrap, rule] for found in started(world)]
    for found, formed, left in trained:
        assert found == shares
        for step, expected in zip(formed, gradients, strict=True):
            for gradient, one in zip(step, expected, strict=True):
                assert torch.equal(gradient != 0, one != 0)
                torch.testing.assert_close(gradient, one, rtol=1e-9, atol=1e-12)
        for parameter, one, first in zip(left, weights, trained[0][2], strict=True):
            torch.testing.assert_close(parameter, one, rtol=1e-9, atol=1e-12)
            assert torch.equal(parameter, first)


@pytest.mark.parametrize("wrap", [wrap.__name__ for wrap in doors.WRAPPINGS])
@pytest.mark.parametrize("world", WORLDS)
def test_environments_that_are_dealt_out_over_ranks_and_calls(started, world, wrap):
    model, calls = workers.make(), []
    for rank in range(world):
        for call in range(2):
            x, y, site = doors.dealt(rank, world, call)
            calls.append((workers.losses(model, x, y), site))
    stacks = whole_gradients(calls, list(model.parameters()))
    means = {e: torch.cat([losses[ids == e] for losses, ids in calls]).mean() for e in range(4)}
    ranks = [found["held"][wrap] for found in started(world)]
    assert sorted(itertools.chain(*(ids for _, _, ids, _, _ in ranks))) == [0, 1, 2, 3]
    for gradients, shares, ids, losses, said in ranks:
        assert shares == ranks[0][1]
        torch.testing.assert_close(losses, torch.stack([means[e] for e in ids]).detach())
        mixed = r"ValueError: Every rank should pass `hold` in a step, or none\. Found it on ranks \[0\] alone"
        assert re.match("no error" if world == 1 else mixed, said)
        for one, first, stack in zip(gradients, ranks[0][0], stacks, strict=True):
            assert torch.equal(one, first)
            torch.testing.assert_close(one, oracles.combine("and-mask", stack, "0.6")[0], rtol=1e-9, atol=1e-12)


REFUSED = {
    "no_sync": r"ValueError: `backward` should be called where ranks synchronise.*Found it inside no_sync\(\).*`accumulate`",
    "one environment on two ranks": r"ValueError: An environment should be whole on one rank\. Found 7 on ranks \[0, 1\]",
    "static": r"ValueError: .*Found static_graph=True",
    "batch norm": r"ValueError: .*Found a SyncBatchNorm in train mode",
    "half": r"ValueError: All of `model` should be wrapped.*Found '1\.0\.weight' outside of it",
    "fsdp1": r"ValueError: .*FullyShardedDataParallel.*Use torch\.distributed\.fsdp\.fully_shard \(FSDP2\)",
    "fsdp1 watched": r"ValueError: .*FullyShardedDataParallel.*Use torch\.distributed\.fsdp\.fully_shard \(FSDP2\)",
    "tensor parallel": r"ValueError: .*Found '0\.weight', a DTensor.*Train data-parallel",
}


@pytest.mark.parametrize("wrap", ["wrapper", "shards", "layers"])
def test_a_watched_rank_sees_its_own_rows_and_trains_the_same(ranks, wrap):
    for rank, found in enumerate(ranks):
        first, _, weights, unwatched = found["watched"][wrap]
        model = workers.make()
        x, y, site = doors.batch(workers.several(2, rank))
        torch.testing.assert_close(first, gradient_statistics(model, workers.losses(model, x, y), site).norms)
        assert all(torch.equal(one, other) for one, other in zip(weights, unwatched, strict=True))


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_combined_is_said_on_every_rank(ranks, name):
    for found in ranks:
        assert re.search(REFUSED[name], found["refused"][name]), found["refused"][name]


def test_leaves_outside_of_the_model_are_refused_on_every_rank(ranks):
    for found in ranks:
        for said in found["refused"]["a part"]:
            assert re.match(r"ValueError: Losses on several ranks should depend on the model's parameters alone", said), said


def test_a_rank_that_failed_in_a_micro_batch_ends_the_step_of_all(ranks):
    (first, waited), (failed, later) = (found["refused"]["out of step"] for found in ranks)
    assert first == "no error"
    assert re.match(r"ValueError: .*(finite|NaN)", failed)
    assert re.match(r"RuntimeError: Every rank should form.*Found an error on ranks \[1\]", waited)
    assert re.match(r"RuntimeError: Every rank should take every step\. Found that `accumulate` failed", later)


@pytest.mark.parametrize("world", WORLDS)
def test_what_is_masked_decays_alike_wrapped_and_sharded(started, world):
    for found in started(world):
        for wrapped, sharded in zip(*found["decayed"], strict=True):
            torch.testing.assert_close(wrapped, sharded, rtol=1e-9, atol=1e-12)


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
