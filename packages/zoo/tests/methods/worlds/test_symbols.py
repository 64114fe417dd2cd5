import math

import pytest
import torch
from scipy.stats import spearmanr

import worlds_oracles as oracles
from mechlearn_zoo.methods.worlds import grounding, topographic_similarity, vocabulary_reward


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_the_reward_and_its_gradient():
    utterances = torch.eye(3)[torch.tensor([0, 0, 1])].requires_grad_()
    reward, counts = vocabulary_reward(utterances, torch.tensor([4.0, 0.0, 0.0]), 2.0)
    assert counts.tolist() == [6.0, 1.0, 0.0]
    wanted = [math.log(6 / 8), math.log(6 / 8), math.log(1 / 8)]
    assert reward.tolist() == pytest.approx(wanted)
    reward.sum().backward()
    assert utterances.grad[0, :2].tolist() == pytest.approx([wanted[0], wanted[2]])
    assert bool(torch.isfinite(utterances.grad).all())


def test_grounding_in_bits():
    g = generator()
    meanings = torch.randint(0, 4, (4000,), generator=g)
    told = grounding((meanings + 1) % 4, meanings, g)
    assert told.bits == pytest.approx(told.entropy, abs=0.01)
    assert told.plain == pytest.approx(told.entropy, abs=1e-9)
    few = meanings[:60]
    noise = torch.randint(0, 8, (60,), generator=g)
    chance = grounding(noise, few, g)
    assert chance.plain == pytest.approx(oracles.bits(noise.tolist(), few.tolist()), abs=1e-10)
    assert chance.bits < 0.1 < chance.plain


def test_topographic_similarity():
    meanings = torch.cartesian_prod(torch.arange(3), torch.arange(3))
    assert topographic_similarity(meanings + 5, meanings) == pytest.approx(1.0)
    messages = torch.randint(0, 3, (9, 2), generator=generator())
    i, j = torch.triu_indices(9, 9, 1)
    wanted = spearmanr((messages[i] != messages[j]).sum(1), (meanings[i] != meanings[j]).sum(1)).statistic
    assert topographic_similarity(messages, meanings) == pytest.approx(wanted, abs=1e-12)
    assert math.isnan(topographic_similarity(torch.zeros(9, 1, dtype=torch.long), meanings))


@pytest.mark.usefixtures("as_installed")
def test_refusals():
    ids = torch.tensor([0, 1])
    with pytest.raises(ValueError, match="Begin with"):
        vocabulary_reward(torch.eye(3), torch.zeros(2), 1.0)
    with pytest.raises(ValueError, match="its meaning"):
        grounding(ids, ids[:1], generator())
    with pytest.raises(ValueError, match="three messages"):
        topographic_similarity(ids[:, None], ids[:, None])


@pytest.mark.usefixtures("as_installed")
def test_what_would_be_counted_is_finite():
    with pytest.raises(ValueError, match=r"`utterances` should be finite\. Found nan at \(0, 0\)\. They would be counted"):
        vocabulary_reward(torch.full((2, 3), math.nan), torch.zeros(3), 1.0)
    with pytest.raises(ValueError, match=r"`counts` should be finite\. Found inf at \(1,\)"):
        vocabulary_reward(torch.eye(3), torch.tensor([0.0, math.inf, 0.0]), 1.0)
    with pytest.raises(ValueError, match=r"`utterances` should have the shape \(\.\.\., K\)\. Found \(0, 3\)"):
        vocabulary_reward(torch.zeros(0, 3), torch.zeros(3), 1.0)
    for name, given in (("utterances", ("meta", "cpu")), ("counts", ("cpu", "meta"))):
        with pytest.raises(TypeError, match=f"`{name}` should hold data"):
            vocabulary_reward(torch.eye(3, device=given[0]), torch.zeros(3, device=given[1]), 1.0)
    with pytest.raises(TypeError, match="`symbols` should hold data"):
        grounding(torch.zeros(3, dtype=torch.int64, device="meta"), torch.arange(3), generator())
    with pytest.raises(TypeError, match="`utterances` should hold floating numbers"):
        vocabulary_reward(torch.eye(3).long(), torch.zeros(3), 1.0)
    with pytest.raises(ValueError, match=r"`messages` should have the shape \(n, places\)"):
        topographic_similarity(torch.tensor([0, 1, 2]), torch.tensor([0, 1, 2]))
    with pytest.raises(ValueError, match='`distance` should be "hamming"'):
        topographic_similarity(torch.eye(3).long(), torch.eye(3).long(), "edit")
