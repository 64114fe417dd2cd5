import math

import pytest
import torch
from torch.func import functional_call, grad, jacrev

import meta_gradient_oracles as oracles
from mechlearn_zoo.methods.control import Batch, ProMP, adapt, exploration_credit, meta_objective, promp_objective, surrogate

KINDS = {"log": oracles.log_surrogate, "lr": oracles.lr_surrogate, "dice": oracles.dice_surrogate}
TIME = 3


def world(seed):
    generator = torch.Generator().manual_seed(seed)
    draw = lambda *shape: torch.rand(*shape, generator=generator, dtype=torch.float64)  # noqa: E731
    kernel, start = draw(2, 2, 2), draw(2)
    return draw(2, 2) - 0.5, start / start.sum(), kernel / kernel.sum(-1, keepdim=True), draw(2, 2)


def ours(theta, start, kernel, reward, kind):
    """All trajectories as one batch, each advantage times its trajectory's probability and the number of trajectories."""
    paths = torch.tensor(list(oracles.trajectories(2, 2, TIME))).T
    s, a = paths[0::2], paths[1::2]
    old = theta.detach().log_softmax(-1)[s, a]
    probability = start[s[0]] * old.exp().prod(0) * kernel[s[:-1], a[:-1], s[1:]].prod(0)
    paid = reward[s, a]
    credit = paid if kind == "dice" else paid.flip(0).cumsum(0).flip(0)
    return lambda new: surrogate(new.log_softmax(-1)[s, a], old, credit * probability * s.shape[1], kind)


@pytest.mark.parametrize("kind", list(KINDS))
def test_gradients_are_exact_and_hessians_are_the_oracles(kind):
    for seed in range(3):
        theta, *rest = world(seed)
        function = ours(theta, *rest, kind)
        true = grad(lambda x, rest=rest: oracles.value(x, *rest, TIME))(theta)
        torch.testing.assert_close(grad(function)(theta), true, rtol=0, atol=1e-15)
        wanted = oracles.hessian(lambda x, rest=rest: oracles.expected(x, *rest, TIME, KINDS[kind]), theta)
        torch.testing.assert_close(jacrev(grad(function))(theta).view(4, 4), wanted, rtol=0, atol=1e-14)


def errors(theta, *rest):
    true = oracles.hessian(lambda x: oracles.value(x, *rest, TIME), theta)
    second = {kind: jacrev(grad(ours(theta, *rest, kind)))(theta).view(4, 4) for kind in KINDS}
    return {kind: float((found - true).norm()) for kind, found in second.items()}, float(true.norm())


def test_what_each_kind_misses():
    for seed in range(5):
        theta, *rest = world(seed)
        found, size = errors(theta, *rest)
        assert found["dice"] < 1e-15
        assert 1e-3 < found["lr"] / size < found["log"] / size


def test_the_bias_of_low_variance_curvature_vanishes_where_nothing_is_left_to_learn():
    theta, *rest = world(0)
    for _ in range(200):
        theta = theta + 2 * grad(lambda x: oracles.value(x, *rest, TIME))(theta)
    near, far = errors(theta, *rest)[0]["lr"], errors(world(0)[0], *rest)[0]["lr"]
    assert near < 0.05 * far


def batches(seed, tasks=3, time=5, batch=4):
    generator = torch.Generator().manual_seed(seed)
    draw = lambda *shape: torch.randn(*shape, generator=generator, dtype=torch.float64)  # noqa: E731
    shape = tasks, time, batch
    return Batch(draw(*shape, 2), torch.randint(3, shape, generator=generator), -draw(*shape).abs(), draw(*shape))


def policy():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 6), torch.nn.Tanh(), torch.nn.Linear(6, 3)).double()

    def log_probability(params, observations, actions):
        return functional_call(model, params, (observations,)).log_softmax(-1).gather(-1, actions[..., None])[..., 0]

    return {name: value.detach() for name, value in model.named_parameters()}, log_probability


@pytest.mark.parametrize("settings", [ProMP(), ProMP(kind="dice"), ProMP(kind="log", outer="log", eta=0.0)])
def test_all_tasks_at_once_are_each_alone(settings):
    params, log_probability = policy()
    before, after = batches(0), batches(1)
    whole = grad(lambda theta: meta_objective(theta, log_probability, before, after, settings).mean())(params)
    alone = [
        grad(lambda theta, k=k: promp_objective(
            theta, log_probability, Batch(*(part[k] for part in before)), Batch(*(part[k] for part in after)), settings
        ))(params) for k in range(3)
    ]  # fmt: skip
    for name, value in whole.items():
        torch.testing.assert_close(value, sum(one[name] for one in alone) / 3, rtol=1e-12, atol=1e-13)
    largest = max(float(value.abs().max()) for value in whole.values())
    assert largest > 1e-3


