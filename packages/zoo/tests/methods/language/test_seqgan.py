"""Roll-outs and values against enumeration; V = 3 words, T = 4 tokens."""

import itertools

import pytest
import torch

from mechlearn_zoo.methods.language import seqgan
from mechlearn_zoo.methods.language.sampling import choose, sample
from mechlearn_zoo.methods.language.step_model import RecurrentModel, log_probabilities

V, T = 3, 4
EVERYTHING = torch.tensor(list(itertools.product(range(V), repeat=T)))


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.fixture(scope="module")
def model():
    return RecurrentModel(V, 3, 4, seeded(), spread=1.0).double()


def judge(ids):
    """Some probability of each sequence."""
    return ((ids.double() * torch.tensor([0.3, 1.1, -0.7, 0.9])).sum(1) + (ids[:, 0] == ids[:, 2])).sigmoid()


def enumerated(model, tokens):
    """Q by enumeration: the sum over all completions of their probability times the judgement."""
    log_probs = log_probabilities(model, EVERYTHING).detach()
    values = torch.empty(tokens.shape, dtype=torch.float64)
    for row, sequence in enumerate(tokens):
        for t in range(T):
            fits = (EVERYTHING[:, : t + 1] == sequence[: t + 1]).all(1)
            weight = log_probs[fits, t + 1 :].sum(1).exp()
            values[row, t] = (weight * judge(EVERYTHING[fits])).sum()
    return values


def test_values_are_the_enumerated_ones_within_their_errors(model):
    tokens = torch.tensor([[0, 1, 2, 1], [2, 2, 0, 0]])
    expected = enumerated(model, tokens)
    samples = 20_000
    found = seqgan.action_values(judge, tokens, seqgan.rollouts(model, tokens, samples, seeded()))
    assert ((found - expected).abs() < 4 * 0.5 / samples**0.5).all()
    torch.testing.assert_close(found[:, -1], judge(tokens))


def test_values_of_all_completions_weighted_are_exact(model):
    tokens = EVERYTHING[[5, 40]]
    expected = enumerated(model, tokens)
    log_probs = log_probabilities(model, EVERYTHING).detach()
    for t in range(T - 1):  # every continuation of the first row in turn, weighted by its probability
        fits = (EVERYTHING[:, : t + 1] == tokens[0, : t + 1]).all(1)
        completions = tokens[None, None].repeat(T - 1, int(fits.sum()), 1, 1)
        completions[t, :, 0] = EVERYTHING[fits]
        judged = torch.stack([seqgan.action_values(judge, tokens, completions[:, [n]])[0, t] for n in range(int(fits.sum()))])
        found = (judged * log_probs[fits, t + 1 :].sum(1).exp()).sum()
        torch.testing.assert_close(found, expected[0, t], rtol=1e-10, atol=1e-10)


def gradient(model, tokens, values, weights, baseline="none"):
    losses = seqgan.policy_gradient_loss(log_probabilities(model, tokens), values, baseline, "sum")
    return torch.cat([g.flatten() for g in torch.autograd.grad((losses * weights).sum(), list(model.parameters()))])


def test_its_mean_gradient_is_that_of_the_expected_judgement(model):
    probability = log_probabilities(model, EVERYTHING).sum(1).exp()
    expected = torch.autograd.grad(-(probability * judge(EVERYTHING)).sum(), list(model.parameters()))
    expected = torch.cat([g.flatten() for g in expected])
    found = gradient(model, EVERYTHING, enumerated(model, EVERYTHING), probability.detach())
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)


def test_leaving_oneself_out_keeps_the_expected_gradient_and_the_mean_shrinks_it():
    small = RecurrentModel(2, 2, 2, seeded(), spread=1.0).double()
    everything = torch.tensor(list(itertools.product(range(2), repeat=2)))
    probability = log_probabilities(small, everything).sum(1).exp().detach()
    values = everything.double() @ torch.tensor([[0.3, 0.1], [0.2, 0.4]], dtype=torch.float64)
    plain = gradient(small, everything, values, probability)
    for baseline, factor in {"leave-one-out": 1.0, "mean": 0.5}.items():
        total = torch.zeros_like(plain)
        for i, j in itertools.product(range(4), repeat=2):  # every batch of two
            rows = torch.tensor([i, j])
            weight = probability[i] * probability[j] / 2
            total += gradient(small, everything[rows], values[rows], weight.expand(2), baseline)
        torch.testing.assert_close(total, factor * plain, rtol=1e-10, atol=1e-12)


