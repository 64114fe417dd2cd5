"""Several processes against one: the same masks, bit by bit; ranks that differ, and one that dies."""

import re

import pytest
import torch

import distributed_workers as workers
from cpu_alone import ON_A_GPU
from mechlearn.agreement import Agreement, AndMask, Statistics, decay_masked
from mechlearn.agreement.distributed.ddp import _single
from mechlearn.agreement.distributed.summing import pack_pairs, unpack_pairs
from mechlearn.agreement.engine.sums import RunningSums

GLOO = "a CPU's own: ranks that meet through gloo, in processes of their own whose tensors are there"


@pytest.fixture(scope="module", params=[2, 4])
def ranks(request, tmp_path_factory):
    """What every rank returns; one set of processes for all tests, since starting them is most of the time."""
    if ON_A_GPU:
        pytest.skip(GLOO)
    return workers.run(workers.together, request.param, tmp_path_factory.mktemp("ranks"))


def one_process(rule, ids_by_rank):
    """The same in one process: environments rank by rank, the rule once."""
    model = workers.make()
    with Agreement(model, rule) as agreement:
        for rank, ids in enumerate(ids_by_rank):
            parts = [workers.environment(e) for e in ids]
            x, y = (torch.cat(part) for part in zip(*parts, strict=True))
            combine = agreement.backward if rank == len(ids_by_rank) - 1 else agreement.accumulate
            record = combine(workers.losses(model, x, y), torch.tensor(ids).repeat_interleave(5))
    return workers.grads(model), record.share_by_parameter


def environment_by_environment(rule, world):
    """Gradients of loss.backward() on each environment's mean loss, combined in the order of the ranks."""
    sums = {}
    for e in range(world):
        model = workers.make()
        workers.losses(model, *workers.environment(e)).mean().backward()
        for name, gradient in workers.grads(model).items():
            sums.setdefault(name, RunningSums(gradient, rule.needs)).add(gradient[None])
    return {name: rule(sums[name].statistics()) for name in sums}


