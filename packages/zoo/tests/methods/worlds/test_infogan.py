import itertools
import math

import pytest
import torch
from torch import nn

from dreams_oracles import best_path, mutual_information
from mechlearn_zoo.methods.worlds import infogan
from mechlearn_zoo.methods.worlds.infogan import (
    CausalInfoGAN,
    GaussianTransition,
    OneHot,
    TransitionTable,
    Uniform,
    interpolate,
    most_plausible,
    pair_losses,
    straight_through,
    waypoints,
)
from mechlearn_zoo.nn.categorical import gumbel_softmax


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def test_straight_through_is_one_hot_with_the_soft_samples_gradient():
    logits = torch.randn(6, 4, dtype=torch.float64, generator=generator()).requires_grad_()
    weight = torch.randn(6, 4, dtype=torch.float64, generator=generator(1))
    found = straight_through(logits, 0.7, generator(2))
    assert torch.equal(found.detach().sort(-1).values, torch.tensor([0.0, 0, 0, 1], dtype=torch.float64).expand(6, 4))
    (got,) = torch.autograd.grad((found * weight).sum(), logits)
    gumbel = -torch.log(-torch.log(torch.rand(6, 4, generator=generator(2), dtype=torch.float64)))
    y = torch.softmax((logits.detach() + gumbel) / 0.7, -1)
    wanted = (y * (weight - (y * weight).sum(-1, keepdim=True))) / 0.7
    torch.testing.assert_close(got, wanted, rtol=0, atol=1e-12)


def test_straight_through_draws_by_the_softmax():
    logits = torch.tensor([0.0, 1.0, -1.0, 2.0])
    share = straight_through(logits.expand(200_000, 4), 1.0, generator()).mean(0)
    assert float((share - logits.softmax(-1)).abs().max()) < 4 * 0.5 / math.sqrt(200_000)


def test_straight_through_is_bit_for_bit_what_it_was():
    for seed in range(5):
        logits = 3 * torch.randn(64, 5, generator=generator(seed))
        weight, found = torch.randn(64, 5, generator=generator(seed + 9)), []
        for draw in (straight_through, before):
            x = logits.clone().requires_grad_()
            sample = draw(x, 0.7, generator(seed))
            found.append((sample.detach(), *torch.autograd.grad((sample * weight).sum(), x)))
        assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))
    other = gumbel_softmax(logits, 0.7, generator(4), hard=True)
    assert not torch.equal(other, found[0][0])  # which draws its noise another way: records would change


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_straight_through_of_half_types_draws_by_the_same_law(dtype):
    logits = torch.zeros(4000, 1000)
    assert torch.equal(
        straight_through(logits.to(dtype), 1.0, generator()), straight_through(logits, 1.0, generator()).to(dtype)
    )
    x = torch.randn(6, 4, generator=generator(1)).to(dtype).requires_grad_()
    straight_through(x, 0.7, generator())[:, 0].sum().backward()
    assert x.grad.dtype == dtype
    assert x.grad.any()


def before(logits, temperature, generator):
    """What it was when runs were recorded."""
    uniform = torch.rand(logits.shape, generator=generator, dtype=logits.dtype)
    gumbel = -torch.log(-torch.log(uniform.clamp(min=torch.finfo(logits.dtype).tiny)))
    soft = torch.softmax((logits + gumbel) / temperature, -1)
    hard = torch.nn.functional.one_hot(soft.argmax(-1), logits.shape[-1]).to(soft)
    return hard + (soft - soft.detach())


class EnumeratedStates(OneHot):
    """With `EnumeratedTransition`: all states and next states of a uniform T for every noise, so that means are exact."""

    def __init__(self, rows, states):
        super().__init__(states)
        self.rows = rows

    def sample(self, count, generator):
        return torch.eye(self.states)[self.rows[:, 0]]


class EnumeratedTransition:
    def __init__(self, rows, states):
        self.rows, self.states = rows, states

    def sample(self, states, generator):
        return torch.eye(self.states)[self.rows[:, 1]]

    def entropy(self, states):
        return torch.full((len(states),), math.log(self.states))


