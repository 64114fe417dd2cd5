import pytest
import torch

import control_finite_oracles as oracle
from mechlearn_zoo.finite import FiniteMDP
from mechlearn_zoo.methods.control.entropy import barrier, interpolate, objective, perturb


def process(seed=0, discount=0.9):
    return FiniteMDP(*(torch.as_tensor(part) for part in oracle.random_mdp(seed)), discount)


def logits(seed, *shape):
    return torch.randn(*shape, 4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def ball(theta):
    return -theta.square().sum(-1)


@pytest.mark.parametrize("tau", [0.0, 0.3])
def test_the_objective_is_the_literal_sum_and_has_its_gradient(tau):
    mdp, theta = process(), logits(0)
    parts = [part.numpy() for part in (mdp.transitions, mdp.rewards, mdp.start)]
    wanted = oracle.entropy_objective(theta.numpy(), *parts, 0.9, tau)
    assert float(objective(theta, mdp, tau)) == pytest.approx(wanted, abs=1e-12)
    assert torch.autograd.gradcheck(lambda x: objective(x, mdp, tau), theta.requires_grad_())


def test_actions_that_are_never_taken_have_no_entropy():
    """A logit of -inf is the limit of low ones, in the objective and in its gradient."""
    mdp, theta = process(2), logits(2)
    low, never = theta.clone(), theta.clone()
    low[0, 1] = low[2, 0] = -700.0
    never[0, 1] = never[2, 0] = -torch.inf
    for tau in (0.0, 0.3):
        wanted, found = objective(low.requires_grad_(), mdp, tau), objective(never.requires_grad_(), mdp, tau)
        torch.testing.assert_close(found, wanted, rtol=1e-14, atol=0)
        (slope,), (other) = torch.autograd.grad(wanted, low), torch.autograd.grad(found, never)[0]
        torch.testing.assert_close(other, slope, rtol=1e-12, atol=1e-14)
        assert not other[0, 1]


def test_a_batch_is_solved_at_once():
    mdp, tables = process(1), logits(1, 6)
    torch.testing.assert_close(objective(tables, mdp, 0.1), torch.stack([objective(one, mdp, 0.1) for one in tables]))


def test_enumerated_trajectories_have_the_same_gradient():
    """A process that ends within 3 steps: expected return over all trajectories against the solve, tau = 0."""
    transitions = torch.zeros(3, 2, 3, dtype=torch.float64)
    transitions[0, 0], transitions[0, 1] = torch.tensor([0, 0.5, 0.3]), torch.tensor([0, 0.2, 0.6])
    transitions[1, :, 2] = torch.tensor([0.4, 0.9])
    rewards = torch.tensor([[1.0, 0.2], [-0.5, 0.3], [2.0, 0.1]])
    mdp = FiniteMDP(transitions, rewards, torch.tensor([0.7, 0.3, 0.0]), 0.8)
    theta = torch.randn(3, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(2)).requires_grad_()
    policy, total = theta.softmax(-1), torch.zeros((), dtype=torch.float64)
    for one in mdp.enumerate_trajectories(3):
        chance = torch.stack([policy[s, a] for s, a in zip(one.states, one.actions, strict=False)]).prod()
        total = total + one.probability * chance * sum(0.8**t * r for t, r in enumerate(one.rewards))
    (literal,) = torch.autograd.grad(total, theta)
    (found,) = torch.autograd.grad(objective(theta, mdp), theta)
    torch.testing.assert_close(found, literal, rtol=0, atol=1e-14)


def test_perturbations_of_a_quadratic_are_exact():
    matrix = torch.randn(5, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    hessian, point = matrix + matrix.T, torch.ones(5, dtype=torch.float64)

    def quadratic(x):
        return (x @ hessian * x).sum(-1) / 2 + x.sum(-1)

    found = perturb(quadratic, point, 0.3, 8, torch.Generator().manual_seed(3))
    directions = torch.randn(8, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    directions /= directions.norm(dim=1, keepdim=True)
    torch.testing.assert_close(found.curvature, (directions @ hessian * directions).sum(1), rtol=0, atol=1e-12)
    torch.testing.assert_close(found.slope, directions @ (hessian @ point + 1), rtol=0, atol=1e-12)


def test_segments_and_their_barriers():
    found = interpolate(ball, torch.tensor([-1.0, 0.0]), torch.tensor([1.0, 0.0]), 5)
    assert found.tolist() == [-1.0, -0.25, 0.0, -0.25, -1.0]
    assert float(barrier(found)) == 0.0
    assert float(barrier(-found)) == 1.0
    assert barrier(torch.tensor([[0.0, -3.0, 1.0], [0.0, 1.0, 0.5]])).tolist() == [3.0, 0.0]


@pytest.mark.parametrize(
    ("call", "error", "sentence"),
    [
        (lambda: objective(logits(0), process(), -1.0), ValueError, "`tau`"),
        (lambda: objective(logits(0)[:2], process()), ValueError, "states by actions"),
        (lambda: perturb(ball, torch.zeros(2), 0.0, 3, torch.Generator()), ValueError, "`radius`"),
        (lambda: perturb(ball, torch.zeros(2), 1.0, 0, torch.Generator()), ValueError, "`n`"),
        (lambda: perturb(ball, torch.zeros(2), 1.0, 3, None), TypeError, "."),
        (lambda: interpolate(ball, torch.zeros(2), torch.zeros(3)), ValueError, "one shape"),
        (lambda: perturb(ball, torch.tensor([1, 2]), 1.0, 3, torch.Generator()), TypeError, "`theta` should hold floating"),
        (lambda: interpolate(ball, torch.tensor([0]), torch.tensor([1])), TypeError, "`start` should hold floating numbers"),
        (lambda: interpolate(ball, torch.zeros(1), torch.tensor([1])), TypeError, "`end` should hold floating numbers"),
    ],
)
@pytest.mark.usefixtures("as_installed")
def test_bad_input_is_refused(call, error, sentence):
    with pytest.raises(error, match=sentence):
        call()


def test_discount_one_without_an_end_is_refused():
    mdp = FiniteMDP(torch.ones(1, 2, 1), torch.ones(1, 2), torch.ones(1), 1.0)
    with pytest.raises(ValueError, match="lead to the episode's end"):
        objective(torch.zeros(1, 2), mdp)
