import math

import pytest
import torch

import worlds_oracles as oracles
from mechlearn_zoo.methods.worlds import ModelOfOthers, causal_influence, influence_rewards, mutual_information, others_losses


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def draw(batch=5, a=4, b=3):
    g = generator()
    counterfactual = (2 * torch.randn(batch, a, b, dtype=torch.float64, generator=g)).log_softmax(-1)
    policy = torch.randn(batch, a, dtype=torch.float64, generator=g).log_softmax(-1)
    return counterfactual, policy, torch.randint(0, a, (batch,), generator=g)


def test_influence_is_the_enumeration_and_its_mean_the_mutual_information():
    counterfactual, policy, taken = draw()
    found, jsd = (causal_influence(counterfactual, policy, taken, how) for how in ("kl", "jsd"))
    whole = mutual_information(counterfactual, policy)
    for i in range(5):
        p, q = counterfactual[i].exp(), policy[i].exp()
        assert float(found[i]) == pytest.approx(oracles.influence(p, q, int(taken[i])), abs=1e-12)
        assert float(jsd[i]) == pytest.approx(oracles.jensen_shannon(p, q, int(taken[i])), abs=1e-12)
        assert float(whole[i]) == pytest.approx(oracles.mutual_information(p, q), abs=1e-12)
    each = torch.stack([causal_influence(counterfactual, policy, torch.full((5,), a)) for a in range(4)], 1)
    torch.testing.assert_close((policy.exp() * each).sum(1), whole, rtol=0, atol=1e-12)


def test_bounds_independence_and_relabelling():
    counterfactual, policy, taken = draw()
    whole = mutual_information(counterfactual, policy)
    entropy = -(policy.exp() * policy).sum(-1)
    assert bool((whole <= torch.minimum(entropy, torch.tensor(math.log(3.0))) + 1e-12).all())
    same = counterfactual[:, :1].expand(-1, 4, -1)
    assert float(causal_influence(same, policy, taken).max()) < 1e-14
    order = torch.tensor([2, 0, 3, 1])
    relabelled = causal_influence(counterfactual[:, order], policy[:, order], order.argsort()[taken])
    torch.testing.assert_close(relabelled, causal_influence(counterfactual, policy, taken), rtol=0, atol=1e-13)
    sure = torch.full((5, 4), -torch.inf, dtype=torch.float64)
    sure[:, 0] = 0.0
    assert float(causal_influence(counterfactual, sure, torch.zeros(5, dtype=torch.long)).abs().max()) < 1e-14
    assert float(mutual_information(counterfactual, sure).abs().max()) < 1e-14


def test_rewards():
    influence = torch.tensor([[1.0, 2.0], [20.0, 5.0], [1.0, 1.0]])
    seen = torch.tensor([[True, False], [True, True], [True, True]])
    assert influence_rewards(influence, seen).tolist() == [1.0, 10.0, 0.0]


def test_the_model_of_others_is_the_literal_cell():
    model = ModelOfOthers(2, 3, 4, 5, generator()).double()
    features = torch.randn(2, 4, 2, dtype=torch.float64, generator=generator(1))
    actions = torch.randint(0, 4, (2, 4, 3), generator=generator(2))
    predicted, imagined = model(features, actions), model.counterfactuals(features, actions)
    assert imagined.shape == (2, 4, 2, 4, 4)
    for b, t in ((0, 0), (1, 2), (0, 3)):
        torch.testing.assert_close(predicted[b, t], oracles.others(model, features[b], actions[b], t, None))
        for a in range(4):
            torch.testing.assert_close(imagined[b, t, :, a], oracles.others(model, features[b], actions[b], t, a))
    losses = others_losses(predicted, actions)
    assert torch.equal(others_losses(model(features, actions.int()), actions.int()), losses)
    assert torch.equal(model.counterfactuals(features, actions.int()), imagined)
    literal = [-float(predicted.detach()[0, t, n, actions[0, t + 1, n + 1]]) for t in range(3) for n in range(2)]
    assert float(losses[0].detach()) == pytest.approx(sum(literal) / 6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_what_log_softmax_gives_in_short_types_is_taken(dtype):
    g = generator()
    for actions in (3, 30, 300):
        counterfactual = (2 * torch.randn(20, 4, actions, generator=g)).to(dtype).log_softmax(-1)
        policy, taken = torch.randn(20, 4, generator=g).to(dtype).log_softmax(-1), torch.randint(0, 4, (20,), generator=g)
        found = causal_influence(counterfactual, policy, taken)
        assert found.dtype == dtype
        assert found.isfinite().all()
        with pytest.raises(ValueError, match="`counterfactual` should be log-probabilities"):
            causal_influence(counterfactual + 0.1, policy, taken)
    with pytest.raises(ValueError, match=r"Found one off by 0\.002"):
        causal_influence(counterfactual.float().log_softmax(-1) + 0.002, policy.float().log_softmax(-1), taken)


@pytest.mark.usefixtures("as_installed")
def test_refusals():
    counterfactual, policy, taken = draw()
    with pytest.raises(ValueError, match="Use log_softmax"):
        causal_influence(counterfactual.exp(), policy, taken)
    with pytest.raises(ValueError, match="A's actions come second to last"):
        mutual_information(counterfactual, policy[:, :2])
    with pytest.raises(ValueError, match="from 0 to 3"):
        causal_influence(counterfactual, policy, taken + 4)
    with pytest.raises(ValueError, match='"kl" or "jsd"'):
        causal_influence(counterfactual, policy, taken, "l2")
    with pytest.raises(ValueError, match="`agents` should be at least 2"):
        ModelOfOthers(1, 1, 2, 3, generator())
    with pytest.raises(ValueError, match="The first agent"):
        ModelOfOthers(1, 2, 2, 3, generator())(torch.zeros(1, 2, 1), torch.zeros(1, 2, 3, dtype=torch.long))
    with pytest.raises(ValueError, match="two steps or more"):
        others_losses(torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 2, dtype=torch.long))
    with pytest.raises(ValueError, match="`clip` should be positive"):
        influence_rewards(torch.zeros(2, 2), clip=0.0)


