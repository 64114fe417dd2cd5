"""`Anchored`, against its equation component by component, through every door of an agreement."""

import re

import pytest
import torch
from torch import nn

import anchored_ranks
import distributed_doors as doors
import distributed_workers as workers
from cpu_alone import ON_A_GPU
from held_oracles import whole_gradients
from mechlearn.agreement import Agreement, Anchored, Statistics, combine
from small_models import MODELS, batch, make, squared

IDS = [3, 0, 3, 1, 0, 0, 3, 1, 1, 3, 0, 1]
CALLS = (slice(0, 4), slice(4, 5), slice(5, 9), slice(9, 12))


def anchored(rows, anchor, weight):
    """Return g_a + weight * sum_e g_e 1[g_a g_e > 0] and where anything was added, by the definition."""
    flat = [row.flatten().tolist() for row in rows]
    gradient, added = [], []
    for k, trusted in enumerate(flat[anchor]):
        others = [row[k] for e, row in enumerate(flat) if e != anchor and trusted * row[k] > 0]
        gradient.append(trusted + weight * sum(others))
        added.append(bool(others))
    shape = rows[0].shape
    return torch.tensor(gradient, dtype=rows[0].dtype).view(shape), torch.tensor(added).view(shape)


@pytest.mark.parametrize(("environments", "shape"), [(1, (4, 3)), (2, (5,)), (3, ()), (5, (2, 3))])
def test_the_rule_is_its_equation(environments, shape):
    generator = torch.Generator().manual_seed(environments)
    for anchor in range(environments):
        g = torch.randn(environments, *shape, dtype=torch.float64, generator=generator)
        g *= torch.rand(g.shape, generator=generator) > 0.2
        before = g.clone()
        found = combine(Anchored(anchor, 0.7), g)
        gradient, added = anchored(list(g), anchor, 0.7)
        torch.testing.assert_close(found.gradient, gradient, rtol=1e-14, atol=0)
        assert torch.equal(found.survives, added)
        assert torch.equal(g, before)


def test_signs_of_products_below_the_least_number():
    g = torch.tensor([[1e-30, 1e-30], [1e-30, -1e-30]])
    assert combine(Anchored(0, 1.0), g).survives.tolist() == [True, False]


@pytest.mark.parametrize("name", MODELS)
def test_an_agreement_forms_both_gradients_in_one_pass(name):
    model, ids = make(name, 2), torch.tensor(IDS)
    x, y, _ = batch(2, IDS)
    trained = [p for p in model.parameters() if p.requires_grad]
    stacks = whole_gradients([(squared(model(x), y), ids)], trained)  # in the order 0, 1, 3
    agreement = Agreement(model, Anchored(1, 0.3), keep="masks")
    for _ in range(2):  # nothing is left of the first step
        model.zero_grad()
        record = agreement.backward(squared(model(x), y), ids)
        sizes = added_in_all = 0
        for (key, parameter), stack in zip([n for n in model.named_parameters() if n[1].requires_grad], stacks, strict=True):
            if parameter.grad is None:
                assert not stack.any()
                continue
            gradient, added = anchored(list(stack), 1, 0.3)
            clear = ((stack == 0) | (stack.abs() > 1e-12)).all(0)
            torch.testing.assert_close(parameter.grad[clear], gradient[clear], rtol=1e-10, atol=1e-14)
            assert torch.equal(record.masks[key][clear], added[clear])
            count = int(record.masks[key].sum())
            assert record.share_by_parameter[key] == pytest.approx(count / added.numel())
            sizes, added_in_all = sizes + added.numel(), added_in_all + count
        assert record.share == pytest.approx(added_in_all / sizes)
    if name == "mlp":
        assert set(record.paths.values()) == {"layer"}


def test_losses_come_in_micro_batches_and_in_calls_of_their_own():
    whole, parts, apart = (make("mlp", 4) for _ in range(3))
    x, y, _ = batch(4, IDS)
    ids = torch.tensor(IDS)
    rule = Anchored(3, 0.5)
    Agreement(whole, rule).backward(squared(whole(x), y), ids)
    agreement = Agreement(parts, rule)
    for rows in CALLS[:-1]:
        agreement.accumulate(squared(parts(x[rows]), y[rows]), ids[rows])
    agreement.backward(squared(parts(x[CALLS[-1]]), y[CALLS[-1]]), ids[CALLS[-1]])
    agreement = Agreement(apart, rule)
    for e in (0, 1):
        agreement.accumulate(squared(apart(x[ids == e]), y[ids == e]), ids[ids == e])
    agreement.backward(squared(apart(x[ids == 3]), y[ids == 3]), ids[ids == 3])
    for other in (parts, apart):
        for one, two in zip(whole.parameters(), other.parameters(), strict=True):
            torch.testing.assert_close(one.grad, two.grad, rtol=1e-10, atol=1e-13)