def assert_same_masks(found, expected, exact):
    assert found.keys() == expected.keys()
    for name, gradient in found.items():
        assert torch.equal(gradient != 0, expected[name] != 0)
        if exact:
            assert torch.equal(gradient, expected[name])
        else:
            torch.testing.assert_close(gradient, expected[name], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("summation", ["backend", "rank"])
@pytest.mark.parametrize("rule", workers.RULES)
def test_one_environment_a_rank(ranks, rule, summation):
    world = len(ranks)
    expected = environment_by_environment(workers.RULES[rule], world)
    for found in ranks:
        gradients, shares = found["plain_function"][rule, summation]
        exact = summation == "rank" or (world == 2 and rule != "geometric")
        assert_same_masks(gradients, {name: combined.gradient for name, combined in expected.items()}, exact)
        assert shares == {name: float(combined.survives.double().mean()) for name, combined in expected.items()}
    if rule == "and":
        assert any(0 < share < 1 for share in shares.values())


@pytest.mark.parametrize("rule", workers.SEVERAL)
def test_several_environments_a_rank(ranks, rule):
    world = len(ranks)
    expected, survivors = one_process(workers.RULES[rule], [workers.several(world, rank) for rank in range(world)])
    assert any(0 < share < 1 for share in survivors.values())
    for found in ranks:
        assert_same_masks(found["collected"][rule], expected, exact=True)


@pytest.mark.parametrize("rule", workers.CONFLICT)
def test_decay_of_what_is_masked(ranks, rule):
    world = len(ranks)
    model = workers.make()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    agreement = Agreement(model, workers.CONFLICT[rule], keep="masks")
    for step in range(3):
        model.zero_grad()
        present = [r for r in range(world) if not (step == 1 and r == world - 1)]
        for rank in present:
            ids = workers.several(world, rank)
            x, y = (torch.cat(part) for part in zip(*map(workers.environment, ids), strict=True))
            combine = agreement.backward if rank == present[-1] else agreement.accumulate
            record = combine(workers.losses(model, x, y), torch.tensor(ids).repeat_interleave(5))
        optimizer.step()
        decay_masked(model, record, lr=0.05, factor=5.0)
        assert any(0 < share < 1 for share in record.share_by_parameter.values())
        for found in ranks:
            masks = found["decayed"][rule][0][step]
            assert masks.keys() == record.masks.keys()
            assert all(torch.equal(masks[name], mask) for name, mask in record.masks.items())
    for found in ranks:
        for name, parameter in model.named_parameters():
            torch.testing.assert_close(found["decayed"][rule][1][name], parameter.detach(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("rule", workers.RULES)
def test_hook_of_distributed_data_parallel(ranks, rule):
    expected = environment_by_environment(workers.RULES[rule], len(ranks))
    for found in ranks:
        assert_same_masks(found["hooked"][rule], {name: combined.gradient for name, combined in expected.items()}, exact=False)


def test_a_vote_does_not_hide_the_nan_of_one_rank(ranks):
    for found in ranks:
        for gradients in found["overflown"]:
            assert all(gradient.isnan().all() for gradient in gradients.values())


@pytest.mark.parametrize("rule", [rule for rule in workers.RULES if rule != "rescaled"])
def test_sharded_gradients(ranks, rule):
    expected = environment_by_environment(workers.RULES[rule], len(ranks))
    for found in ranks:
        assert_same_masks(found["sharded"][rule], {name: combined.gradient for name, combined in expected.items()}, exact=False)


def test_more_environments_than_a_byte_counts(ranks):
    world = len(ranks)
    for environments, sign, gradient in (found["many_environments"] for found in ranks):
        assert environments == 200 * world
        expected = [200 * world, -200 * world, 100 * world, 0, 7 * sum(range(1, world + 1))]
        assert sign.tolist() == expected
        assert gradient.tolist() == [sum(range(world))] * 5


def test_parameters_that_only_some_ranks_reach(ranks):
    world = len(ranks)
    for shares, gradients in (found["silent"] for found in ranks):
        assert set(gradients) == set(shares) == {"2.weight", "2.bias"}  # nobody reaches the first layer
        assert shares["2.weight"] > 0  # the rank without data does not count
        assert shares["2.bias"] == (1.0 if world == 2 else 0.0)  # with four, two ranks' zeros disagree


def test_ranks_that_disagree_say_so_alike_and_touch_nothing(ranks):
    world = len(ranks)
    said = [found["disagreements"] for found in ranks]
    assert all(each == said[0] for each in said)
    for name, sentence in {
        "expected": rf"different expected environments: \[{world}, {world + 1}",
        "total": rf"should have {world + 1} environments.*{world} in all",
        "rule": "different rules",
        "parameters": r"different parameters: \[4, 3",
        "names": "different names, shapes or types",
        "nonfinite": "FloatingPointError: Every gradient should be finite",
        "nothing": "At least one rank should have an environment",
        "mixed": "numbers of environments on rank 1",
        "unknown": "Found other names on rank 0",
        "another rule": "Found some that lack it on rank 0: they were collected for another rule",
        "double": rf"should be whole on one rank\. Found 'Bonn' on ranks {re.escape(str(list(range(world))))}\..*ids='local'",
    }.items():
        with pytest.raises(AssertionError, match=sentence):
            raise AssertionError(said[0][name])


def test_ids_of_which_every_rank_has_its_own(ranks):
    for found in ranks:
        assert found["numbered_alike"]["local"] == found["numbered_alike"]["global"]


def test_gradients_of_two_bytes_are_added_up_in_four(ranks):
    for gradients, total in (found["two_bytes"] for found in ranks):
        assert total.dtype == torch.float32
        assert total.tolist() == [255.0 + len(ranks)] * 2
        assert all(gradient.dtype == torch.bfloat16 and (gradient == 1).all() for gradient in gradients.values())


@pytest.mark.skipif(ON_A_GPU, reason=GLOO)
def test_a_rank_that_dies_ends_the_others_with_a_sentence(tmp_path):
    alive, dead = workers.run(workers.dies, 2, tmp_path)
    assert dead is None
    said, seconds = alive
    assert said.startswith("RuntimeError: Every rank should take part")
    assert "restart the job" in said
    assert seconds < workers.TIMEOUT


@pytest.mark.skipif(ON_A_GPU, reason=GLOO)
@pytest.mark.parametrize("work", [workers.hook_dies, workers.sharded_dies])
def test_a_rank_that_dies_in_a_backward_pass(work, tmp_path):
    alive, dead = workers.run(work, 2, tmp_path)
    assert dead is None
    assert alive.startswith("RuntimeError: ")
    assert "Every rank should take part" in alive


@pytest.mark.parametrize("length", [1, 2, 5])
def test_two_bytes_a_sign_sum_survive_any_addition(length):
    generator = torch.Generator().manual_seed(length)
    counts = [20000, 12000, 767]
    signs = [torch.randint(-count, count + 1, (length, 3), generator=generator) for count in counts]
    signs[0][0], signs[1][0], signs[2][0] = -20000, -12000, -767  # the extremes
    signs[0][-1, -1], signs[1][-1, -1], signs[2][-1, -1] = 20000, 12000, 767
    packed = sum(pack_pairs(sign, count) for sign, count in zip(signs, counts, strict=True))
    assert packed.dtype == torch.int32
    assert packed.numel() == (length * 3 + 1) // 2
    found = unpack_pairs(packed, sum(counts), signs[0].shape)
    assert torch.equal(found.long(), sum(signs))


def test_collect_gives_what_was_accumulated_once():
    model = workers.make()
    with Agreement(model, workers.RULES["and"]) as agreement:
        assert agreement.collect() == {}
        agreement.accumulate(workers.losses(model, *workers.environment(0)), [0] * 5)
        found = agreement.collect()
        assert agreement.collect() == {}
    assert found.keys() == dict(model.named_parameters()).keys()
    assert all(isinstance(one, Statistics) and one.environments == 1 for one in found.values())
    assert workers.grads(model) == {}


def test_a_sparse_gradient_is_that_of_all_rows():
    table = torch.nn.Embedding(5, 3, sparse=True)
    table(torch.tensor([1, 2])).sum().backward()
    found = _single({"table": table.weight}, AndMask())["table"]
    assert found.gradient.layout == torch.strided
    assert found.sign[:, 0].tolist() == [0, 1, 1, 0, 0]