@pytest.mark.usefixtures("as_installed")
def test_empty_batches_nan_and_ids_are_refused():
    counterfactual, policy, taken = draw()
    with pytest.raises(ValueError, match=r"`counterfactual` should have the shape \(\.\.\., A, B\)\. Found \(0, "):
        causal_influence(counterfactual[:0], policy[:0], taken[:0])
    with pytest.raises(TypeError, match="`taken` should hold whole numbers"):
        causal_influence(counterfactual, policy, taken.float())
    short = causal_influence(counterfactual, policy, taken.to(torch.int8))
    assert torch.equal(short, causal_influence(counterfactual, policy, taken))
    with pytest.raises(TypeError, match="`policy` should hold data"):
        mutual_information(counterfactual, policy.to("meta"))
    with pytest.raises(TypeError, match="`influence` should hold data"):
        influence_rewards(torch.zeros(4, 2, device="meta"))
    influence = torch.zeros(4, 2)
    influence[1, 0] = math.nan
    with pytest.raises(ValueError, match=r"`influence` should be finite\. Found nan at \(1, 0\)"):
        influence_rewards(influence)
    assert influence_rewards(torch.tensor([[math.inf], [0.0]])).tolist() == [10.0, 0.0]  # is clipped
    assert influence_rewards(influence, torch.zeros(4, 2, dtype=torch.bool)).tolist() == [0.0] * 4  # nobody saw it
    with pytest.raises(TypeError, match="`seen` should hold booleans"):
        influence_rewards(torch.zeros(4, 2), torch.ones(4, 2))
    model = ModelOfOthers(3, 2, 4, 8, generator())
    features, actions = torch.zeros(2, 5, 3), torch.zeros(2, 5, 2, dtype=torch.long)
    for call in (model, model.counterfactuals):
        with pytest.raises(ValueError, match=r"`features` should be finite\. Found nan.*Leave such episodes out"):
            call(features * math.nan, actions)
        with pytest.raises(ValueError, match=r"`actions` should be numbers from 0 to 3\. Found 4 to 4"):
            call(features, actions + 4)
        with pytest.raises(ValueError, match=r"`features` should have the shape \(B, T, 3\)"):
            call(features[..., :2], actions)
        with pytest.raises(TypeError, match=r"of the type torch\.float32"):
            call(features.double(), actions)
    with pytest.raises(ValueError, match=r"`predicted` should be finite\. Found nan"):
        others_losses(model(features, actions) * math.nan, actions)
    with pytest.raises(ValueError, match="`actions` should be numbers from 0 to 3"):
        others_losses(model(features, actions), actions - 1)


def certain():
    """A policy that never plays the last action; one of B's actions answers to nothing, one to that action alone."""
    inf = torch.inf
    counterfactual = torch.tensor([[0.6, 0.4, 0.0, 0.0], [0.1, 0.9, 0.0, 0.0], [0.2, 0.3, 0.5, 0.0]], dtype=torch.float64)
    policy = torch.tensor([0.3, 0.7, 0.0], dtype=torch.float64)
    assert counterfactual.log().min() == policy.log().min() == -inf
    return counterfactual, policy


@pytest.mark.parametrize(
    "measure",
    [
        mutual_information,
        lambda c, p: causal_influence(c, p, torch.tensor(1)),
        lambda c, p: causal_influence(c, p, torch.tensor(1), "jsd"),
    ],
)
def test_what_has_no_probability_has_no_gradient(measure):
    counterfactual, policy = (part.log().requires_grad_() for part in certain())
    found = measure(counterfactual, policy)
    gradients = torch.autograd.grad(found, (counterfactual, policy))
    possible = [part.detach()[:2].clone()[..., :2].requires_grad_() for part in (counterfactual, policy)]
    wanted = measure(*possible)
    torch.testing.assert_close(found, wanted)
    for own, other in zip(gradients, torch.autograd.grad(wanted, possible), strict=True):
        assert own.isfinite().all()
        torch.testing.assert_close(own[:2][..., :2], other)
        assert not own[2:].any()


def test_an_action_that_is_never_played_and_alone_allows_something_is_infinitely_influential():
    counterfactual, policy = (part.log() for part in certain())
    assert causal_influence(counterfactual, policy, torch.tensor(2)) == torch.inf
