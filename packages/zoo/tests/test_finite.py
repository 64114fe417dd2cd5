import numpy as np
import pytest
import torch

import control_finite_oracles as oracle
from mechlearn_zoo.finite import FiniteMDP


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


def drawn(seed, *shape):
    """What a softmax gives in float32: sums off by its rounding."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).softmax(-1)


def test_float32_tables_sum_to_one_by_their_rounding():
    for seed in range(20):
        transitions, start = drawn(seed, 4, 2, 4), drawn(seed, 4)
        found = FiniteMDP(transitions, drawn(seed, 4, 2), start, 0.9)
        assert not found.ending.any()
        for mine, given in ((found.transitions, transitions), (found.start, start)):
            torch.testing.assert_close(mine.sum(-1), torch.ones(given.shape[:-1], dtype=torch.float64), rtol=0, atol=1e-15)
            torch.testing.assert_close(mine, given.double(), rtol=1e-6, atol=0)
    for dtype in (torch.float16, torch.bfloat16):
        assert not FiniteMDP(drawn(0, 40, 2, 40).to(dtype), torch.zeros(40, 2), drawn(0, 40).to(dtype), 0.9).ending.any()


def test_what_float32_lacks_by_more_than_rounding_ends():
    transitions = 0.5 * torch.eye(2).unsqueeze(1)
    transitions[1] = 0
    found = FiniteMDP(transitions.requires_grad_(), torch.ones(2, 1), torch.tensor([1.0, 0.0]), 1.0)
    assert found.ending[:, 0].tolist() == [0.5, 1.0]
    values = found.values(found.uniform())
    assert values.tolist() == [2.0, 1.0]
    values.sum().backward()
    assert transitions.grad.isfinite().all()
    rare = torch.tensor([[[1 - 1e-5]]])
    assert float(FiniteMDP(rare, torch.ones(1, 1), torch.ones(1), 1.0).ending) == pytest.approx(1e-5, rel=1e-2)
    with pytest.raises(ValueError, match=r"at most 1\. Found 1\.00001"):
        FiniteMDP(torch.tensor([[[1 + 1e-5]]]), torch.ones(1, 1), torch.ones(1), 1.0)


def test_float64_tables_are_taken_to_the_bit():
    mdp, policy = made(3), torch.as_tensor(oracle.random_policy(3))
    off = mdp.transitions * (1 - 5e-10)
    assert torch.equal(FiniteMDP(off, mdp.rewards, mdp.start, 0.9).transitions, off)
    system = torch.eye(4, dtype=torch.float64) - 0.9 * torch.einsum("sa,sat->st", policy, mdp.transitions)
    wanted = torch.linalg.solve(system, (policy * mdp.rewards).sum(-1))
    assert torch.equal(mdp.values(policy), wanted)


@pytest.mark.parametrize("convert", [torch.Tensor.float, torch.Tensor.double, torch.Tensor.bfloat16])
def test_policies_of_any_type_never_end_what_does_not(convert):
    """Their rounding, read as an ending, would give values of 1e7; a singular matrix now and then."""
    mdp = FiniteMDP(torch.full((2, 3, 2), 0.5, dtype=torch.float64), torch.ones(2, 3), torch.tensor([1.0, 0.0]), 1.0)
    for seed in range(50):
        policy = convert(drawn(seed, 2, 3))
        with pytest.raises(ValueError, match=r"lead to the episode's end\. Found state 0"):
            mdp.values(policy)


def test_values_of_a_float32_policy_are_those_of_its_normalised_rows():
    mdp = made(0, 1.0)
    policy = 0.5 * drawn(5, 4, 3) + 0.5 / 3
    exact = policy.double() / policy.double().sum(-1, keepdim=True)
    torch.testing.assert_close(mdp.values(policy), mdp.values(exact), rtol=1e-12, atol=0)
    torch.testing.assert_close(mdp.occupancies(policy), mdp.occupancies(exact), rtol=1e-12, atol=0)


@pytest.mark.parametrize("rare", [1e-14, 1e-18])
def test_an_end_too_far_for_float64_is_refused(rare):
    """State 0 nearly never leaves for state 1, which ends: 1e14 steps, and then a matrix without inverse."""
    transitions = torch.zeros(2, 2, 2, dtype=torch.float64)
    transitions[0, 0, 0] = transitions[0, 1, 1] = 1
    mdp = FiniteMDP(transitions, torch.ones(2, 2), torch.tensor([1.0, 0.0]), 1.0)
    policy = torch.tensor([[1 - rare, rare], [0.5, 0.5]], dtype=torch.float64)
    with pytest.raises(ValueError, match=r"end within 1e\+12 steps in the mean.*Take a smaller discount"):
        mdp.values(policy)
    found = mdp.values(torch.tensor([[1 - 1e-6, 1e-6], [0.5, 0.5]], dtype=torch.float64))
    assert found.tolist() == pytest.approx([1e6 + 1, 1], rel=1e-9)


def test_trajectories_of_a_batch_of_processes_are_refused():
    tables = torch.full((2, 3, 2, 3), 1 / 3, dtype=torch.float64)
    batch = FiniteMDP(tables, tables[..., 0], tables[:, :, 0, 0], 0.9)
    with pytest.raises(ValueError, match=r"batch of shape \(2,\)"):
        next(batch.enumerate_trajectories(1))