def test_the_inner_step_is_differentiated():
    """The meta-gradient by finite differences of the objective; without second order it would miss."""
    params, log_probability = policy()
    before, after = (Batch(*(part[0] for part in batches(seed))) for seed in (0, 1))
    log_old = log_probability(params, before.observations, before.actions)
    before = before._replace(log_old=log_old)
    settings = ProMP(alpha=0.5, clip=10.0, eta=0.0)

    def objective(theta):
        return promp_objective(theta, log_probability, before, after, settings)

    found = grad(objective)(params)["2.bias"]
    for index in range(3):
        step = torch.zeros(3, dtype=torch.float64)
        step[index] = 1e-5
        up, down = (objective({**params, "2.bias": params["2.bias"] + sign * step}) for sign in (1, -1))
        assert float(found[index]) == pytest.approx(float(up - down) / 2e-5, rel=1e-6, abs=1e-8)
    first_order = {name: value.detach() for name, value in adapt(params, lambda t: surrogate(
        log_probability(t, before.observations, before.actions), before.log_old, before.advantages), 0.5).items()}  # fmt: skip
    plain = grad(lambda theta: surrogate(
        log_probability(theta, after.observations, after.actions), after.log_old, after.advantages
    ))(first_order)["2.bias"]  # fmt: skip
    assert (found - plain).abs().max() > 1e-3


def test_the_divergence_is_zero_where_nothing_moved():
    params, log_probability = policy()
    before, after = (Batch(*(part[0] for part in batches(seed))) for seed in (0, 1))
    before = before._replace(log_old=log_probability(params, before.observations, before.actions))
    one, other = (promp_objective(params, log_probability, before, after, ProMP(eta=eta)) for eta in (0.0, 5.0))
    assert float(one) == pytest.approx(float(other), abs=1e-12)


def test_exploration_is_credited_with_what_came_after():
    log_pi = torch.randn(4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64).requires_grad_()
    exploration_credit(log_pi, log_pi.detach(), torch.tensor(2.5)).backward()
    assert torch.equal(log_pi.grad, torch.full((4, 3), 2.5, dtype=torch.float64))


def padded(batch, generator, steps=2):
    """The same trajectories with steps behind their ends, which pay nothing."""
    time = batch.log_old.shape[-2]
    more = [torch.randn(*part.shape[:1], steps, *part.shape[2:], generator=generator, dtype=part.dtype)
            if part.is_floating_point() else part[:, :steps] for part in batch]  # fmt: skip
    more[3] = torch.zeros_like(more[3])
    mask = torch.ones(*batch.log_old.shape[:1], time + steps, *batch.log_old.shape[2:], dtype=torch.bool)
    mask[:, time:] = False
    return Batch(*(torch.cat([part, rest], 1) for part, rest in zip(batch, more, strict=True))), mask


@pytest.mark.parametrize("settings", [ProMP(eta=0.5), ProMP(kind="dice", eta=0.5), ProMP(kind="log", outer="log", eta=0.5)])
def test_what_stands_behind_an_end_changes_nothing_with_a_mask(settings):
    params, log_probability = policy()
    before, after = batches(0), batches(1)
    wanted = grad(lambda theta: meta_objective(theta, log_probability, before, after, settings).sum())(params)
    for seed in (2, 3):
        long, mask = padded(before, torch.Generator().manual_seed(seed))
        late, _ = padded(after, torch.Generator().manual_seed(seed + 10))
        found = grad(lambda theta, x=long, y=late, m=mask: meta_objective(
            theta, log_probability, x, y, settings, m).sum())(params)  # fmt: skip
        for name, value in wanted.items():
            torch.testing.assert_close(found[name], value, rtol=1e-12, atol=1e-13)
        one = promp_objective(
            params, log_probability, *(Batch(*(part[0] for part in b)) for b in (long, late)), settings, mask[0]
        )
        alone = promp_objective(params, log_probability, *(Batch(*(part[0] for part in b)) for b in (before, after)), settings)
        torch.testing.assert_close(one, alone, rtol=1e-12, atol=1e-13)


def test_a_mask_of_all_steps_is_none():
    params, log_probability = policy()
    before, after = batches(0), batches(1)
    mask = torch.ones_like(before.log_old, dtype=torch.bool)
    found, wanted = (meta_objective(params, log_probability, before, after, ProMP(), one) for one in (mask, None))
    torch.testing.assert_close(found, wanted, rtol=1e-13, atol=0)