def literal(model, tokens, samples, noise):
    """T passes: every prefix read anew, then completed."""
    rows, length = tokens.shape
    done = tokens[None, None].repeat(length - 1, samples, 1, 1)
    for k, n, b in itertools.product(range(length - 1), range(samples), range(rows)):
        state, read = model.start(1), torch.zeros(1, dtype=torch.long)
        for t in range(length):
            logits, state = model.step(read, state)
            if t > k:
                done[k, n, b, t] = choose(logits, noise(t, logits.shape[1], torch.tensor([[k, n, b]])))
            read = done[k, n, b, t].reshape(1)
    return done


def test_one_pass_equals_a_pass_for_each_prefix_bit_for_bit(model):
    tokens = sample(model, 3, 5, seeded())
    table = torch.randn(5, 4, 2, 3, V, dtype=torch.float64, generator=seeded(1))

    def noise(t, words, index):
        return table[t][tuple(index.T)]

    expected = literal(model, tokens, 2, noise)
    assert torch.equal(seqgan.rollouts(model, tokens, 2, seeded(), noise=noise), expected)


def test_the_discriminator_and_the_policy_that_follows():
    net = seqgan.TextCNN(V, 4, seqgan.Filters((1, 3), (5, 6)), seeded(), dropout=0.5)
    assert not torch.equal(net(EVERYTHING[:3]), net(EVERYTHING[:3]))
    assert torch.equal(net.eval()(EVERYTHING[:3]), net(EVERYTHING[:3]))
    losses = seqgan.discriminator_loss(net(EVERYTHING[:4]), torch.tensor([1.0, 1.0, 0.0, 0.0]))
    losses.mean().backward()
    assert losses.shape == (4,)
    assert all(p.grad is not None for p in net.parameters())
    one, other = RecurrentModel(V, 2, 2, seeded(0)), RecurrentModel(V, 2, 2, seeded(1))
    expected = 0.8 * one.out.weight.detach() + 0.2 * other.out.weight.detach()
    seqgan.follow(one, other)
    torch.testing.assert_close(one.out.weight.detach(), expected)
    assert torch.equal(one.embedding.weight, other.embedding.weight)


def test_bad_input(model):
    with pytest.raises(ValueError, match="two positions"):
        seqgan.rollouts(model, EVERYTHING[:2, :1], 2, seeded())
    with pytest.raises(ValueError, match="samples"):
        seqgan.rollouts(model, EVERYTHING[:2], 0, seeded())

    class Shared(RecurrentModel):
        def start(self, batch):
            return tuple(part.transpose(0, 1) for part in super().start(batch))

    with pytest.raises(ValueError, match="Move the batch first"):
        seqgan.rollouts(Shared(V, 2, 2, seeded()), EVERYTHING[:2], 1, seeded())
    done = seqgan.rollouts(model, EVERYTHING[:2], 1, seeded())
    with pytest.raises(ValueError, match="sigmoid"):
        seqgan.action_values(lambda ids: ids.double().sum(1), EVERYTHING[:2], done)
    with pytest.raises(ValueError, match="shape"):
        seqgan.action_values(judge, EVERYTHING[:2], done[:1])
    with pytest.raises(ValueError, match="baseline"):
        seqgan.policy_gradient_loss(torch.zeros(2, 3), torch.zeros(2, 3), "best")
    with pytest.raises(ValueError, match="two sequences"):
        seqgan.policy_gradient_loss(torch.zeros(1, 3), torch.zeros(1, 3), "leave-one-out")
    with pytest.raises(ValueError, match="count for each width"):
        seqgan.TextCNN(V, 4, seqgan.Filters((1,), (2, 3)), seeded())
    with pytest.raises(ValueError, match="widest"):
        seqgan.TextCNN(V, 4, seqgan.Filters((5,), (2,)), seeded())(EVERYTHING)


@pytest.mark.filterwarnings("ignore:RNN module weights are not part")  # torch packs no bfloat16 for cuDNN, and warns of it
def test_roll_outs_of_half_types_follow_the_same_law():
    model = RecurrentModel(1000, 2, 2, torch.Generator().manual_seed(0)).bfloat16()
    for part in (model.out.weight, model.out.bias):
        torch.nn.init.zeros_(part)
    drawn = seqgan.rollouts(model, torch.zeros(1, 2, dtype=torch.long), 4000, torch.Generator().manual_seed(0))[0, :, 0, 1]
    assert drawn.double().mean() == pytest.approx(499.5, abs=4 * 1000 / 12**0.5 / 4000**0.5)


def test_where_all_is_dropped_the_bias_is_left():
    net = seqgan.TextCNN(V, 4, seqgan.Filters((1, 3), (5, 6)), seeded(), dropout=1.0)
    assert torch.equal(net(EVERYTHING[:3]), net.out.bias.expand(3))
