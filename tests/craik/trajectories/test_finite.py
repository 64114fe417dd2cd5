import numpy as np
import pytest
import torch

import control_finite_oracles as oracle
from craik.trajectories.finite import FiniteMDP


def made(seed, discount=0.9, **sizes):
    transitions, rewards, start = (torch.as_tensor(part) for part in oracle.random_mdp(seed, **sizes))
    return FiniteMDP(transitions, rewards, start, discount)


@pytest.mark.parametrize("seed", range(4))
def test_values_and_occupancies_are_the_literal_sums(seed):
    mdp, policy = made(seed), oracle.random_policy(seed)
    found = mdp.values(torch.as_tensor(policy))
    wanted = oracle.values(mdp.transitions.numpy(), mdp.rewards.numpy(), policy, 0.9, sweeps=400)
    np.testing.assert_allclose(found, wanted, atol=1e-13)
    visits = mdp.occupancies(torch.as_tensor(policy))
    np.testing.assert_allclose(
        visits, oracle.occupancies(mdp.transitions.numpy(), mdp.start.numpy(), policy, 0.9, 400), atol=1e-13
    )
    assert float((visits * mdp.rewards).sum()) == pytest.approx(float(mdp.objective(torch.as_tensor(policy))), abs=1e-13)
    q = mdp.q_values(torch.as_tensor(policy))
    np.testing.assert_allclose((torch.as_tensor(policy) * q).sum(1), wanted, atol=1e-13)


@pytest.mark.parametrize(("seed", "discount"), [(0, 0.9), (1, 0.99), (2, 0.0), (3, 0.999)])
def test_the_optimum_is_the_best_of_all_policies(seed, discount):
    mdp = made(seed, discount)
    found = mdp.optimal()
    np.testing.assert_allclose(
        found.values, oracle.best_value(mdp.transitions.numpy(), mdp.rewards.numpy(), discount), rtol=1e-11
    )
    torch.testing.assert_close(found.q_values.max(-1).values, found.values, rtol=1e-11, atol=1e-12)
    assert float(mdp.objective(found.policy)) >= float(mdp.objective(mdp.uniform()))


def test_with_discount_one_every_state_must_lead_to_an_end():
    """All but every second action of the random process goes on for ever; those that end do with probability 0.1."""
    mdp = made(0, 1.0)
    wanted = oracle.values(mdp.transitions.numpy(), mdp.rewards.numpy(), mdp.uniform().numpy(), 1.0, sweeps=1500)
    np.testing.assert_allclose(mdp.values(mdp.uniform()), wanted, atol=1e-10)
    forever = torch.tensor([[0.0, 1.0, 0.0]]).repeat(4, 1)
    with pytest.raises(ValueError, match=r"lead to the episode's end. Found state 0"):
        mdp.values(forever)


def test_trajectories_sum_to_the_expected_return():
    mdp, policy = made(5, 0.8, states=3, actions=2, ending=0.3), oracle.random_policy(5, 3, 2)
    total = expected = 0.0
    for one in mdp.enumerate_trajectories(4):
        chance = one.probability * np.prod([policy[s, a] for s, a in zip(one.states, one.actions, strict=False)])
        total += chance
        expected += chance * sum(0.8**t * r for t, r in enumerate(one.rewards))
    values = torch.zeros(3, dtype=torch.float64)
    for _ in range(4):
        values = (torch.as_tensor(policy) * mdp.backup(values)).sum(1)
    assert total == pytest.approx(1, abs=1e-13)
    assert expected == pytest.approx(float(mdp.start @ values), abs=1e-13)


def test_a_batch_is_its_members():
    members = [made(seed) for seed in range(3)]
    parts = [torch.stack([getattr(one, name) for one in members]) for name in ("transitions", "rewards", "start")]
    batch = FiniteMDP(*parts, 0.9)
    policy = torch.as_tensor(oracle.random_policy(7))
    torch.testing.assert_close(batch.values(policy), torch.stack([one.values(policy) for one in members]))
    torch.testing.assert_close(batch.optimal().values, torch.stack([one.optimal().values for one in members]))
    policies = torch.stack([torch.as_tensor(oracle.random_policy(seed)) for seed in range(5)])
    torch.testing.assert_close(members[0].objective(policies), torch.stack([members[0].objective(one) for one in policies]))


def test_gradients_flow_through_the_solution():
    mdp, logits = made(1), torch.randn(4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert torch.autograd.gradcheck(lambda theta: mdp.objective(theta.softmax(-1)), logits.requires_grad_())


def test_steps_have_the_rows_frequencies():
    mdp, generator = made(2, ending=0.25), torch.Generator().manual_seed(0)
    n = 20_000
    found = mdp.step(torch.full((n,), 1), torch.full((n,), 2), generator)
    counts = torch.bincount(found.states[~found.terminated], minlength=4) / n
    torch.testing.assert_close(counts.double(), mdp.transitions[1, 2], atol=0.02, rtol=0)
    assert float(found.terminated.double().mean()) == pytest.approx(0.25, abs=0.02)
    assert not bool(mdp.step(torch.full((n,), 1), torch.full((n,), 1), generator).terminated.any())


def changed(**parts):
    mdp = made(0)
    return FiniteMDP(**{"transitions": mdp.transitions, "rewards": mdp.rewards, "start": mdp.start, "discount": 0.9, **parts})


@pytest.mark.parametrize(
    ("parts", "error", "sentence"),
    [
        ({"discount": 1.5}, ValueError, "lie in \\[0, 1\\]"),
        ({"discount": "high"}, TypeError, "."),
        ({"transitions": [[1.0]]}, TypeError, "."),
        ({"transitions": torch.ones(4, 3, 4)}, ValueError, "at most 1. Found 4.0. Divide"),
        ({"transitions": -torch.ones(4, 3, 4)}, ValueError, "probabilities. Found -1.0"),
        ({"transitions": torch.full((4, 3, 4), torch.nan)}, ValueError, "no number"),
        ({"transitions": torch.ones(4, 4, 3)}, ValueError, "should have the shapes"),
        ({"rewards": torch.full((4, 3), torch.inf)}, ValueError, "finite. Found inf at \\(0, 0\\)"),
        ({"start": torch.full((4,), 0.2)}, ValueError, "sum to 1. Found 0.8"),
        ({"start": torch.full((3,), 1 / 3)}, ValueError, "should have the shapes"),
    ],
)
def test_what_is_no_process_is_refused(parts, error, sentence):
    with pytest.raises(error, match=sentence):
        changed(**parts)


def test_what_is_no_policy_is_refused():
    mdp = made(0)
    for policy in (torch.ones(4, 3), torch.tensor([[2.0, -1.0, 0.0]]).repeat(4, 1)):
        with pytest.raises(ValueError, match="rows that sum to 1"):
            mdp.values(policy)
    with pytest.raises(ValueError, match="states by actions"):
        mdp.values(torch.ones(3, 4) / 4)
    with pytest.raises(TypeError, match="Generator"):
        mdp.step(torch.tensor([0]), torch.tensor([0]), None)