def test_steps_behind_an_end_earn_no_credit_with_a_mask():
    log_pi = torch.randn(5, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64).requires_grad_()
    log_old = log_pi.detach() - 0.1
    mask = torch.ones(5, 3, dtype=torch.bool)
    mask[2:, 1] = False
    credit = exploration_credit(log_pi, log_old, torch.tensor(2.0), mask)
    credit.backward()
    assert float(credit.detach()) == pytest.approx(2 * (2 * math.exp(0.5) + math.exp(0.2)))
    assert not log_pi.grad[~mask].any()
    assert float(log_pi.grad[0, 1]) == pytest.approx(2 * math.exp(0.2))


def test_masks_that_are_none_are_refused():
    params, log_probability = policy()
    before, after = (Batch(*(part[0] for part in batches(seed))) for seed in (0, 1))
    with pytest.raises(TypeError, match=r"`mask` should hold booleans.*False behind an episode's end"):
        promp_objective(params, log_probability, before, after, ProMP(), torch.ones(5, 4))
    with pytest.raises(ValueError, match=r"`mask` should have the shape \(5, 4\). Found \(4, 5\)"):
        promp_objective(params, log_probability, before, after, ProMP(), torch.ones(4, 5, dtype=torch.bool))
    with pytest.raises(ValueError, match=r"`mask` should have the shape \(5, 4\)"):
        exploration_credit(before.log_old, before.log_old, torch.tensor(1.0), torch.ones(5, dtype=torch.bool))


@pytest.mark.parametrize("outer", ["clip", "log"])
def test_what_acted_before_is_a_constant(outer):
    """Log-probabilities that still have their graph are taken as numbers."""
    params, log_probability = policy()
    before, after = (Batch(*(part[0] for part in batches(seed))) for seed in (0, 1))
    leaves = {name: value.clone().requires_grad_() for name, value in params.items()}
    olds = [one.log_old.clone().requires_grad_() for one in (before, after)]
    own = before._replace(log_old=2 * olds[0]), after._replace(log_old=2 * olds[1])
    promp_objective(leaves, log_probability, *own, ProMP(outer=outer, eta=0.5)).backward()
    assert all(old.grad is None or not old.grad.any() for old in olds)


@pytest.mark.parametrize("outer", ["clip", "log"])
def test_what_came_after_is_one_number_for_each_step(outer):
    params, log_probability = policy()
    before, after = (Batch(*(part[0] for part in batches(seed))) for seed in (0, 1))
    settings = ProMP(outer=outer)
    for name, wrong in (("advantages", after.advantages[:, :1]), ("advantages", after.advantages[0]),
                        ("log_old", after.log_old[:, :1]), ("log_old", after.log_old[0])):  # fmt: skip
        with pytest.raises(
            ValueError, match=rf"`{name}` should have the shape \(T, B\) of the log-probabilities.*\(5, 4\) here"
        ):
            promp_objective(params, log_probability, before, after._replace(**{name: wrong}), settings)
    graph = after._replace(advantages=after.advantages.clone().requires_grad_())
    with pytest.raises(ValueError, match=r"`advantages` should be constants"):
        promp_objective(params, log_probability, before, graph, settings)


def test_credit_of_other_shapes_is_refused():
    log_pi = torch.zeros(3, 2, requires_grad=True)
    with pytest.raises(ValueError, match=r"`log_old` should have the shape.*\(3, 2\) here. Found \(3, 1\)"):
        exploration_credit(log_pi, torch.zeros(3, 1), torch.tensor(1.0))
    with pytest.raises(ValueError, match=r"`returns_after` should have the shape \(2,\). Found \(3, 1\)"):
        exploration_credit(log_pi, torch.zeros(3, 2), torch.ones(3, 1))
    each = exploration_credit(log_pi, torch.zeros(3, 2), torch.tensor([1.0, 5.0]))
    assert float(each.detach()) == 6


def test_bad_input():
    log_pi = torch.zeros(3, 2, requires_grad=True)
    with pytest.raises(ValueError, match=r"`advantages` should be constants.*Use advantages.detach\(\)"):
        surrogate(log_pi, log_pi.detach(), log_pi * 2)
    with pytest.raises(ValueError, match=r"`log_old` should have the shape \(T, B\).*\(3, 2\) here. Found \(2, 3\)"):
        surrogate(log_pi, torch.zeros(2, 3), torch.zeros(3, 2))
    with pytest.raises(ValueError, match=r"`alpha` should be positive and finite. Found 0.0"):
        ProMP(alpha=0.0)
    with pytest.raises(ValueError, match=r"constant. Found one with a graph"):
        exploration_credit(log_pi, log_pi, log_pi.sum())