def test_leaves_outside_receive_the_mean_over_losses():
    model, shift = make("mlp", 5), torch.zeros(5, dtype=torch.float64, requires_grad=True)
    x, y, _ = batch(5, IDS)
    losses = squared(model(x + shift), y)
    (stack,) = whole_gradients([(losses, torch.tensor(IDS))], [shift])
    Agreement(model, Anchored(3, 0.3)).backward(losses, IDS)
    torch.testing.assert_close(shift.grad, stack.mean(0), rtol=1e-10, atol=1e-14)


def test_parameters_of_one_loss():
    """One that only the anchor reaches has its gradient, one that only the second loss reaches has 0."""
    body, head, auxiliary = nn.Linear(2, 2), nn.Linear(2, 1), nn.Linear(2, 1)
    model = nn.ModuleList([body, head, auxiliary])
    hidden = body(torch.randn(4, 2, generator=torch.Generator().manual_seed(0)))
    losses = torch.cat([head(hidden[:2])[:, 0], auxiliary(hidden[2:])[:, 0]])
    (expected,) = torch.autograd.grad(losses[:2].mean(), [head.weight], retain_graph=True)
    Agreement(model, Anchored("label", 1.0)).backward(losses, ["label"] * 2 + ["auxiliary"] * 2)
    torch.testing.assert_close(head.weight.grad, expected)
    assert not auxiliary.weight.grad.any()


def test_the_eager_engine_serves_a_compiled_step():
    model, twin = make("mlp", 1), make("mlp", 1)
    x, y, _ = batch(1, IDS)
    step = Agreement(model, Anchored(0, 0.3)).compile(lambda x, y: squared(model(x), y), backend="aot_eager")
    with pytest.warns(UserWarning, match=r"`hold`, or the rule, asks for the gradient of each environment"):
        step(x, y, environments=IDS)
    Agreement(twin, Anchored(0, 0.3)).backward(squared(twin(x), y), IDS)
    for one, other in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad)


def test_what_cannot_be_is_said():
    model = nn.Linear(2, 1)
    losses = lambda: model(torch.ones(2, 2))[:, 0]  # noqa: E731
    with pytest.raises(ValueError, match=r"`weight` should be finite and at least 0"):
        Anchored(weight=-1.0)
    with pytest.raises(TypeError, match=r"`anchor` should be an environment id\. Found \[0\]"):
        Anchored([0])
    with pytest.raises(ValueError, match=r"`anchor` should be an environment of the step\. Found no example of 2"):
        combine(Anchored(2), torch.ones(2, 3))
    agreement = Agreement(model, Anchored("label"))
    with pytest.raises(ValueError, match=r"Found no example of 'label' among the ids 'auxiliary', 'other'\. Pass"):
        agreement.backward(losses(), ["auxiliary", "other"])
    assert model.weight.grad is None
    agreement.backward(losses(), ["label", "other"])  # nothing was left of the step that failed
    with pytest.raises(ValueError, match=r"`normalise` should be None for a rule that reads each gradient"):
        Agreement(model, Anchored(0), normalise="tensor").backward(losses(), [0, 1])
    with pytest.raises(ValueError, match=r"reads statistics\.each\. Found None"):
        Anchored(0)(Statistics(2, torch.ones(3)))


def test_one_loss_alone_is_the_anchor():
    model = nn.Linear(2, 1)
    record = Agreement(model, Anchored(0)).backward(model(torch.ones(2, 2))[:, 0], [0, 0])
    assert model.weight.grad.tolist() == [[1.0, 1.0]]
    assert record.share == 0.0


@pytest.mark.skipif(ON_A_GPU, reason="a CPU's own: ranks that meet through gloo")
def test_ranks_compare_whole_gradients(tmp_path):
    found = workers.run(anchored_ranks.train, 2, tmp_path)
    dealt = [[anchored_ranks.mine(rank, 2, alone) for rank in range(2)] for alone in (False, True)]
    dealt.append([doors.batch([0, 1, 2])])
    for call, parts in enumerate(dealt):
        model = workers.make()
        x, y, site = (torch.cat(part) for part in zip(*parts, strict=True))
        stacks = whole_gradients([(workers.losses(model, x, y), site)], list(model.parameters()))
        for results, _ in found:
            gradients, shares = results[call]
            for gradient, share, stack, first in zip(gradients, shares.values(), stacks, found[0][0][call][0], strict=True):
                expected, added = anchored(list(stack), 0, 0.5)
                torch.testing.assert_close(gradient, expected, rtol=1e-9, atol=1e-12)
                assert share == pytest.approx(float(added.double().mean()))
                assert torch.equal(gradient, first)
    for _, said in found:
        assert re.match(r"ValueError: `anchor` should be an environment of the step\. Found no example of 7", said[0])
        assert re.match(r"ValueError: A rule of more than sums should be given what an Agreement has collected", said[1])
