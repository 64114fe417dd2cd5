"""Standard errors in one pass against every example's gradient, and what rules make of them."""

import copy
import inspect
import pickle
from enum import Enum
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.functional import cross_entropy

import conflict_oracles as oracle
from cpu_alone import cpu_alone
from mechlearn.agreement import Agreement, AndMask, Heterogeneous, Homogeneous, Mean, Qualitative, Rule, StandardErrors
from mechlearn.agreement.distributed.summing import of_one, silent
from mechlearn.agreement.engine.layers import convolution
from mechlearn.agreement.engine.variance.clusters import by_example, by_halves
from mechlearn.agreement.engine.variance.scratch import MOST, Room
from mechlearn.agreement.engine.variance.sums import EvidenceSums
from mechlearn.agreement.rules import Combined, Statistics
from mechlearn.environments import partition

PLAIN = StandardErrors()


class Seen:
    """A rule that averages and notes what it was given."""

    needs = frozenset({"positive", "negative", "precision", "weighted", "weighted_square", "variance", "square", "sign"})

    def __init__(self, errors: StandardErrors = PLAIN) -> None:
        self.statistics: list[Statistics] = []
        self.errors = errors

    def __call__(self, statistics: Statistics) -> Combined:
        """Keep a copy."""
        self.statistics.append(statistics.clone())
        return Combined(statistics.gradient / statistics.environments, torch.ones_like(statistics.gradient))