class Call(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def test_the_bound_lies_below_the_true_information_and_meets_it_at_the_true_posterior():
    states, noises = 3, 2
    rows = torch.tensor(list(itertools.product(range(states), range(states), range(noises))))
    symbols = torch.tensor([[0, 1], [1, 2], [2, 2]])  # the observation that G shows for (s, n): some states look alike
    made = torch.stack((symbols[rows[:, 0], rows[:, 2]], symbols[rows[:, 1], rows[:, 2]]), 1).float()
    joint = torch.zeros(states, 3)
    for s, n in itertools.product(range(states), range(noises)):
        joint[s, symbols[s, n]] += 1 / (states * noises)
    true = mutual_information(joint.tolist())
    posterior = (joint / joint.sum(0)).clamp(min=1e-30).log().T
    for shift in (0.0, 1.0):
        logits = posterior + shift * torch.randn(3, states, generator=generator(1))
        networks = CausalInfoGAN(
            Call(lambda x: made), Call(lambda x: x[:, :1] * 0), Call(lambda o, table=logits: table[o[:, 0].long()]),
            EnumeratedTransition(rows, states), EnumeratedStates(rows, states),
        )  # fmt: skip
        bound = float(pair_losses(networks, torch.zeros(len(rows), 2, 1), generator()).information)
        assert bound <= 2 * true + 1e-6
        assert (abs(bound - 2 * true) < 1e-5) == (shift == 0)


def networks(seed=0):
    g = generator(seed)
    layers = [nn.Linear(8, 4), nn.Linear(4, 1), nn.Linear(2, 3)]
    for layer in layers:
        for parameter in layer.parameters():
            parameter.data.normal_(generator=g)
    return CausalInfoGAN(*layers, TransitionTable(3), OneHot(3))


def test_losses_are_literal_and_reach_whom_they_should():
    n, pairs = networks(), torch.randn(5, 2, 2, generator=generator(1))
    found = pair_losses(n, pairs, generator(2))
    g = generator(2)
    s = n.states.sample(5, g).to(pairs.device)  # from the generator's
    after = n.transition.sample(s, g)
    made = n.generator(torch.cat((torch.randn(5, 2, generator=g), s, after), -1))
    real, fake = torch.sigmoid(n.discriminator(pairs.flatten(1))), torch.sigmoid(n.discriminator(made))
    torch.testing.assert_close(found.discriminator, -(real.log().mean() + (1 - fake).log().mean()))
    torch.testing.assert_close(found.generator, -fake.log().mean())
    q = [(torch.log_softmax(n.posterior(o), -1) * one).sum(-1).mean() for o, one in ((made[:, :2], s), (made[:, 2:], after))]
    table = n.transition.probabilities()
    entropy = (s @ -(table * table.log()).sum(-1)).mean()
    torch.testing.assert_close(found.information, q[0] + q[1] + math.log(3) + entropy)
    torch.testing.assert_close(found.entropy, entropy)
    found.discriminator.backward(retain_graph=True)
    assert n.generator.weight.grad is None
    (found.generator - found.information).backward()
    assert all(one.grad.abs().sum() > 0 for one in (n.generator.weight, n.posterior.weight, n.transition.logits))


@torch.no_grad()
def test_gaussian_states():
    t, states = GaussianTransition(2, generator()), Uniform(2)
    s = states.sample(100_000, generator(1)).to(next(t.parameters()).device)
    assert states.entropy == pytest.approx(2 * math.log(2))
    mean, deviation = t.law(s)
    after = t.sample(s, generator(2))
    law = torch.distributions.Normal(mean, deviation)
    assert float(t.entropy(s).mean()) == pytest.approx(float(law.entropy().sum(-1).mean()), abs=1e-5)
    assert float(t.entropy(s).mean()) == pytest.approx(-float(law.log_prob(after).sum(-1).mean()), abs=0.02)
    found = states.log_posterior(torch.cat((mean, deviation.log()), -1), after)
    torch.testing.assert_close(found, law.log_prob(after).sum(-1), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("seed", range(8))
def test_a_plan_is_the_best_of_all_paths(seed):
    count = 3 + seed % 4
    table = torch.rand(count, count, generator=generator(seed), dtype=torch.float64)
    table = table * (torch.rand(count, count, generator=generator(seed + 100)) < 0.6) + 1e-9 * torch.eye(count)
    table = table / table.sum(1, keepdim=True)
    for start, goal in itertools.product(range(count), repeat=2):
        found = waypoints(table, start, goal, 1e-6)
        wanted, path = best_path((table * (table >= 1e-6)).tolist(), start, goal)
        if path is None:
            assert found is None
        else:
            assert found.log_probability == pytest.approx(wanted, abs=1e-9)
            steps = sum(math.log(table[a, b]) for a, b in itertools.pairwise(found.states))
            assert steps == pytest.approx(wanted, abs=1e-9)


def test_certain_steps_cost_nothing():
    assert waypoints(torch.eye(3).roll(1, 1), 0, 2) == infogan.Plan((0, 1, 2), 0.0)


def test_a_line():
    line = interpolate(torch.tensor([0.0, 1.0]), torch.tensor([1.0, -1.0]), 3)
    assert line.tolist() == [[0, 1], [0.5, 0], [1, -1]]


def test_the_most_plausible_path_is_the_best_of_all_choices():
    judge = Call(lambda pairs: -(pairs[:, 2:] - pairs[:, :2]).square().sum(1, keepdim=True))
    for seed in range(5):
        stages = [torch.randn(m, 2, generator=generator(10 * seed + m)) for m in (1, 4, 3, 5, 1)]

        def least(path):
            return min(float(judge(torch.cat(pair)[None])) for pair in itertools.pairwise(path))

        assert least(most_plausible(judge, stages)) == max(least(path) for path in itertools.product(*stages))


def test_what_is_refused(as_installed):
    with pytest.raises(ValueError, match=r"`real_pairs` should have the shape \(b, 2, o\)"):
        pair_losses(networks(), torch.zeros(4, 4), generator())
    with pytest.raises(ValueError, match="`real_pairs` should be finite"):
        pair_losses(networks(), torch.full((4, 2, 2), math.nan), generator())
    with pytest.raises(ValueError, match="rows sum to 1"):
        waypoints(torch.ones(3, 3), 0, 1)
    with pytest.raises(TypeError, match="`table` should hold data"):
        waypoints(torch.eye(3, device="meta"), 0, 1)
    for wrong, found in ((None, "None"), (torch.zeros(2, 1), r"shape \(2, 1\)"), (torch.tensor(0.0), r"shape \(\)")):
        with pytest.raises((TypeError, ValueError), match=rf"`discriminator` should return a logit for.* Found {found}"):
            most_plausible(lambda pairs, wrong=wrong: wrong, [torch.zeros(1, 2), torch.zeros(3, 2)])
    with pytest.raises(ValueError, match=r"`goal` should be one of 3 states\. Found 3"):
        waypoints(torch.eye(3), 0, 3)
    with pytest.raises(ValueError, match="`states` should be at least 2"):
        OneHot(1)


@pytest.mark.usefixtures("as_installed")
def test_generators_types_and_what_is_not_finite():
    table, drawn = TransitionTable(3), generator()
    held = drawn.get_state()
    for call in (
        lambda: OneHot(3).sample(2, None),
        lambda: Uniform(2).sample(2, None),
        lambda: table.sample(torch.eye(3), None),
        lambda: GaussianTransition(2, None),
        lambda: GaussianTransition(2, generator()).sample(torch.zeros(2, 2), None),
        lambda: straight_through(torch.zeros(2, 3), 1.0, None),
    ):
        with pytest.raises(TypeError, match=r"`generator` should be a torch\.Generator\. Found None"):
            call()
    with pytest.raises(ValueError, match=r"`states` should have the shape \(b, 3\)\. Found \(2, 2\)"):
        table.sample(torch.eye(2), drawn)
    with pytest.raises(ValueError, match="`logits` should be numbers, minus infinity for some at most"):
        straight_through(torch.full((2, 3), math.nan), 1.0, drawn)
    with pytest.raises(ValueError, match="`count` should be at least 1"):
        OneHot(3).sample(0, drawn)
    assert torch.equal(drawn.get_state(), held)
    straight_through(torch.tensor([[0.0, -math.inf]]), 1.0, drawn)
    broken = networks()
    nn.init.constant_(broken.discriminator.weight, math.nan)
    with pytest.raises(ValueError, match=r"What comes of `real_pairs` should be finite\. Found nan.*Look at the networks"):
        pair_losses(broken, torch.zeros(4, 2, 2), generator())
    with pytest.raises(TypeError, match="`real_pairs` should hold floating numbers"):
        pair_losses(networks(), torch.zeros(4, 2, 2).long(), generator())
    with pytest.raises(ValueError, match=r"`b` should have the shape \(2,\)\. Found \(3,\)"):
        interpolate(torch.zeros(2), torch.ones(3), 4)
    with pytest.raises(ValueError, match=r"`a` should be finite\. Found nan"):
        interpolate(torch.full((2,), math.nan), torch.ones(2), 4)
    with pytest.raises(ValueError, match=r"`stages` should be finite"):
        most_plausible(nn.Linear(4, 1), [torch.full((1, 2), math.nan), torch.ones(3, 2)])
    with pytest.raises(ValueError, match=r"`table` should have the shape \(k, k\)"):
        waypoints(torch.ones(2, 3), 0, 1)


@pytest.mark.usefixtures("as_installed")
@pytest.mark.parametrize(("states", "width", "found"), [(OneHot(3), 3, 1), (Uniform(2), 4, 2), (Uniform(1), 2, 4)])
def test_a_posterior_of_another_width_is_refused(states, width, found):
    s = states.sample(5, generator())
    with pytest.raises(ValueError, match=rf"`output` should have the shape \(5, {width}\). Found \(5, {found}\)"):
        states.log_posterior(torch.zeros(5, found), s)
    with pytest.raises(ValueError, match=rf"`states` should have the shape \(b, {s.shape[1]}\)"):
        states.log_posterior(torch.zeros(5, width), torch.zeros(5, 4))