class Tokens(nn.Module):
    """Everything that has no examples of its own rows: an embedding, weight sharing over positions, a norm, a tied head."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(7, 6)
        self.hidden, self.norm = nn.Linear(6, 6), nn.LayerNorm(6)

    def forward(self, x):
        h = self.norm(torch.tanh(self.hidden(self.embedding(x))))
        return (h @ self.embedding.weight.T).mean(1)


def perceptron():
    return nn.Sequential(nn.Linear(5, 9), nn.Tanh(), nn.Linear(9, 4)), lambda b: torch.randn(b, 5, dtype=torch.float64)


def convolutional():
    net = nn.Sequential(nn.Conv2d(2, 4, 3), nn.GroupNorm(2, 4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 9, 3))
    return net, lambda b: torch.randn(b, 2, 5, 5, dtype=torch.float64)


def tokens():
    return Tokens(), lambda b: torch.randint(0, 7, (b, 4))


NETWORKS = {"perceptron": perceptron, "convolutional": convolutional, "tokens": tokens}
IDS = [3, 0, 0, 3, 7, 7, 0, 3, 0, 7, 7, 0, 3, 3, 7, 0, 3, 0]


def losses_of(name, seed=0):
    torch.manual_seed(seed)
    model, draw = NETWORKS[name]()
    model = model.double()
    x = draw(len(IDS))
    outputs = model(x)
    return model, cross_entropy(outputs, torch.randint(0, outputs.shape[1], (len(IDS),)), reduction="none")


def literal(losses, model):
    return [oracle.moments(g, IDS) for g in oracle.example_gradients(losses, list(model.parameters()))]


def seen(losses, model, errors):
    rule = Seen(errors)
    Agreement(model, rule).backward(losses, IDS)
    return rule.statistics


@pytest.mark.parametrize("name", NETWORKS)
def test_every_statistic_equals_the_examples_own_gradients(name):
    model, losses = losses_of(name)
    wanted = literal(losses, model)
    agreement = Agreement(model, rule := Seen(StandardErrors(parts="examples")), keep="masks")
    record = agreement.backward(losses, IDS)
    assert set(record.masks) == {n for n, _ in model.named_parameters()}
    # Parameters arrive in the order of the pass: matched by shape and gradient.
    for found, moments in _matched(rule.statistics, wanted):
        positive, negative = oracle.sides(moments)
        torch.testing.assert_close(found.positive, positive, rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(found.negative, negative, rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(found.variance, sum(s for _, s, _ in moments), rtol=1e-9, atol=1e-15)
        torch.testing.assert_close(found.sign, sum(g.sign() for g, _, _ in moments))
        precision = sum(1 / s for _, s, _ in moments)
        heard = torch.isfinite(precision)
        torch.testing.assert_close(found.precision[heard], precision[heard], rtol=1e-7, atol=0)


def _matched(statistics, wanted):
    for moments in wanted:
        total = sum(g for g, _, _ in moments)
        (found,) = [s for s in statistics if s.gradient.shape == total.shape and torch.allclose(s.gradient, total, atol=1e-12)]
        yield found, moments


def test_examples_where_they_are_cheap_and_halves_elsewhere():
    model, losses = losses_of("perceptron")
    wanted = literal(losses, model)
    for found, moments in _matched(seen(losses, model, StandardErrors()), wanted):
        torch.testing.assert_close(found.positive, oracle.sides(moments)[0], rtol=1e-9, atol=1e-9)
    model, losses = losses_of("convolutional")
    exact = seen(losses, model, StandardErrors(parts="examples"))
    model, losses = losses_of("convolutional")
    auto = seen(losses, model, StandardErrors())
    for one, other in zip(exact, auto, strict=True):
        torch.testing.assert_close(one.gradient, other.gradient)
        assert torch.allclose(one.positive, other.positive, rtol=1e-7) == (one.gradient.dim() != 4)


class Positions(nn.Module):
    """What is shared over sixteen positions of an example: a table, a scale, a large product and a small one."""

    def __init__(self):
        super().__init__()
        self.table, self.norm = nn.Embedding(11, 150), nn.RMSNorm(150)
        self.large, self.small = nn.Linear(150, 230), nn.Linear(230, 3)

    def forward(self, x):
        return self.small(self.large(self.norm(self.table(x))).tanh()).mean(1)


def pictures():
    net = nn.Sequential(nn.Conv2d(2, 5, 3, padding=1), nn.GroupNorm(1, 5), nn.ReLU(), nn.Conv2d(5, 3, 1), nn.Flatten())
    return nn.Sequential(net, nn.Linear(48, 3)), lambda b: torch.randn(b, 2, 4, 4, dtype=torch.float64)


def positions():
    return Positions(), lambda b: torch.randint(0, 9, (b, 16))


@pytest.mark.parametrize(("make", "unfolded"), [(positions, 2**19), (pictures, 2**19), (pictures, 50)])
@pytest.mark.parametrize("ids", [IDS, [e for e in range(4) for _ in range(5)]])
def test_what_is_shared_over_many_positions_is_exact_by_itself(make, unfolded, ids, monkeypatch):
    monkeypatch.setattr(convolution, "UNFOLD_ELEMENTS", unfolded)  # what large weights do
    torch.manual_seed(1)
    model, draw = make()
    model = model.double()
    losses = cross_entropy(model(draw(len(ids))), torch.randint(0, 2, (len(ids),)), reduction="none")
    wanted = [oracle.moments(g, ids) for g in oracle.example_gradients(losses, list(model.parameters()))]
    rule = Seen(StandardErrors())
    Agreement(model, rule).backward(losses, ids)
    assert len(rule.statistics) == len(wanted)
    for found, moments in _matched(rule.statistics, wanted):
        positive, negative = oracle.sides(moments)
        torch.testing.assert_close(found.positive, positive, rtol=1e-7, atol=1e-7)
        torch.testing.assert_close(found.negative, negative, rtol=1e-7, atol=1e-7)
        torch.testing.assert_close(found.variance, sum(s for _, s, _ in moments), rtol=1e-8, atol=1e-15)


def test_halves_are_what_two_halves_say():
    model, losses = losses_of("convolutional")
    gradients = oracle.example_gradients(losses, list(model.parameters()))
    halves = by_halves(partition(IDS, len(IDS), losses.device), torch.Generator().manual_seed(0))
    wanted = [_half_moments(g, halves) for g in gradients]
    for found, moments in _matched(seen(losses, model, StandardErrors(parts="halves")), wanted):
        torch.testing.assert_close(found.positive, oracle.sides(moments)[0], rtol=1e-8, atol=1e-9)
        torch.testing.assert_close(found.variance, sum(s for _, s, _ in moments), rtol=1e-8, atol=1e-15)


def _half_moments(gradients, halves):
    found = []
    for e, n in enumerate(halves.environments.sizes):
        one, two = (gradients[halves.index == 2 * e + half] for half in range(2))
        error = len(one) * len(two) / n**2 * (one.mean(0) - two.mean(0)) ** 2
        found.append(((one.sum(0) + two.sum(0)) / n, error, 2))
    return found


@pytest.mark.filterwarnings("ignore:.*one backward pass for each environment")
def test_examples_that_meet_within_a_half_are_not_taken_apart():
    """Pairs of one environment mix; where a draw keeps a pair in one half, the halves' rows lie like single examples'."""
    ids, pairs = [0] * 4 + [1] * 4, torch.tensor([1, 0, 3, 2, 5, 4, 7, 6])
    torch.manual_seed(0)
    model, x = nn.Linear(6, 4).double(), torch.randn(8, 6, dtype=torch.float64)
    paths = set()
    for seed in range(12):
        hidden = model(x)
        losses = (hidden + 0.5 * hidden[pairs]).tanh().square().sum(1)
        gradients = oracle.example_gradients(losses, list(model.parameters()))
        halves = by_halves(partition(ids, len(ids), losses.device), torch.Generator().manual_seed(seed))
        wanted = [_half_moments(g, halves) for g in gradients]
        rule = Seen(StandardErrors(seed=seed))
        record = Agreement(model, rule).backward(losses, ids)
        paths |= set(record.paths.values())
        for found, moments in _matched(rule.statistics, wanted):
            torch.testing.assert_close(found.variance, sum(s for _, s, _ in moments), rtol=1e-8, atol=1e-15)
    assert paths == {"layer", "per-environment"}


def test_examples_that_are_cut_apart_and_joined_are_still_single():
    torch.manual_seed(0)
    model, x = nn.Linear(6, 4).double(), torch.randn(len(IDS), 6, dtype=torch.float64)

    def losses():
        hidden = model(x)
        return torch.cat([hidden[:7].tanh(), hidden[7:].tanh()]).square().sum(1)

    exact, auto = (seen(losses(), model, StandardErrors(parts=parts)) for parts in ("examples", "auto"))
    for one, other in zip(exact, auto, strict=True):
        torch.testing.assert_close(one.variance, other.variance)


def test_large_weights_go_tile_by_tile():
    torch.manual_seed(0)
    model = nn.Linear(300, 230, bias=False).double()
    x = torch.randn(24, 300, dtype=torch.float64)
    losses = model(x).square().mean(1)
    ids = [e for e in range(3) for _ in range(8)]
    (gradients,) = oracle.example_gradients(losses, [model.weight])
    rule = Seen()
    Agreement(model, rule).backward(losses, ids)
    positive, negative = oracle.sides(oracle.moments(gradients, ids))
    torch.testing.assert_close(rule.statistics[0].positive, positive, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(rule.statistics[0].negative, negative, rtol=1e-9, atol=1e-9)


def test_what_is_held_does_not_grow_with_the_number_of_environments():
    held = []
    for count in (3, 40):
        torch.manual_seed(0)
        ids = torch.arange(count).repeat_interleave(6)
        clusters = by_example(partition(ids, len(ids), torch.device("cpu")))
        sums = EvidenceSums(torch.empty(80, 80), frozenset({"positive", "negative"}), clusters)
        sums.add_products(torch.randn(len(ids), 80), torch.randn(len(ids), 80))
        scratch = sum(t.numel() for t in sums.room._held.values())
        held.append((sums.environments == count, scratch, {name: t.shape for name, t in sums.held.items()}))
    assert held[0] == held[1]
    assert held[0][2] == {"positive": (80, 80), "negative": (80, 80)}


@cpu_alone("scratch memory is held on to; on a GPU torch's allocator does so")
def test_scratch_memory_is_used_again_and_large_pieces_are_not_kept():
    room, like = Room(), torch.empty(1)
    first = room.of("tile", (3, 4), like)
    assert room.of("tile", (2, 6), like).data_ptr() == first.data_ptr()
    assert room.of("other", (3, 4), like).data_ptr() != first.data_ptr()
    assert room.of("tile", (3, 4), like.double()).dtype == torch.float64
    assert room.of("tile", (5, 5), like).shape == (5, 5)  # more than there was
    large = (2, MOST)
    assert room.of("large", large, like).shape == large
    assert ("large", like.dtype) not in room._held
    assert not copy.deepcopy(room)._held


def test_more_evidence_than_a_product_of_shares_has_room_for():
    """Products in four bytes: twenty environments of which each is all but certain, unequal ones, and an odd number of rows."""
    torch.manual_seed(0)
    model = nn.Linear(70, 70, bias=False)
    sizes = [9, 9, 9, 9, 9, 9, 9, 9, 9, 5, 6, 9, 9, 9, 9, 9, 9, 9, 9, 9]
    ids = [e for e, size in enumerate(sizes) for _ in range(size)]
    x = 1 + 0.02 * torch.randn(len(ids), 70)
    wanted = torch.randn(len(set(ids)), 70)[ids] + 0.02 * torch.randn(len(ids), 70)
    losses = (model(x) * wanted).sum(1)
    (gradients,) = oracle.example_gradients(losses, [model.weight])
    positive, negative = oracle.sides(oracle.moments(gradients.double(), ids))
    assert positive.max() > 700  # one product would be below 1e-38
    rule = Seen()
    rule.needs = frozenset({"positive", "negative"})
    Agreement(model, rule).backward(losses, ids)
    torch.testing.assert_close(rule.statistics[0].positive.double(), positive, rtol=3e-4, atol=3e-4)
    torch.testing.assert_close(rule.statistics[0].negative.double(), negative, rtol=3e-4, atol=3e-4)


RULES: list[Rule] = [
    Qualitative(0.2), Qualitative(0.7, rescale=True), Homogeneous(0.3, "root"), Heterogeneous(rescale="root"),
    Heterogeneous("unit", 0.5), Heterogeneous("input", 0.5, 0.3),
]  # fmt: skip


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_masks_equal_the_literal_test(rule):
    model, losses = losses_of("perceptron", seed=1)
    wanted = literal(losses, model)
    record = Agreement(model, rule, keep="masks").backward(losses, IDS)
    for (name, parameter), moments in zip(model.named_parameters(), wanted, strict=True):
        if isinstance(rule, Qualitative):
            positive, negative = oracle.sides(moments)
            keep = torch.tensor([oracle.tail(v, 3) >= rule.alpha for v in positive.minimum(negative).flatten().tolist()])
            keep = keep.reshape(parameter.shape)
        elif isinstance(rule, Homogeneous):
            from scipy.stats import chi2

            keep = torch.from_numpy(chi2.sf(oracle.cochran(moments).numpy(), 2) >= rule.alpha).to(parameter.device)
        else:
            keep = ~oracle.heterogeneous(moments, rule.by, rule.significance, rule.ratio)
        assert torch.equal(record.masks[name], keep)
        mean = sum(g for g, _, _ in moments) / 3
        ratio = keep.numel() / max(1, int(keep.sum()))
        scale = {False: 1.0, True: ratio, "root": ratio**0.5}[rule.rescale]
        torch.testing.assert_close(parameter.grad, mean * keep * scale, rtol=1e-10, atol=1e-14)


@settings(max_examples=12)
@given(
    seed=st.integers(0, 10**6),
    sizes=st.lists(st.integers(2, 6), min_size=2, max_size=5),
    widths=st.lists(st.integers(1, 7), min_size=2, max_size=4),
    shared=st.booleans(),
    alpha=st.floats(0.01, 0.99),
)
def test_any_network_any_sizes(seed, sizes, widths, shared, alpha):
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    layers = [m for a, b in pairwise(widths) for m in (nn.Linear(a, b), nn.Tanh())]
    model = nn.Sequential(*layers).double()
    ids = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
    ids = ids[torch.randperm(len(ids), generator=generator)].tolist()
    x = torch.randn(len(ids), *([3] if shared else []), widths[0], dtype=torch.float64, generator=generator)
    losses = model(x).flatten(1).square().sum(1)
    wanted = [oracle.moments(g, ids) for g in oracle.example_gradients(losses, list(model.parameters()))]
    rule = Seen(StandardErrors(parts="examples"))
    Agreement(model, rule).backward(losses, ids)
    for found, moments in _matched(rule.statistics, wanted):
        positive, negative = oracle.sides(moments)
        torch.testing.assert_close(found.positive, positive, rtol=1e-5, atol=1e-7)
        torch.testing.assert_close(found.negative, negative, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("rescale", [False, True])
def test_the_ends_of_alpha_are_the_mean_and_the_and_mask_bit_for_bit(rescale):
    for end, other in [(Qualitative(0.0, rescale), Mean()), (Qualitative(1.0, rescale), AndMask(1.0, rescale))]:
        gradients = []
        for rule in (end, other):
            torch.manual_seed(3)
            model = nn.Sequential(nn.Linear(6, 40), nn.ReLU(), nn.Linear(40, 1))
            losses = model(torch.randn(12, 6))[:, 0].square()
            record = Agreement(model, rule).backward(losses, torch.arange(12) % 4)
            gradients.append(([p.grad for p in model.parameters()], record.share_by_parameter, record.paths))
        for one, two in zip(gradients[0][0], gradients[1][0], strict=True):
            assert torch.equal(one, two)
        assert gradients[0][1:] == gradients[1][1:]


def test_environments_that_come_one_by_one():
    model, losses = losses_of("convolutional")
    agreement = Agreement(model, Qualitative(0.3, errors=StandardErrors(parts="examples")), keep="masks")
    whole = agreement.backward(losses, IDS)
    whole_gradients = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    model_again, losses = losses_of("convolutional")
    parts = Agreement(model_again, Qualitative(0.3, errors=StandardErrors(parts="examples")), keep="masks")
    rows = {e: [b for b, other in enumerate(IDS) if other == e] for e in (0, 3, 7)}
    torch.manual_seed(0)
    _, draw = NETWORKS["convolutional"]()
    x = draw(len(IDS))
    labels = torch.randint(0, 3, (len(IDS),))
    for e in (0, 3):
        parts.accumulate(cross_entropy(model_again(x[rows[e]]), labels[rows[e]], reduction="none"), [e] * len(rows[e]))
    last = parts.backward(cross_entropy(model_again(x[rows[7]]), labels[rows[7]], reduction="none"), [7] * len(rows[7]))
    for name in whole.masks:
        assert torch.equal(whole.masks[name], last.masks[name])
    for one, parameter in zip(whole_gradients, model_again.parameters(), strict=True):
        torch.testing.assert_close(one, parameter.grad)


@pytest.mark.parametrize("parts", ["auto", "halves"])
def test_the_share_masked_of_exchangeable_rows_is_what_the_level_says(parts):
    """Rows are noise: no true gradient differs from 0, and a mask falls where chance puts evidence on both sides."""
    generator = torch.Generator().manual_seed(0)
    count, alpha, found = 8, 0.2, []
    for _ in range(3):
        model = nn.Linear(100, 60, bias=False).double()
        x = torch.randn(count * 32, 100, dtype=torch.float64, generator=generator)
        noise = torch.randn(count * 32, 60, dtype=torch.float64, generator=generator)
        losses = (model(x) * noise).sum(1)
        rule = Qualitative(alpha, errors=StandardErrors(parts=parts))
        record = Agreement(model, rule).backward(losses, torch.arange(count * 32) % count)
        found.append(1 - record.share_by_parameter["weight"])
    assert sum(found) / 3 == pytest.approx(_share_of_noise(count, alpha), rel=0.12)


def _share_of_noise(count, alpha):
    """P(min(Q+, Q-) > c) where every z is standard normal."""
    from scipy.stats import binom, chi2

    from mechlearn.agreement.rules.critical import qualitative_critical

    c = qualitative_critical(count, alpha)
    return sum(binom.pmf(h, count, 0.5) * chi2.sf(c, h) * chi2.sf(c, count - h) for h in range(1, count))


def test_memory_averages_gradients_and_variances_by_environment():
    torch.manual_seed(0)
    model = nn.Linear(4, 3).double()
    ids, b, n = [0, 0, 0, 1, 1, 1], 0.75, 3
    rule = Seen(StandardErrors(parts="examples", memory=b, rows={0: 10, 1: 3}))
    agreement = Agreement(model, rule)
    steps = []
    for t in range(1, 4):
        x = torch.randn(6, 4, dtype=torch.float64)
        losses = model(x).square().sum(1)
        (gradients,) = oracle.example_gradients(losses, [model.weight])
        steps.append(oracle.moments(gradients, ids))
        rule.statistics.clear()
        agreement.backward(losses, ids)
        (found,) = [s for s in rule.statistics if s.gradient.dim() == 2]
        ratio = (1 - b) / (1 + b) * (1 + b**t) / (1 - b**t)
        weights = [(1 - b) * b ** (t - 1 - i) / (1 - b**t) for i in range(t)]
        positive = torch.zeros(3, 4, dtype=torch.float64)
        for e, rows in enumerate((10, 3)):
            g = sum(w * step[e][0] for w, step in zip(weights, steps, strict=True))
            v = sum(w * step[e][1] * n for w, step in zip(weights, steps, strict=True))
            error = v * (1 / rows + (1 / n - 1 / rows) * ratio)
            positive += torch.where(g > 0, oracle.evidence(g, error, (n - 1) / ratio), 0.0)
        torch.testing.assert_close(found.positive, positive, rtol=1e-9, atol=1e-12)
        torch.testing.assert_close(found.gradient, sum(g for g, _, _ in steps[-1]))


class Unbounded(torch.autograd.Function):
    """1, with an infinite gradient."""

    @staticmethod
    def forward(ctx, x):
        return torch.ones_like(x)

    @staticmethod
    def backward(ctx, gradient):
        return gradient / 0


@pytest.mark.parametrize("parts", ["examples", "halves"])
@pytest.mark.parametrize("refuses", [True, False])
def test_a_step_that_fails_is_not_remembered(parts, refuses):
    torch.manual_seed(0)
    steps, ids = torch.randn(4, 12, 5), [0] * 6 + [1] * 6
    broken = iter((False, True, False, False, False))
    found, state = [], torch.Generator().get_state()
    for fails in (False, True):
        torch.manual_seed(1)
        model = nn.Linear(5, 3)
        rule = Qualitative(0.5, errors=StandardErrors(parts=parts, memory=0.75, seed=3))
        agreement = Agreement(model, rule, refuse_nonfinite=refuses, rows="independent")
        masks = []
        for x in steps:
            if fails and next(broken):
                failed = model(x)[:, 0] * Unbounded.apply(model(x)[:, 1])
                if refuses:
                    with pytest.raises(FloatingPointError):
                        agreement.backward(failed, ids)
                else:
                    agreement.backward(failed, ids)
                # Halves are drawn step by step: those of the steps behind are to be the same.
                agreement._onepass._gathering.generator.set_state(state)
            model.zero_grad()
            agreement.backward(model(x).pow(2).sum(1), ids)
            state = agreement._onepass._gathering.generator.get_state()
            masks.append(model.weight.grad.clone())
        found.append(masks)
    for one, other in zip(*found, strict=True):
        assert torch.equal(one, other)


def test_what_is_given_up_is_not_remembered():
    model = nn.Linear(2, 1)
    agreement = Agreement(model, Qualitative(errors=StandardErrors(memory=0.5)))
    agreement.accumulate(model(torch.ones(4, 2))[:, 0], [0, 0, 1, 1])
    agreement.discard()
    agreement.backward(model(torch.ones(4, 2))[:, 0], [5, 5, 7, 7])
    with pytest.raises(ValueError, match="Found environment 0 new"):
        agreement.backward(model(torch.ones(4, 2))[:, 0], [0, 0, 5, 5])


def test_masks_of_every_third_step():
    torch.manual_seed(0)
    model = nn.Linear(30, 20)
    agreement = Agreement(model, Qualitative(0.5, errors=StandardErrors(every=3)), keep="masks")
    masks = []
    for _ in range(6):
        model.zero_grad()
        losses = (model(torch.randn(32, 30)) * torch.randn(32, 20)).sum(1)
        record = agreement.backward(losses, torch.arange(32) % 4)
        masks.append(record.masks["weight"])
        assert torch.equal(model.weight.grad != 0, record.masks["weight"])
    assert torch.equal(masks[0], masks[1])
    assert torch.equal(masks[0], masks[2])
    assert torch.equal(masks[3], masks[5])
    assert not torch.equal(masks[0], masks[3])


def test_what_survives_is_rescaled_by_masks_that_are_kept_too():
    torch.manual_seed(0)
    model = nn.Linear(6, 4)
    agreement = Agreement(model, Qualitative(0.9, rescale=True, errors=StandardErrors(every=2)))
    x, y = torch.randn(40, 6), torch.randn(40, 4)
    found = []
    for _ in range(2):
        model.zero_grad()
        record = agreement.backward((model(x) * y).sum(1), torch.arange(40) % 4)
        found.append(model.weight.grad.clone())
    assert 0 < record.share_by_parameter["weight"] < 1
    torch.testing.assert_close(found[1], found[0])


class Branches(nn.Module):
    """Two layers, of which one may be left out."""

    def __init__(self) -> None:
        super().__init__()
        self.always, self.sometimes = nn.Linear(3, 1, bias=False), nn.Linear(3, 1, bias=False)

    def forward(self, x, both):
        return (self.always(x) + (self.sometimes(x) if both else 0))[:, 0]


def test_a_record_has_masks_of_what_its_step_reached():
    torch.manual_seed(0)
    model, x, ids = Branches(), torch.randn(40, 3), torch.arange(40) % 4
    agreement = Agreement(model, Qualitative(0.5, errors=StandardErrors(every=3)), keep="masks")
    records = [agreement.backward(model(x, both) ** 2, ids) for both in (True, False, True)]
    assert [list(record.masks) for record in records] == [list(record.share_by_parameter) for record in records]
    assert list(records[1].masks) == ["always.weight"]
    assert torch.equal(records[2].masks["sometimes.weight"], records[0].masks["sometimes.weight"])


class FailsOnce:
    """Masks everything at every other step; the second parameter that it is given makes it fail."""

    needs = frozenset({"sign"})
    errors = StandardErrors(every=2)

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, statistics: Statistics) -> Combined:
        self.calls += 1
        if self.calls == 2:
            raise ArithmeticError
        return Combined(0 * statistics.gradient, torch.zeros_like(statistics.gradient))


def test_masks_of_a_step_that_failed_are_forgotten():
    model, x, ids = Branches(), torch.rand(4, 3), [0, 0, 1, 1]
    agreement = Agreement(model, FailsOnce())
    with pytest.raises(ArithmeticError):
        agreement.backward(model(x, both=True), ids)
    (made,) = agreement._masks.held
    of_name = {"always.weight": model.always, "sometimes.weight": model.sometimes}
    (other,) = of_name.keys() - {made}
    agreement.backward(of_name[other](x)[:, 0], ids)
    agreement.backward(of_name[made](x)[:, 0], ids)
    assert of_name[made].weight.grad.count_nonzero() == 3  # averaged until masks are decided again


def test_what_is_collected_between_two_decisions_is_refused():
    model = nn.Linear(2, 1)
    agreement = Agreement(model, Qualitative(errors=StandardErrors(every=2)))
    agreement.accumulate(model(torch.ones(4, 2))[:, 0], [0, 0, 1, 1])
    assert agreement.collect()["weight"].positive is not None
    agreement.backward(model(torch.ones(4, 2))[:, 0], [0, 0, 1, 1])
    agreement.accumulate(model(torch.ones(4, 2))[:, 0], [0, 0, 1, 1])
    with pytest.raises(ValueError, match="between two of its decisions"):
        agreement.collect()
    assert len(agreement.backward(model(torch.ones(4, 2))[:, 0], [2, 2, 3, 3]).environments) == 4


class Site(Enum):
    """Ids without an order: environments come as they come."""

    A = 1
    B = 2


def test_what_is_remembered_goes_by_id_in_whatever_order_a_step_has_them():
    torch.manual_seed(0)
    x, y = torch.randn(3, 16, 6), torch.randn(3, 16, 4)
    sites, turned = [Site.A] * 10 + [Site.B] * 6, [*range(10, 16), *range(10)]
    found = []
    for order in (list(range(16)), turned):
        torch.manual_seed(1)
        model = nn.Linear(6, 4).double()
        errors = StandardErrors(memory=0.5, rows={Site.A: 20, Site.B: 9})
        agreement = Agreement(model, rule := Seen(errors))
        for step in range(3):
            some = order if step == 1 else list(range(16))
            losses = (model(x[step, some].double()) - y[step, some].double()).square()
            agreement.backward(losses.sum(1), [sites[row] for row in some])
        found.append(rule.statistics[-1])
    assert torch.count_nonzero(found[0].positive) > 0
    for one, other in zip(found[0][1:], found[1][1:], strict=True):
        torch.testing.assert_close(one, other)


def test_with_memory_micro_batches_of_some_environments_are_refused():
    model = nn.Linear(2, 1)
    agreement = Agreement(model, Qualitative(errors=StandardErrors(memory=0.5)))
    agreement.accumulate(model(torch.ones(4, 2))[:, 0], [0, 0, 1, 1])
    with pytest.raises(ValueError, match=r"all in one call\. Found environment 2 new"):
        agreement.backward(model(torch.ones(4, 2))[:, 0], [2, 2, 3, 3])


class Counted(torch.autograd.Function):
    """An operation that is not known, which counts the backward passes through it."""

    passes = 0

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        Counted.passes += 1
        return gradient


@pytest.mark.parametrize(("parts", "passes", "unit"), [("auto", 8, "half"), ("halves", 8, "half"), ("examples", 16, "example")])
def test_backward_passes_of_clusters_are_counted(parts, passes, unit):
    model, ids = nn.Linear(3, 1), torch.arange(16) % 4
    agreement = Agreement(model, Qualitative(errors=StandardErrors(parts=parts)))
    drawn = agreement._onepass._gathering.generator.get_state()
    explained = agreement.explain(Counted.apply(model(torch.randn(16, 3)))[:, 0], ids)
    assert torch.equal(agreement._onepass._gathering.generator.get_state(), drawn)  # the step draws the halves it would have
    assert f"{passes} backward passes from CountedBackward down, one for each environment's {unit}" in explained[0].cost
    Counted.passes = 0
    with pytest.warns(UserWarning, match=f"one backward pass for each environment's {unit}, here {passes}"):
        agreement.backward(Counted.apply(model(torch.randn(16, 3)))[:, 0], ids)
    assert Counted.passes == passes


def test_statistics_of_each_environments_own_batch():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Linear(8, 1))
    x, gradients = torch.randn(2, 10, 6), []
    for e in range(2):
        (gradient,) = torch.autograd.grad(model(x[e]).square().mean(), [model[0].weight])
        gradients.append(gradient)
    agreement = Agreement(model, rule := Seen(), statistics="per-environment")
    agreement.accumulate(model(x[0]).square()[:, 0], [0] * 10)
    agreement.backward(model(x[1]).square()[:, 0], [1] * 10)
    found = next(s for s in rule.statistics if s.gradient.shape == (8, 6))
    torch.testing.assert_close(found.gradient, gradients[0] + gradients[1])
    assert bool((found.variance > 0).all())
    with pytest.raises(ValueError, match="Found 2 environments in one batch"):
        agreement.backward(model(x.flatten(0, 1)).square()[:, 0], [0] * 10 + [1] * 10)


def test_an_agreement_that_was_pickled_goes_on_where_it_was():
    torch.manual_seed(0)
    model = nn.Linear(6, 4)
    errors = StandardErrors(parts="halves", memory=0.5, every=2)
    agreement = Agreement(model, Qualitative(0.5, errors=errors), keep="masks")
    twin = None
    for step in range(6):
        x, ids = torch.randn(40, 6), torch.arange(40) % 4
        records = [a.backward((a.model(x) ** 2).sum(1), ids) for a in (agreement, twin) if a is not None]
        assert all(torch.equal(record.masks["weight"], records[0].masks["weight"]) for record in records)
        if step == 2:
            twin = pickle.loads(pickle.dumps(agreement))


@pytest.mark.parametrize("parts", ["halves", "examples"])
@pytest.mark.parametrize("names", [[0, 1, 2, 3], ["north", "south", "east", "west"]], ids=["numbers", "words"])
def test_a_state_that_was_loaded_as_weights_goes_on_where_it_was(parts, names, tmp_path):
    torch.manual_seed(0)
    model = nn.Linear(6, 4)
    rows = dict.fromkeys(names, 100)
    rule = Qualitative(0.5, errors=StandardErrors(parts=parts, memory=0.5, every=2, rows=rows))
    agreement, twin = Agreement(model, rule, keep="masks"), None
    for step in range(7):
        x, ids = torch.randn(40, 6), [names[k % 4] for k in range(40)]
        records = [a.backward((a.model(x) ** 2).sum(1), ids) for a in (agreement, twin) if a is not None]
        for record in records:
            assert all(torch.equal(record.masks[name], mask) for name, mask in records[0].masks.items())
        if twin is not None:
            for own, other in zip(agreement.model.parameters(), twin.model.parameters(), strict=True):
                assert torch.equal(own.grad, other.grad)
        if step == 2:
            torch.save(agreement.state_dict(), tmp_path / "state.pt")
            twin = Agreement(copy.deepcopy(model), rule, keep="masks")
            twin.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
            agreement.model.zero_grad()
            twin.model.zero_grad()


def test_a_state_is_a_copy_and_what_is_loaded_is_one():
    torch.manual_seed(0)
    model, rule = nn.Linear(6, 4), Qualitative(0.5, errors=StandardErrors(parts="halves", memory=0.5, every=2))
    agreement, twin = Agreement(model, rule), Agreement(model, rule)
    ids = torch.arange(40) % 4
    agreement.backward((model(torch.randn(40, 6)) ** 2).sum(1), ids)
    state = agreement.state_dict()
    twin.load_state_dict(state)
    for _ in range(2):
        agreement.backward((model(torch.randn(40, 6)) ** 2).sum(1), ids)
    assert described(twin.state_dict()) == described(state) != described(agreement.state_dict())


def described(state):
    if isinstance(state, torch.Tensor):
        return state.tolist()
    if isinstance(state, dict):
        return {name: described(value) for name, value in state.items()}
    return [described(value) for value in state] if isinstance(state, list) else state


def test_rules_without_memory_have_a_state_too(tmp_path):
    model = nn.Linear(2, 1)
    agreement = Agreement(model, AndMask(1.0))
    agreement.backward(model(torch.ones(4, 2))[:, 0], [0, 0, 1, 1])
    torch.save(agreement.state_dict(), tmp_path / "state.pt")
    state = torch.load(tmp_path / "state.pt", weights_only=True)
    assert (state["step"], state["memories"], state["ids"]) == (1, {}, None)
    agreement.load_state_dict(state)


def test_states_that_do_not_fit_are_refused_and_nothing_is_loaded():
    model, rule = nn.Linear(2, 1), Qualitative(errors=StandardErrors(memory=0.5))
    agreement = Agreement(model, rule)
    agreement.backward(model(torch.ones(4, 2))[:, 0], [0, 0, 1, 1])
    state = agreement.state_dict()
    for changed, error, sentence in (
        ({"rule": repr(rule)}, ValueError, "Found none for 'step'"),
        ({**state, "generator": None}, ValueError, "Found none for 'generator'"),
        ({**state, "rule": "AndMask()"}, ValueError, r"should be of the same rule, Qualitative.*Found one of AndMask\(\)"),
    ):
        with pytest.raises(error, match=sentence):
            agreement.load_state_dict(changed)
    with pytest.raises(TypeError, match="should be a dictionary"):
        inspect.unwrap(agreement.load_state_dict)(agreement, [])
    other = Agreement(nn.Linear(3, 1), rule)
    with pytest.raises(ValueError, match=r"the same model. Found \(1, 2\) for 'weight', where the model has \(1, 3\)"):
        other.load_state_dict(state)
    assert described(agreement.state_dict()) == described(state)
    assert other.state_dict()["ids"] is None
    agreement.accumulate(model(torch.ones(4, 2))[:, 0], [0, 0, 1, 1])
    for call in (agreement.state_dict, lambda: agreement.load_state_dict(state)):
        with pytest.raises(ValueError, match="between two steps"):
            call()


def test_bad_input():
    model = nn.Linear(2, 1)
    losses = model(torch.ones(5, 2))[:, 0]
    with pytest.raises(ValueError, match="Found one of environment 4"):
        Agreement(model, Qualitative()).backward(losses, [1, 1, 2, 2, 4])
    with pytest.raises(ValueError, match="`alpha` should lie in"):
        Qualitative(1.5)
    remembering = Agreement(model, Qualitative(errors=StandardErrors(memory=0.5)))
    remembering.backward(model(torch.ones(4, 2))[:, 0], [0, 0, 1, 1])
    with pytest.raises(ValueError, match="Found environment 2 new"):
        remembering.backward(model(torch.ones(4, 2))[:, 0], [0, 0, 2, 2])
    with pytest.raises(ValueError, match="`memory` should"):
        StandardErrors(memory=1.0)
    with pytest.raises(ValueError, match=r"`rows\[0\]` should be at least 1"):
        StandardErrors(memory=0.5, rows={0: 0})
    with pytest.raises(ValueError, match="`rows` should come with memory"):
        StandardErrors(rows={0: 3})
    with pytest.raises(ValueError, match="Found none of environment 1"):
        Agreement(model, Qualitative(errors=StandardErrors(memory=0.5, rows={0: 3}))).backward(
            model(torch.ones(4, 2))[:, 0], [0, 0, 1, 1]
        )
    with pytest.warns(UserWarning, match="nothing to agree on"):
        record = Agreement(model, Qualitative()).backward(model(torch.ones(4, 2))[:, 0], [0, 0, 0, 0])
    assert record.share_by_parameter == {"weight": 1.0, "bias": 1.0}


def test_partitions_into_examples():
    groups = partition([5, 2, 5, 2], 4, torch.device("cpu"))
    clusters = by_example(groups)
    assert clusters.counts == (2, 2)
    assert clusters.grouped(clusters.index).tolist() == [0, 1, 2, 3]


def test_ranks_add_up_what_each_has_collected_and_refuse_plain_gradients():
    model, losses = losses_of("perceptron")
    agreement = Agreement(model, rule := Qualitative(0.3))
    agreement.accumulate(losses, IDS)
    collected = agreement.collect()["0.weight"]
    silent_ranks = silent(model[0].weight, rule, {"2.weight": collected})
    total = [a if b is None else a + b for a, b in zip(collected[1:], silent_ranks[1:], strict=True) if a is not None]
    for one, other in zip(total, (collected.gradient, collected.positive, collected.negative), strict=True):
        assert torch.equal(one, other)
    assert silent_ranks.environments == 3
    with pytest.raises(ValueError, match=r"Pass statistics=agreement\.collect"):
        of_one(torch.ones(3), rule)


def test_two_byte_numbers_are_squared_in_four():
    found = []
    for dtype in (torch.float32, torch.bfloat16):
        torch.manual_seed(0)
        model = nn.Linear(40, 30)
        x = torch.randn(64, 40).bfloat16()
        rule = Seen()
        Agreement(model.to(dtype), rule).backward(model(x.to(dtype)).float().square().sum(1), torch.arange(64) % 4)
        found.append(next(s for s in rule.statistics if s.gradient.dim() == 2))
    assert found[1].positive.dtype == torch.float32
    assert float((found[0].positive - found[1].positive).abs().median()) < 0.03 * float(found[0].positive.median())
